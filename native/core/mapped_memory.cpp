// SPDX-License-Identifier: Apache-2.0
#include "mapped_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace aboard {

#ifdef MADV_POPULATE_READ

bool is_readable(const void* begin, size_t bytes) noexcept {
  if (bytes == 0) return true;
  static const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto from = reinterpret_cast<uintptr_t>(begin) & ~(page - 1);
  const auto to = reinterpret_cast<uintptr_t>(begin) + bytes;
  return ::madvise(reinterpret_cast<void*>(from), to - from, MADV_POPULATE_READ) == 0 || errno == EINVAL;
}

#else

bool is_readable(const void*, size_t) noexcept { return true; }

#endif

}  // namespace aboard
