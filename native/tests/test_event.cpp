// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "check.hpp"
#include "event.hpp"
#include "wire.hpp"

namespace aboard {
namespace {

using namespace std::literals;
using wire::Encoder;

std::string message(void (*fill)(Encoder&)) {
  std::string out;
  Encoder encoder(out);
  fill(encoder);
  return out;
}

TEST(golden_bytes_of_a_scalar) {
  std::string out;
  encode_scalar(out, 1.0, 3, "a", 0.5f);
  CHECK_EQ(out, "\x09\0\0\0\0\0\0\xf0\x3f\x10\x03\x2a\x0a\x0a\x08\x0a\x01\x61\x15\0\0\0\x3f"s);
}

TEST(scalar_round_trip) {
  for (const size_t tag_size : {size_t{0}, size_t{1}, size_t{117}, size_t{127}, size_t{128}, size_t{20000}}) {
    for (const int64_t step : {int64_t{0}, int64_t{1}, int64_t{-1}, std::numeric_limits<int64_t>::min(),
                               std::numeric_limits<int64_t>::max()}) {
      const std::string tag(tag_size, 't');
      std::string out;
      encode_scalar(out, 1234.5, step, tag, -0.25f);
      EventView event;
      REQUIRE(decode_event(out, event));
      CHECK_EQ(event.wall_time, 1234.5);
      CHECK_EQ(event.step, step);
      CHECK_EQ(event.kind, EventKind::summary);
      std::vector<std::string_view> values;
      REQUIRE(decode_summary(event.payload, values) && values.size() == 1);
      ValueView value;
      REQUIRE(decode_value(values[0], value));
      CHECK_EQ(value.tag, tag);
      CHECK_EQ(value.kind, ValueKind::simple_value);
      CHECK_EQ(value.simple_value, -0.25f);
      CHECK(value.metadata.empty() && value.payload.empty());
    }
  }
}

TEST(not_finite_scalars_keep_their_value) {
  for (const float number : {INFINITY, -INFINITY, -0.0f, std::numeric_limits<float>::denorm_min()}) {
    std::string out;
    encode_scalar(out, 0, 0, "x", number);
    EventView event;
    std::vector<std::string_view> values;
    ValueView value;
    REQUIRE(decode_event(out, event) && decode_summary(event.payload, values) && decode_value(values.at(0), value));
    CHECK_EQ(value.simple_value, number);
    CHECK_EQ(std::signbit(value.simple_value), std::signbit(number));
  }
}

TEST(every_kind_of_event) {
  for (int kind = 3; kind <= 9; ++kind) {
    std::string out;
    encode_event(out, 2.5, -7, static_cast<EventKind>(kind), "content");
    EventView event;
    REQUIRE(decode_event(out, event));
    CHECK_EQ(event.kind, static_cast<EventKind>(kind));
    CHECK_EQ(event.payload, "content");
    CHECK_EQ(event.step, -7);
    CHECK_EQ(event.wall_time, 2.5);
  }
}

TEST(file_version_and_session_log) {
  std::string out;
  encode_file_version(out, 1.0, "brain.Event:2");
  CHECK_EQ(out, "\x09\0\0\0\0\0\0\xf0\x3f\x1a\x0d"s + "brain.Event:2");
  out.clear();
  encode_session_log(out, 1.0, 9, SessionStatus::start);
  CHECK_EQ(out, "\x09\0\0\0\0\0\0\xf0\x3f\x10\x09\x3a\x02\x08\x01"s);
}

TEST(unknown_and_mistyped_event_fields_are_skipped) {
  const std::string bytes = message([](Encoder& event) {
    event.varint(1, 5);            // wall_time that is no double
    event.fixed64(2, 5);           // step that is no varint
    event.varint(5, 5);            // summary that is no message
    event.bytes(10, "source");     // source_metadata
    event.bytes(259, "far away");  // 259 = 256 + 3: no file_version
    event.bytes(99999, "unknown");
  });
  EventView event;
  REQUIRE(decode_event(bytes, event));
  CHECK_EQ(event.wall_time, 0.0);
  CHECK_EQ(event.step, 0);
  CHECK_EQ(event.kind, EventKind::nothing);
  CHECK(event.payload.empty());
}

TEST(the_last_of_a_oneof_counts) {
  std::string bytes;
  Encoder(bytes).bytes(3, "version");
  Encoder(bytes).bytes(5, "summary");
  EventView event;
  REQUIRE(decode_event(bytes, event));
  CHECK_EQ(event.kind, EventKind::summary);
  CHECK_EQ(event.payload, "summary");
}

TEST(every_kind_of_value) {
  for (const int kind : {4, 5, 6, 8}) {
    std::string bytes;
    Encoder value_fields(bytes);
    value_fields.bytes(9, "metadata");
    value_fields.bytes(1, "tag");
    value_fields.bytes(static_cast<uint32_t>(kind), "content");
    ValueView value;
    REQUIRE(decode_value(bytes, value));
    CHECK_EQ(value.kind, static_cast<ValueKind>(kind));
    CHECK_EQ(value.tag, "tag");
    CHECK_EQ(value.metadata, "metadata");
    CHECK_EQ(value.payload, "content");
  }
}

TEST(value_fields_beyond_255_are_unknown) {
  // ValueKind is one byte wide: these numbers must not be cut to 4 (image), 5, 6 and 8.
  for (const uint32_t number : {260u, 261u, 262u, 264u, 65540u, 3u, 7u}) {
    std::string bytes;
    Encoder(bytes).bytes(number, "content");
    ValueView value;
    REQUIRE(decode_value(bytes, value));
    CHECK_EQ(value.kind, ValueKind::nothing);
    CHECK(value.payload.empty());
  }
}

TEST(the_last_of_a_value_oneof_counts) {
  std::string bytes;
  Encoder(bytes).bytes(8, "tensor");
  Encoder(bytes).float32(2, 1.5f);
  ValueView value;
  REQUIRE(decode_value(bytes, value));
  CHECK_EQ(value.kind, ValueKind::simple_value);
  CHECK_EQ(value.simple_value, 1.5f);
  CHECK(value.payload.empty());
  Encoder(bytes).bytes(4, "image");
  REQUIRE(decode_value(bytes, value));
  CHECK_EQ(value.kind, ValueKind::image);
  CHECK_EQ(value.payload, "image");
  CHECK_EQ(value.simple_value, 0.0f);
}

TEST(metadata) {
  const std::string bytes = message([](Encoder& fields) {
    std::string plugin;
    Encoder(plugin).bytes(1, "scalars");
    Encoder(plugin).bytes(2, "content");
    fields.bytes(1, plugin);
    fields.bytes(2, "display");
    fields.bytes(3, "description");
    fields.varint(4, 2);
  });
  MetadataView metadata;
  REQUIRE(decode_metadata(bytes, metadata));
  CHECK_EQ(metadata.plugin_name, "scalars");
  CHECK_EQ(metadata.plugin_content, "content");
  CHECK_EQ(metadata.display_name, "display");
  CHECK_EQ(metadata.description, "description");
  CHECK_EQ(metadata.data_class, 2);
  std::string damaged;
  Encoder(damaged).bytes(1, "\x0a\x7f"sv);
  CHECK(!decode_metadata(damaged, metadata));
}

std::string tensor_start(int64_t dtype, std::initializer_list<int64_t> sizes) {
  std::string shape;
  for (const int64_t size : sizes) {
    std::string dimension;
    Encoder(dimension).signed_varint(1, size);
    Encoder(shape).bytes(2, dimension);
  }
  std::string tensor;
  Encoder(tensor).signed_varint(1, dtype);
  Encoder(tensor).bytes(2, shape);
  return tensor;
}

TEST(tensor_with_content) {
  std::string bytes = tensor_start(1, {2, 0, -1});
  Encoder(bytes).bytes(4, "12345678");
  TensorView tensor;
  REQUIRE(decode_tensor(bytes, tensor));
  CHECK_EQ(tensor.dtype, 1);
  CHECK(tensor.shape == (std::vector<int64_t>{2, 0, -1}));
  CHECK_EQ(tensor.content, "12345678");
  CHECK(tensor.packed.empty() && tensor.scalars.empty() && tensor.strings.empty());
}

TEST(tensor_packed_and_unpacked) {
  std::string packed = tensor_start(1, {3});
  Encoder(packed).packed_float32(5, std::vector<float>{1, 2, 3});
  TensorView tensor;
  REQUIRE(decode_tensor(packed, tensor));
  CHECK_EQ(tensor.values_field, 5u);
  REQUIRE(tensor.packed.size() == 1);
  CHECK_EQ(tensor.packed[0].size(), 12u);

  std::string one_by_one = tensor_start(2, {3});
  for (const double value : {1.0, 2.0, -3.0}) Encoder(one_by_one).float64(6, value);
  REQUIRE(decode_tensor(one_by_one, tensor));
  CHECK_EQ(tensor.values_field, 6u);
  CHECK(tensor.packed.empty());
  REQUIRE(tensor.scalars.size() == 3);
  CHECK_EQ(tensor.scalars[2], 0xc008000000000000u);

  std::string numbers = tensor_start(9, {2});
  Encoder(numbers).packed_varints(10, std::vector<int64_t>{-1, 5});
  Encoder(numbers).signed_varint(10, 7);
  REQUIRE(decode_tensor(numbers, tensor));
  CHECK_EQ(tensor.values_field, 10u);
  CHECK_EQ(tensor.packed.size(), 1u);
  CHECK(tensor.scalars == std::vector<uint64_t>{7});
}

TEST(tensor_of_strings) {
  std::string bytes = tensor_start(7, {2});
  Encoder(bytes).bytes(8, "one");
  Encoder(bytes).bytes(8, "");
  TensorView tensor;
  REQUIRE(decode_tensor(bytes, tensor));
  CHECK(tensor.strings == (std::vector<std::string_view>{"one", ""}));
  CHECK_EQ(tensor.values_field, 0u);
}

TEST(tensor_elements_belong_to_one_field) {
  // Elements of two fields cannot be told apart once they are in one list: only those of the last field are kept.
  std::string bytes = tensor_start(1, {2});
  Encoder(bytes).packed_float64(6, std::vector<double>{1});
  Encoder(bytes).varint(7, 3);
  Encoder(bytes).float32(5, 2);
  TensorView tensor;
  REQUIRE(decode_tensor(bytes, tensor));
  CHECK_EQ(tensor.values_field, 5u);
  CHECK(tensor.packed.empty());
  CHECK_EQ(tensor.scalars.size(), 1u);
}

TEST(damaged_tensors) {
  TensorView tensor;
  std::string bytes;
  Encoder(bytes).bytes(2, "\x12\x05"sv);  // a dimension that is cut off
  CHECK(!decode_tensor(bytes, tensor));
  bytes.clear();
  Encoder(bytes).bytes(2, "\x12\x02\x08\x80"sv);  // a size that is cut off
  CHECK(!decode_tensor(bytes, tensor));
}

TEST(decoding_appends_and_resets_as_documented) {
  std::vector<std::string_view> values{"before"};
  CHECK(decode_summary("\x0a\x01x"sv, values));
  CHECK_EQ(values.size(), 2u);
  EventView event{1, 2, EventKind::summary, "stale"};
  CHECK(decode_event("", event));
  CHECK_EQ(event.kind, EventKind::nothing);
  CHECK(event.payload.empty());
}

TEST(a_plain_scalar_is_decoded_the_short_way) {
  for (const int64_t step : {int64_t{0}, int64_t{1}, int64_t{300}, int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
    for (const size_t tag_size : {size_t{0}, size_t{5}, size_t{127}, size_t{128}, size_t{70000}}) {
      std::string bytes;
      encode_scalar(bytes, 12.5, step, std::string(tag_size, 't'), -2.5f);
      PlainScalar scalar;
      REQUIRE(decode_plain_scalar(bytes, scalar));
      CHECK_EQ(scalar.wall_time, 12.5);
      CHECK_EQ(scalar.step, step);
      CHECK_EQ(scalar.tag.size(), tag_size);
      CHECK_EQ(scalar.value, -2.5f);
    }
  }
}

TEST(what_is_not_a_plain_scalar_is_left_to_the_long_way) {
  std::string bytes;
  encode_scalar(bytes, 12.5, -1, "tag", 1);
  PlainScalar scalar;
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<char> cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
    CHECK(!decode_plain_scalar({cut.data(), cut.size()}, scalar));
  }
  CHECK(!decode_plain_scalar(bytes + bytes.substr(9, 11), scalar));  // another step behind it
  // A step of more than 64 bits is damage.
  std::string large = bytes;
  REQUIRE(large[19] == '\x01');
  large[19] = '\x02';
  EventView event;
  CHECK(!decode_event(large, event));
  CHECK(!decode_plain_scalar(large, scalar));
}

TEST(an_event_cut_at_every_byte) {
  std::string bytes;
  encode_scalar(bytes, 5, -3, "some/tag", 1);
  for (size_t size = 0; size <= bytes.size(); ++size) {
    const std::vector<char> cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
    EventView event;
    const bool ok = decode_event({cut.data(), cut.size()}, event);
    // Whole only in front of the first field, and after wall_time, step and summary.
    CHECK_EQ(ok, size == 0 || size == 9 || size == 20 || size == bytes.size());
  }
}

}  // namespace
}  // namespace aboard
