// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <string>

#include "check.hpp"
#include "tensor_scalar.hpp"
#include "wire.hpp"

namespace aboard {
namespace {

std::string shape_of(const std::vector<uint64_t>& sizes) {
  std::string shape;
  for (const uint64_t size : sizes) {
    std::string dimension;
    wire::Encoder(dimension).varint(1, size);
    wire::Encoder(shape).bytes(2, dimension);
  }
  return shape;
}

std::string tensor(uint64_t dtype, const std::function<void(wire::Encoder&)>& fill, const std::string& shape = "") {
  std::string bytes;
  wire::Encoder encoder(bytes);
  encoder.varint(1, dtype);
  encoder.bytes(2, shape);
  fill(encoder);
  return bytes;
}

template <typename Element>
std::string raw(Element element) {
  return {reinterpret_cast<const char*>(&element), sizeof element};
}

template <typename Element>
std::optional<double> from_content(uint64_t dtype, Element element) {
  return tensor_scalar(tensor(dtype, [&](auto& encoder) { encoder.bytes(4, raw(element)); }));
}

std::optional<double> from_varint(uint64_t dtype, uint32_t field, uint64_t value) {
  return tensor_scalar(tensor(dtype, [&](auto& encoder) { encoder.varint(field, value); }));
}

std::optional<double> from_packed(uint64_t dtype, uint32_t field, int64_t value) {
  return tensor_scalar(tensor(dtype, [&](auto& encoder) { encoder.packed_varints(field, std::array{value}); }));
}

TEST(every_type_as_raw_content) {
  CHECK_EQ(from_content(1, 1.5f), std::optional(1.5));
  CHECK_EQ(from_content(2, 0.1), std::optional(0.1));
  CHECK_EQ(from_content(3, int32_t{-7}), std::optional(-7.0));
  CHECK_EQ(from_content(4, uint8_t{200}), std::optional(200.0));
  CHECK_EQ(from_content(5, int16_t{-300}), std::optional(-300.0));
  CHECK_EQ(from_content(6, int8_t{-3}), std::optional(-3.0));
  CHECK_EQ(from_content(9, int64_t{-1} << 40), std::optional(-1099511627776.0));
  CHECK_EQ(from_content(10, uint8_t{1}), std::optional(1.0));
  CHECK_EQ(from_content(14, uint16_t{0x3fc0}), std::optional(1.5));
  CHECK_EQ(from_content(17, uint16_t{65535}), std::optional(65535.0));
  CHECK_EQ(from_content(19, uint16_t{0x3e00}), std::optional(1.5));
  CHECK_EQ(from_content(22, uint32_t{4'000'000'000}), std::optional(4e9));
  CHECK_EQ(from_content(23, uint64_t{1} << 63), std::optional(9223372036854775808.0));
}

TEST(every_type_as_typed_elements_packed_or_not) {
  const auto check_integers = [](uint64_t dtype, uint32_t field, int64_t value, double expected) {
    CHECK_EQ(from_varint(dtype, field, static_cast<uint64_t>(value)), std::optional(expected));
    CHECK_EQ(from_packed(dtype, field, value), std::optional(expected));
  };
  check_integers(3, 7, -7, -7);
  check_integers(4, 7, 200, 200);
  check_integers(5, 7, -300, -300);
  check_integers(6, 7, -3, -3);
  check_integers(17, 7, 65535, 65535);
  check_integers(9, 10, -1, -1);
  check_integers(10, 11, 1, 1);
  check_integers(14, 13, 0x3fc0, 1.5);
  check_integers(19, 13, 0xbe00, -1.5);
  check_integers(22, 16, 4'000'000'000, 4e9);
  check_integers(23, 17, INT64_MIN, 9223372036854775808.0);
  CHECK_EQ(tensor_scalar(tensor(1, [](auto& encoder) { encoder.float32(5, 2.5f); })), std::optional(2.5));
  CHECK_EQ(tensor_scalar(tensor(1, [](auto& encoder) { encoder.packed_float32(5, std::array{2.5f}); })),
           std::optional(2.5));
  CHECK_EQ(tensor_scalar(tensor(2, [](auto& encoder) { encoder.float64(6, 0.1); })), std::optional(0.1));
  CHECK_EQ(tensor_scalar(tensor(2, [](auto& encoder) { encoder.packed_float64(6, std::array{0.1}); })),
           std::optional(0.1));
}

TEST(all_halves_are_what_they_are) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const double value = from_content(19, half).value();
    // Independent: through the fields of a float.
    const uint32_t exponent = (bits >> 10) & 31, fraction = bits & 0x3ff, sign = (bits & 0x8000) << 16;
    double expected;
    if (exponent == 31) {
      expected = std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
    } else if (exponent == 0) {
      expected = (sign != 0 ? -1.0 : 1.0) * fraction / 16777216.0;
    } else {
      expected = std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
    }
    CHECK(std::isnan(expected) ? std::isnan(value)
                               : value == expected && std::signbit(value) == std::signbit(expected));
    const double wide = from_content(14, half).value();
    const auto wide_expected = static_cast<double>(std::bit_cast<float>(bits << 16));
    CHECK(std::isnan(wide_expected) ? std::isnan(wide) : wide == wide_expected);
  }
}

TEST(shapes_of_one_element_only) {
  const auto fill = [](wire::Encoder& encoder) { encoder.float32(5, 1); };
  CHECK(tensor_scalar(tensor(1, fill, shape_of({1}))).has_value());
  CHECK(tensor_scalar(tensor(1, fill, shape_of({1, 1, 1}))).has_value());
  CHECK(!tensor_scalar(tensor(1, fill, shape_of({2}))));
  CHECK(!tensor_scalar(tensor(1, fill, shape_of({0}))));
  CHECK(!tensor_scalar(tensor(1, fill, shape_of({1, uint64_t{1} << 62}))));
  CHECK(!tensor_scalar(tensor(1, fill, shape_of({static_cast<uint64_t>(-1)}))));
}

TEST(a_zero_may_be_left_out) {
  CHECK_EQ(tensor_scalar(tensor(1, [](auto&) {})), std::optional(0.0));
}

TEST(what_is_no_number_gives_none) {
  CHECK(!tensor_scalar(""));                                                                                 // no type
  CHECK(!tensor_scalar(tensor(7, [](auto& encoder) { encoder.bytes(8, "text"); })));                         // string
  CHECK(!tensor_scalar(tensor(8, [](auto& encoder) { encoder.packed_float32(9, std::array{1.f, 2.f}); })));  // complex
  CHECK(!tensor_scalar(tensor(1, [](auto& encoder) { encoder.bytes(4, "abc"); })));       // three bytes
  CHECK(!tensor_scalar(tensor(1, [](auto& encoder) { encoder.bytes(4, "abcdefgh"); })));  // two elements
  CHECK(!tensor_scalar(tensor(1, [](auto& encoder) { encoder.bytes(5, "abc"); })));       // packed, cut off
  CHECK(!tensor_scalar(tensor(3, [](auto& encoder) { encoder.bytes(7, "\xff\xff"); })));  // varint, cut off
  CHECK(!tensor_scalar(tensor(3, [](auto& encoder) { encoder.bytes(7, std::string(11, '\xff')); })));
  CHECK(!tensor_scalar("\xff"));
}

// Elements of another type than the tensor's are not its elements.
TEST(elements_must_be_of_the_tensors_type) {
  CHECK(!from_varint(1, 7, 1));   // DT_FLOAT with int_val
  CHECK(!from_varint(2, 10, 1));  // DT_DOUBLE with int64_val
  CHECK(!tensor_scalar(tensor(3, [](auto& encoder) { encoder.float32(5, 1); })));
  CHECK(!tensor_scalar(tensor(1, [](auto& encoder) { encoder.float64(5, 1); })));  // float_val, eight bytes wide
  CHECK(!tensor_scalar(tensor(9, [](auto& encoder) { encoder.float32(10, 1); })));
}

TEST(any_bytes_give_a_number_or_none) {
  std::mt19937_64 random(11);
  const std::string good = tensor(1, [](auto& encoder) { encoder.packed_float32(5, std::array{2.5f}); }, shape_of({1}));
  for (int i = 0; i < 50'000; ++i) {
    std::string bytes = good;
    for (uint64_t times = 1 + random() % 4; times > 0; --times)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    bytes.resize(random() % (bytes.size() + 1));
    tensor_scalar(bytes);
  }
}

}  // namespace
}  // namespace aboard
