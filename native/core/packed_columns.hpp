// SPDX-License-Identifier: Apache-2.0
// Columns of points in few bytes, exact to the last bit: differences, in blocks of as many bits as the largest needs.
//
// The form travels between machines: numbers are little-endian, and what is unpacked is not trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace aboard {

// No packed form is smaller than its points divided by this: who is told of more points need not believe it.
inline constexpr size_t kMostPointsPerByte = 128;

// Appends the packed form of columns of the same length.
void pack_columns(std::span<const int64_t> steps, std::span<const double> wall_times, std::span<const double> values,
                  std::string& out);
// The opposite, into columns with room for `count` points. False for bytes that are not exactly that many points; what
// is in the columns then means nothing.
bool unpack_columns(std::string_view packed, size_t count, int64_t* steps, double* wall_times, double* values) noexcept;

// The same for numbers of any other kind. `unpack_words` takes them from the front of `packed`.
void pack_words(std::span<const uint64_t> words, std::string& out);
bool unpack_words(std::string_view& packed, size_t count, uint64_t* words) noexcept;

}  // namespace aboard
