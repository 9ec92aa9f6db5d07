// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>

#include "check.hpp"
#include "number_text.hpp"

namespace aboard::testing {
namespace {

std::string text(double number) {
  char buffer[kLongestNumber];
  char* const end = put_number(buffer, number);
  CHECK(end <= buffer + sizeof buffer);
  return {buffer, end};
}

void check_comes_back(double number) {
  const std::string written = text(number);
  const double read = std::strtod(written.c_str(), nullptr);
  if (std::bit_cast<uint64_t>(read) != std::bit_cast<uint64_t>(number)) {
    CHECK_EQ(written, std::string("the number that came back is another one"));
  }
  const size_t digits = written.starts_with('-') ? 1 : 0;
  // What JSON allows: a digit first, no point without a digit after it.
  CHECK(written[digits] >= '0' && written[digits] <= '9');
  CHECK(written.back() != '.');
}

TEST(plain_numbers) {
  CHECK_EQ(text(0), std::string("0"));
  CHECK_EQ(text(-0.0), std::string("-0"));
  CHECK_EQ(text(1), std::string("1"));
  CHECK_EQ(text(-2.5), std::string("-2.5"));
  CHECK_EQ(text(0.25), std::string("0.25"));
  CHECK_EQ(text(0.1), std::string("0.1"));
  CHECK_EQ(text(1700000000), std::string("1700000000"));
  CHECK_EQ(text(1700000000.5), std::string("1700000000.5"));
  CHECK_EQ(text(double{0.1f}), std::string("0.10000000149011612"));
  CHECK_EQ(text(1e-7), std::string("1e-07"));
  CHECK_EQ(text(1e300), std::string("1e+300"));
}

TEST(integers_of_every_length) {
  const auto check = [](int64_t number) {
    char buffer[kLongestNumber];
    char* const end = put_integer(buffer, number);
    CHECK_EQ(std::string(buffer, end), std::to_string(number));
  };
  for (int64_t number = 0; number < 120'000; ++number) check(number);
  for (int64_t power = 1; power <= 1'000'000'000'000'000'000 / 10; power *= 10) {
    for (const int64_t number : {power - 1, power, power + 1, power * 10 - 1}) {
      check(number);
      check(-number);
    }
  }
  std::mt19937_64 random(10);
  for (int i = 0; i < 100'000; ++i) check(static_cast<int64_t>(random() >> random() % 64));
  check(std::numeric_limits<int64_t>::max());
  check(std::numeric_limits<int64_t>::min());
}

TEST(every_exponent_and_its_edges) {
  for (int exponent = -1074; exponent < 1024; ++exponent) {
    const double power = std::ldexp(1.0, exponent);
    for (const double number : {power, std::nextafter(power, 0.0), std::nextafter(power, 2 * power), power * 1.5}) {
      if (!std::isfinite(number)) continue;
      check_comes_back(number);
      check_comes_back(-number);
    }
  }
}

TEST(singles_come_back) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 100'000; ++i) {
    const auto single = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isfinite(single)) check_comes_back(single);
    check_comes_back(static_cast<float>(static_cast<double>(random() % 2'000'003) / 700'001 - 1));
  }
}

TEST(doubles_come_back) {
  std::mt19937_64 random(12);
  for (int i = 0; i < 100'000; ++i) {
    const auto number = std::bit_cast<double>(random());
    if (std::isfinite(number)) check_comes_back(number);
    check_comes_back(static_cast<double>(random() % 1'000'000'007) / 1e6);
  }
}

TEST(times_come_back) {
  std::mt19937_64 random(13);
  for (int i = 0; i < 100'000; ++i) {
    check_comes_back(1'073'741'824.0 + std::ldexp(static_cast<double>(random() >> 11), -53) * 3'221'225'472.0);
  }
  check_comes_back(std::nextafter(2'147'483'648.0, 0.0));
  check_comes_back(std::nextafter(4'294'967'296.0, 0.0));
}

}  // namespace
}  // namespace aboard::testing
