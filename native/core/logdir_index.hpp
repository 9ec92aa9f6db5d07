// SPDX-License-Identifier: Apache-2.0
// What was decoded of a logdir, kept in an index file for the next process.
#pragma once

#include <memory>
#include <string>

#include "logdir.hpp"

namespace aboard {

class Logdir::Index {
 public:
  // What is kept for this logdir, its columns where they lie in the index. Null, and the index deleted, when it does
  // not fit what is in the folder now.
  static std::shared_ptr<State> load(const std::string& logdir, const std::string& index);
  // Needs a state in which nothing is half done. 0, or the number of the system's error.
  static int save(const State& state, const std::string& logdir, const std::string& index);
};

}  // namespace aboard
