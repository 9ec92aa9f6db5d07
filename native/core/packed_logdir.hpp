// SPDX-License-Identifier: Apache-2.0
// What was decoded of a logdir in a form that travels: made where a run was trained, used where it is read.
//
// Packed columns one behind the other, then a directory, then a footer that says where the directory is and what its
// checksum must be. Every column has a checksum of its own, compared when somebody looks at it. It stands for event
// files that need not be here: a logdir that uses it believes what it says of them only while their first and last
// bytes are those that it names.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "logdir.hpp"

namespace aboard {

class Logdir::Packed {
 public:
  // Nothing when there is something that this form cannot say.
  static std::optional<std::string> save(const State& state);
  // The state of a logdir whose files are as they were then, or longer. Null when they are not, or when the packed form
  // is damaged or of another version.
  static std::shared_ptr<State> load(const ReadPath& logdir, const PackedPlace& place);
};

}  // namespace aboard
