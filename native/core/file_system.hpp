// SPDX-License-Identifier: Apache-2.0
// What the kind of a file system means for those who read from it.
#pragma once

#include <cstdint>

namespace aboard {

// Whether nobody but this machine changes what is there. Kinds that are not known count as shared.
bool is_on_local_file_system(int file) noexcept;

// Gives the disk space of the bytes [begin, end) back; they read as zeros, and the file keeps its length. 0, or the
// number of the system's error.
int punch_hole(int file, uint64_t begin, uint64_t end) noexcept;

}  // namespace aboard
