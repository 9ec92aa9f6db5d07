// SPDX-License-Identifier: Apache-2.0
#include "mapped_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace aboard {

#ifdef MADV_POPULATE_READ

namespace {

bool populate(const void* begin, size_t bytes) noexcept {
  static const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto from = reinterpret_cast<uintptr_t>(begin) & ~(page - 1);
  const auto to = reinterpret_cast<uintptr_t>(begin) + bytes;
  return ::madvise(reinterpret_cast<void*>(from), to - from, MADV_POPULATE_READ) == 0;
}

}  // namespace

bool can_tell_what_is_readable() noexcept {
  static const char known = 0;
  return populate(&known, sizeof known);
}

bool is_readable(const void* begin, size_t bytes) noexcept {
  return bytes == 0 || populate(begin, bytes) || !can_tell_what_is_readable();
}

#else

bool can_tell_what_is_readable() noexcept { return false; }
bool is_readable(const void*, size_t) noexcept { return true; }

#endif

}  // namespace aboard
