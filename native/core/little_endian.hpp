// SPDX-License-Identifier: Apache-2.0
// Integers as TFRecord files store them, whatever the machine's own order of bytes.
#pragma once

#include <cstddef>

namespace aboard {

template <typename Unsigned>
void store_little(char* to, Unsigned value) noexcept {
  for (size_t i = 0; i < sizeof value; ++i) to[i] = static_cast<char>((value >> (8 * i)) & 0xff);
}

template <typename Unsigned>
Unsigned load_little(const char* from) noexcept {
  Unsigned value = 0;
  for (size_t i = 0; i < sizeof value; ++i) {
    value |= static_cast<Unsigned>(Unsigned{static_cast<unsigned char>(from[i])} << (8 * i));
  }
  return value;
}

}  // namespace aboard
