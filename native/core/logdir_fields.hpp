// SPDX-License-Identifier: Apache-2.0
// What is kept of a logdir, field by field: the same in an index file and in a packed logdir, except for the rows of
// its histories.
#pragma once

#include <functional>
#include <memory>

#include "directory_fields.hpp"
#include "logdir.hpp"

namespace aboard {

// How a container keeps rows, and says in its directory where they are.
class RowsWriter {
 public:
  virtual ~RowsWriter() = default;
  virtual void put(DirectoryWriter& fields, const Columns& rows) = 0;
  virtual void put(DirectoryWriter& fields, const MediaRows& rows) = 0;
};

// False where there are no such rows. `files` is the number of files that rows may name.
class RowsReader {
 public:
  virtual ~RowsReader() = default;
  virtual bool take(DirectoryReader& fields, size_t files, Columns& rows) = 0;
  virtual bool take(DirectoryReader& fields, size_t files, MediaRows& rows) = 0;
};

class Logdir::Fields {
 public:
  static void put(DirectoryWriter& fields, const State& state, RowsWriter& rows);

  // The state with its files and without tags; null unless every file still has what was read of it. `prepare` may
  // change what is known of a file before that is compared, and returns whether it is there.
  using Prepare = std::function<bool(const ReadPath& path, ReadingState& reading)>;
  static std::shared_ptr<State> take_files(DirectoryReader& fields, const ReadPath& logdir, const Prepare& prepare);
  // The rest of the directory. False when it is damaged.
  static bool take_tags(DirectoryReader& fields, State& state, RowsReader& rows);
};

}  // namespace aboard
