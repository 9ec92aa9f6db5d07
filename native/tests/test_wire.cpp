// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "check.hpp"
#include "wire.hpp"

namespace aboard::wire {
namespace {

using namespace std::literals;

std::vector<Field> fields_of(std::string_view message, bool& ok) {
  std::vector<Field> fields;
  Decoder decoder(message);
  for (Field field; decoder.next(field);) fields.push_back(field);
  ok = decoder.ok();
  return fields;
}

bool is_message(std::string_view message) {
  bool ok = false;
  fields_of(message, ok);
  return ok;
}

// A message with a field of each type.
std::string sample() {
  std::string out;
  Encoder encoder(out);
  encoder.varint(1, 300);
  encoder.signed_varint(2, -5);
  encoder.fixed32(3, 0xdeadbeef);
  encoder.fixed64(4, 0x0123456789abcdef);
  encoder.float32(5, 1.5f);
  encoder.float64(6, -2.25);
  encoder.bytes(7, "payload");
  const std::vector<double> doubles{1, -0.0, INFINITY};
  encoder.packed_float64(16, doubles);
  const std::vector<float> floats{0.5f, NAN};
  encoder.packed_float32(17, floats);
  const std::vector<int64_t> numbers{0, 127, 128, -1, std::numeric_limits<int64_t>::min()};
  encoder.packed_varints(536870911, numbers);
  return out;
}

TEST(golden_bytes) {
  std::string out;
  Encoder encoder(out);
  encoder.varint(1, 150);
  CHECK_EQ(out, "\x08\x96\x01"s);  // the example of the protobuf documentation
  out.clear();
  encoder.bytes(2, "testing");
  CHECK_EQ(out, "\x12\x07testing"s);
  out.clear();
  encoder.signed_varint(1, -1);
  CHECK_EQ(out, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s);
  out.clear();
  encoder.fixed32(2, 0x04030201);
  CHECK_EQ(out, "\x15\x01\x02\x03\x04"s);
  out.clear();
  encoder.float64(1, 1.0);
  CHECK_EQ(out, "\x09\0\0\0\0\0\0\xf0\x3f"s);
  out.clear();
  encoder.bytes(3, "");
  CHECK_EQ(out, "\x1a\0"s);
}

TEST(round_trip_of_every_type) {
  bool ok = false;
  const std::string message = sample();
  const auto fields = fields_of(message, ok);
  CHECK(ok);
  REQUIRE(fields.size() == 10);
  CHECK_EQ(fields[0].scalar, 300u);
  CHECK_EQ(fields[1].as_int64(), -5);
  CHECK_EQ(fields[2].scalar, 0xdeadbeefu);
  CHECK_EQ(fields[3].scalar, 0x0123456789abcdefu);
  CHECK_EQ(fields[4].as_float32(), 1.5f);
  CHECK_EQ(fields[5].as_float64(), -2.25);
  CHECK_EQ(fields[6].bytes, "payload");
  CHECK_EQ(fields[7].number, 16u);
  CHECK_EQ(fields[7].bytes.size(), 24u);
  CHECK_EQ(fields[8].bytes.size(), 8u);
  CHECK_EQ(fields[9].number, 536870911u);
  CHECK_EQ(fields[9].bytes.size(), 1u + 1 + 2 + 10 + 10);
}

TEST(varint_at_every_width) {
  for (int bit = 0; bit < 64; ++bit) {
    for (const uint64_t value : {uint64_t{1} << bit, (uint64_t{1} << bit) - 1, ~uint64_t{0} >> bit}) {
      std::string message;
      Encoder(message).varint(1, value);
      CHECK_EQ(message.size(), 1 + varint_size(value));
      bool ok = false;
      const auto fields = fields_of(message, ok);
      REQUIRE(ok && fields.size() == 1);
      CHECK_EQ(fields[0].scalar, value);
    }
  }
}

TEST(overlong_varints) {
  // Padded with empty groups: not what encoders write, but valid.
  bool ok = false;
  const std::string padded = "\x08\x81\x80\x80\x80\x80\x80\x80\x80\x80\0"s;
  const auto fields = fields_of(padded, ok);
  REQUIRE(ok && fields.size() == 1);
  CHECK_EQ(fields[0].scalar, 1u);
  CHECK(!is_message("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"s));      // a 65th bit
  CHECK(!is_message("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\0"s));    // eleven bytes
  CHECK(!is_message("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s));  // eleven bytes
}

TEST(invalid_keys) {
  CHECK(!is_message("\x00\x01"s));                  // field number 0
  CHECK(!is_message("\x02\x00"s));                  // field number 0, bytes
  CHECK(!is_message("\x80\x80\x80\x80\x10\x00"s));  // field number 2^29
  CHECK(is_message("\xf8\xff\xff\xff\x0f\x00"s));   // field number 2^29 - 1
  for (const char type : {'\x03', '\x04', '\x06', '\x07'}) {
    CHECK(!is_message(std::string(1, static_cast<char>(0x08 | type)) + std::string(16, '\x01')));
  }
}

TEST(huge_lengths_read_nothing) {
  CHECK(!is_message("\x0a\x01"s));
  CHECK(!is_message("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s));      // 2^64 - 1
  CHECK(!is_message("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f"s));          // 2^63 - 1
  CHECK(!is_message("\x0a\x80\x80\x80\x80\x08"s + std::string(100, 'x')));  // 2^31
}

TEST(truncated_at_every_byte) {
  const std::string message = sample();
  bool ok = false;
  const size_t whole = fields_of(message, ok).size();
  std::vector<size_t> boundaries{0};
  for (const auto& field : fields_of(message, ok)) {
    std::string one;
    // Where this field ends: after its value, which for bytes is inside the message.
    if (field.type == WireType::bytes) boundaries.push_back(static_cast<size_t>(field.bytes.end() - message.data()));
  }
  size_t valid = 0;
  for (size_t size = 0; size <= message.size(); ++size) {
    // A copy of exactly that size, so that reading behind it is seen by the address sanitizer.
    const std::vector<char> cut(message.begin(), message.begin() + static_cast<ptrdiff_t>(size));
    const auto fields = fields_of({cut.data(), cut.size()}, ok);
    CHECK(fields.size() <= whole);
    if (ok) ++valid;
    if (size == message.size()) CHECK(ok && fields.size() == whole);
  }
  CHECK_EQ(valid, whole + 1);  // valid exactly between two fields
  for (const size_t boundary : boundaries) CHECK(is_message(std::string_view(message).substr(0, boundary)));
}

TEST(decoder_stays_failed) {
  Decoder decoder("\x08\x01\x00\x08\x01"sv);
  Field field;
  CHECK(decoder.next(field));
  CHECK(!decoder.next(field));
  CHECK(!decoder.ok());
  CHECK(!decoder.next(field));
  CHECK(!decoder.ok());
}

}  // namespace
}  // namespace aboard::wire
