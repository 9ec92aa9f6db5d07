// SPDX-License-Identifier: Apache-2.0
// What was decoded of a logdir, kept in an index file for the next process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "logdir.hpp"

namespace aboard {

class Logdir::Index {
 public:
  // What is kept for this logdir, its columns where they lie in the index. Null, and the index deleted, when it does
  // not fit what is in the folder now.
  static std::shared_ptr<State> load(const ReadPath& logdir, const std::string& index);
  // The columns of a tag as they lie in an index.
  struct Moved {
    size_t tag;
    Columns rows;
    Columns superseded;
  };
  // Needs a state in which nothing is half done and everything sound. 0, or the number of the system's error. Adds to
  // `moved` what need not be kept in memory any more.
  static int save(const State& state, const std::string& logdir, const std::string& index, std::vector<Moved>& moved);
};

}  // namespace aboard
