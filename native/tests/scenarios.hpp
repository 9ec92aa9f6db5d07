// SPDX-License-Identifier: Apache-2.0
// Random event files, and what a logdir must show of them.
#pragma once

#include <map>
#include <random>
#include <string>

#include "logdir.hpp"

namespace aboard::testing {

using Files = std::map<std::string, std::string>;  // contents by name

// Writers that start, overlap, stop, go back and start sessions again.
Files random_files(std::mt19937_64& random);
// Whether a logdir shows what the rules make of the files; says what differs.
bool same_as_reference(const Logdir& logdir, const Files& files);

}  // namespace aboard::testing
