// SPDX-License-Identifier: Apache-2.0
#include "number_text.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <cstdint>

namespace aboard {
namespace {

__extension__ using uint128_t = unsigned __int128;

constexpr int kMantissaBits = 52, kExponentBias = 1023;
constexpr uint64_t kMantissa = (uint64_t{1} << kMantissaBits) - 1;
constexpr int kSingleMantissaBits = 23;
// With these exponents everything below fits: a fraction of at most 62 bits, and 10^20.
constexpr int kSmallestExponent = -10, kLargestExponent = kMantissaBits - 1;
constexpr int kMostDecimals = 20;
constexpr int kTimeExponent = 30;  // seconds since 1970, from 2004 to 2106

constexpr auto kPowersOfTen = [] {
  std::array<uint128_t, kMostDecimals + 1> powers{1};
  for (size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10;
  return powers;
}();

// How many decimals tell a number from its neighbours, whose distance is 2^(exponent - 52).
constexpr int decimals(int exponent) noexcept {
  constexpr int kLog2 = 30103;  // of base 10, in hundred thousandths
  return (kMantissaBits - exponent) * kLog2 / 100000 + 1;
}

char* put_decimals(char* at, uint64_t fraction, int count) noexcept {
  char* const end = at + count;
  for (char* digit = end; digit-- > at; fraction /= 10) *digit = static_cast<char>('0' + fraction % 10);
  char* last = end;
  while (last > at && last[-1] == '0') --last;
  return last;
}

char* put_fixed(char* at, uint64_t mantissa, int exponent) noexcept {
  const int fraction_bits = kMantissaBits - exponent;
  uint64_t whole = exponent < 0 ? 0 : mantissa >> fraction_bits;
  const uint64_t fraction = exponent < 0 ? mantissa : mantissa & ((uint64_t{1} << fraction_bits) - 1);
  const int count = decimals(exponent);
  const uint128_t power = kPowersOfTen[static_cast<size_t>(count)];
  uint128_t digits = (fraction * power + (uint128_t{1} << (fraction_bits - 1))) >> fraction_bits;
  if (digits >= power) {
    digits -= power;
    ++whole;
  }
  at = std::to_chars(at, at + kLongestNumber, whole).ptr;
  if (digits == 0) return at;
  *at++ = '.';
  return put_decimals(at, static_cast<uint64_t>(digits), count);
}

}  // namespace

char* put_number(char* at, double number) noexcept {
  const auto bits = std::bit_cast<uint64_t>(number);
  const int exponent = static_cast<int>(bits >> kMantissaBits & 0x7ff) - kExponentBias;
  const uint64_t mantissa = bits & kMantissa;
  const bool was_single = (mantissa & (kMantissa >> kSingleMantissaBits)) == 0;
  const bool is_time = exponent == kTimeExponent || exponent == kTimeExponent + 1;
  if (exponent < kSmallestExponent || exponent > kLargestExponent || !(was_single || is_time)) {
    return std::to_chars(at, at + kLongestNumber, number).ptr;
  }
  if (bits >> 63 != 0) *at++ = '-';
  return put_fixed(at, mantissa | (uint64_t{1} << kMantissaBits), exponent);
}

}  // namespace aboard
