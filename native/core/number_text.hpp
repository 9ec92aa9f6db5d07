// SPDX-License-Identifier: Apache-2.0
// Numbers as text that gives the very same number when it is read again.
#pragma once

#include <cstddef>
#include <cstdint>

namespace aboard {

constexpr size_t kLongestNumber = 32;

// Writes a finite number as JSON has it and returns the end; there must be room for kLongestNumber characters.
//
// The shortest text takes long to find. It is looked for where there may be a short one; numbers that were single
// precision once, and times of our days, get as many digits as tell them from their neighbours, in a fraction of the
// time.
char* put_number(char* at, double number) noexcept;
char* put_integer(char* at, int64_t number) noexcept;

}  // namespace aboard
