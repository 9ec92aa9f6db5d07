// SPDX-License-Identifier: Apache-2.0
// Integers in little-endian order, as event files store them, on machines of any byte order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace aboard {

template <typename Unsigned>
void store_little(char* to, Unsigned value) noexcept {
  for (size_t i = 0; i < sizeof value; ++i) to[i] = static_cast<char>((value >> (8 * i)) & 0xff);
}

template <typename Unsigned>
void append_little(std::string& out, Unsigned value) {
  char bytes[sizeof value];
  store_little(bytes, value);
  out.append(bytes, sizeof value);
}

// Of `size` bytes, which may be fewer than the integer has.
template <typename Unsigned>
Unsigned load_little(const char* from, size_t size = sizeof(Unsigned)) noexcept {
  Unsigned value = 0;
  for (size_t i = 0; i < size; ++i) {
    value |= static_cast<Unsigned>(Unsigned{static_cast<unsigned char>(from[i])} << (8 * i));
  }
  return value;
}

}  // namespace aboard
