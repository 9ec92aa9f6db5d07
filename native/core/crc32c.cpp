// SPDX-License-Identifier: Apache-2.0
#include "crc32c.hpp"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#if defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif
#endif

#include "little_endian.hpp"

namespace aboard {
namespace {

constexpr uint32_t kReflectedPolynomial = 0x82f63b78u;
constexpr size_t kSlices = 8;
using Tables = std::array<std::array<uint32_t, 256>, kSlices>;

constexpr Tables make_tables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? kReflectedPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (size_t slice = 1; slice < kSlices; ++slice) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t previous = tables[slice - 1][byte];
      tables[slice][byte] = (previous >> 8) ^ tables[0][previous & 0xff];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t sse42(std::string_view data) noexcept {
  uint64_t crc = 0xffffffffu;
  const char* at = data.data();
  size_t left = data.size();
  for (; left >= 8; at += 8, left -= 8) {
    uint64_t word;
    std::memcpy(&word, at, sizeof word);
    crc = _mm_crc32_u64(crc, word);
  }
  auto narrow = static_cast<uint32_t>(crc);
  for (; left > 0; ++at, --left) narrow = _mm_crc32_u8(narrow, static_cast<unsigned char>(*at));
  return ~narrow;
}
#elif defined(__aarch64__) && defined(__linux__)
__attribute__((target("+crc"))) uint32_t armv8(std::string_view data) noexcept {
  uint32_t crc = 0xffffffffu;
  const char* at = data.data();
  size_t left = data.size();
  for (; left >= 8; at += 8, left -= 8) {
    uint64_t word;
    std::memcpy(&word, at, sizeof word);
    crc = __crc32cd(crc, word);
  }
  for (; left > 0; ++at, --left) crc = __crc32cb(crc, static_cast<unsigned char>(*at));
  return ~crc;
}
#endif

crc32c_impl::Function choose() noexcept {
  const auto hardware = crc32c_impl::hardware();
  return hardware != nullptr ? hardware : &crc32c_impl::portable;
}

crc32c_impl::Function chosen() noexcept {
  static const crc32c_impl::Function function = choose();
  return function;
}

}  // namespace

namespace crc32c_impl {

uint32_t portable(std::string_view data) noexcept {
  uint32_t crc = 0xffffffffu;
  const char* at = data.data();
  size_t left = data.size();
  for (; left >= 8; at += 8, left -= 8) {
    const uint32_t low = crc ^ load_little<uint32_t>(at);
    const uint32_t high = load_little<uint32_t>(at + 4);
    crc = kTables[7][low & 0xff] ^ kTables[6][(low >> 8) & 0xff] ^ kTables[5][(low >> 16) & 0xff] ^
          kTables[4][low >> 24] ^ kTables[3][high & 0xff] ^ kTables[2][(high >> 8) & 0xff] ^
          kTables[1][(high >> 16) & 0xff] ^ kTables[0][high >> 24];
  }
  for (; left > 0; ++at, --left) {
    crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<unsigned char>(*at)) & 0xff];
  }
  return ~crc;
}

Function hardware() noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return &sse42;
#elif defined(__aarch64__) && defined(__linux__)
  if ((getauxval(AT_HWCAP) & HWCAP_CRC32) != 0) return &armv8;
#endif
  return nullptr;
}

const char* chosen_name() noexcept {
  if (chosen() == &portable) return "portable";
#if defined(__aarch64__)
  return "armv8";
#else
  return "sse4.2";
#endif
}

}  // namespace crc32c_impl

uint32_t crc32c(std::string_view data) noexcept { return chosen()(data); }

}  // namespace aboard
