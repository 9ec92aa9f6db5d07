// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli) and the masked form in which TFRecord files store it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace aboard {

// Checksum of `data`, computed with the fastest instructions this CPU offers (chosen once, at first use).
uint32_t crc32c(std::string_view data) noexcept;

// TFRecord never stores a raw CRC: a CRC computed over data that contains CRCs is weak.
constexpr uint32_t mask_crc(uint32_t crc) noexcept { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

inline uint32_t masked_crc32c(std::string_view data) noexcept { return mask_crc(crc32c(data)); }

// The implementations behind `crc32c`, named so that tests can hold them to the same answers.
namespace crc32c_impl {
using Function = uint32_t (*)(std::string_view) noexcept;
uint32_t portable(std::string_view data) noexcept;
Function hardware() noexcept;  // null when this CPU has no CRC instructions
const char* chosen_name() noexcept;
}  // namespace crc32c_impl

}  // namespace aboard
