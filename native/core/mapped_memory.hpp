// SPDX-License-Identifier: Apache-2.0
// Whether memory that a file is mapped to can be touched.
#pragma once

#include <cstddef>

namespace aboard {

// Whether `is_readable` can find out. Linux can from 5.14 on; other systems cannot, and no file should be mapped there.
bool can_tell_what_is_readable() noexcept;

// Has the system bring the pages in: those that the disk no longer gives would end the process when they are touched.
// True where the system cannot tell, and for memory that is no mapping.
bool is_readable(const void* begin, size_t bytes) noexcept;

}  // namespace aboard
