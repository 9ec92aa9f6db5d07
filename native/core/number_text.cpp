// SPDX-License-Identifier: Apache-2.0
#include "number_text.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>

namespace aboard {

namespace {

__extension__ using uint128_t = unsigned __int128;

constexpr int kMantissaBits = 52, kExponentBias = 1023;
constexpr uint64_t kMantissa = (uint64_t{1} << kMantissaBits) - 1;
constexpr int kSingleMantissaBits = 23;
// With these exponents everything below fits: a fraction of at most 62 bits, and 10^19.
constexpr int kSmallestExponent = -10, kLargestExponent = kMantissaBits - 1;
constexpr int kMostDecimals = 19;
constexpr uint128_t kOne = uint128_t{1} << 64;  // in parts
constexpr uint64_t kEight = 100'000'000;        // has more than eight digits
constexpr int kTimeExponent = 30;               // seconds since 1970, from 2004 to 2106

// Half of what stands in the last of so many decimals, in parts of 2^64.
constexpr auto kHalves = [] {
  std::array<uint64_t, kMostDecimals + 1> halves{};
  uint128_t power = 1;
  for (uint64_t& half : halves) {
    half = static_cast<uint64_t>((kOne / power + 1) / 2);
    power *= 10;
  }
  return halves;
}();

// How many decimals tell a number from its neighbours, whose distance is 2^(exponent - 52).
constexpr int decimals(int exponent) noexcept {
  constexpr int kLog2 = 30103;  // of base 10, in hundred thousandths
  return (kMantissaBits - exponent) * kLog2 / 100000 + 1;
}
static_assert(decimals(kSmallestExponent) == kMostDecimals);

// Digits of a number below 10^8, one in each byte, the first in the lowest.
constexpr uint64_t eight_digits(uint32_t number) noexcept {
  // Twice four, then four times two, then eight times one, each time all at once. The products are those that divide by
  // 100 and by 10 all numbers that can be there.
  const uint64_t fours = number / 10000 | uint64_t{number % 10000} << 32;
  const uint64_t hundreds = (fours * 10486 >> 20) & 0x0000007f0000007f;
  const uint64_t twos = hundreds | (fours - hundreds * 100) << 16;
  const uint64_t tens = (twos * 103 >> 10) & 0x000f000f000f000f;
  return tens | (twos - tens * 10) << 8;
}

void store(char* at, uint64_t digits) noexcept {
  constexpr uint64_t kZeros = 0x3030303030303030;
  digits |= kZeros;
  if constexpr (std::endian::native == std::endian::big) digits = __builtin_bswap64(digits);
  std::memcpy(at, &digits, sizeof digits);
}

// Bytes at the end of the text, and at its beginning, that are zero.
int zeros_behind(uint64_t digits) noexcept { return std::countl_zero(digits) / 8; }
int zeros_before(uint64_t digits) noexcept { return std::countr_zero(digits) / 8; }

// Behind the number it may leave some characters more, as it writes eight at a time.
char* put_whole(char* at, uint64_t number) noexcept {
  if (number < 10) {
    *at = static_cast<char>('0' + number);
    return at + 1;
  }
  if (number < kEight) {
    const uint64_t digits = eight_digits(static_cast<uint32_t>(number));
    const int unused = zeros_before(digits);
    store(at, digits >> unused * 8);
    return at + 8 - unused;
  }
  at = put_whole(at, number / kEight);
  store(at, eight_digits(static_cast<uint32_t>(number % kEight)));
  return at + 8;
}

// The next eight decimals of a fraction in parts of 2^64, which is left with what comes behind them.
uint64_t next_eight(uint64_t& fraction) noexcept {
  const uint128_t product = uint128_t{fraction} * kEight;
  fraction = static_cast<uint64_t>(product);
  return eight_digits(static_cast<uint32_t>(product >> 64));
}

constexpr uint64_t first_of(uint64_t digits, int count) noexcept { return digits & ~uint64_t{0} >> (8 - count) * 8; }

// Writes the first `count` decimals and returns the end, without zeros there and without anything when all are.
char* put_decimals(char* at, uint64_t fraction, int count) noexcept {
  *at = '.';
  uint64_t digits = next_eight(fraction);
  if (count <= 8) {
    digits = first_of(digits, count);
    store(at + 1, digits);
    return digits == 0 ? at : at + 9 - zeros_behind(digits);
  }
  uint64_t more = next_eight(fraction);
  store(at + 1, digits);
  if (count > 16) {
    const uint64_t last = first_of(next_eight(fraction), count - 16);
    store(at + 9, more);
    store(at + 17, last);
    if (last != 0) return at + 25 - zeros_behind(last);
  } else {
    more = first_of(more, count - 8);
    store(at + 9, more);
  }
  if (more != 0) return at + 17 - zeros_behind(more);
  return digits == 0 ? at : at + 9 - zeros_behind(digits);
}

char* put_fixed(char* at, uint64_t mantissa, int exponent) noexcept {
  const int fraction_bits = kMantissaBits - exponent;
  const uint64_t whole = exponent < 0 ? 0 : mantissa >> fraction_bits;
  const uint64_t fraction = mantissa << (64 - fraction_bits);  // in parts of 2^64
  if (fraction == 0) return put_whole(at, whole);
  const int count = decimals(exponent);
  // Rounded, to half a part. That is far less than what the decimals are finer than they have to be.
  const uint64_t rounded = fraction + kHalves[static_cast<size_t>(count)];
  const bool carries = rounded < fraction;
  return put_decimals(put_whole(at, whole + carries), rounded, count);
}

}  // namespace

char* put_integer(char* at, int64_t number) noexcept {
  if (number >= 0) return put_whole(at, static_cast<uint64_t>(number));
  *at = '-';
  return put_whole(at + 1, uint64_t{0} - static_cast<uint64_t>(number));
}

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
