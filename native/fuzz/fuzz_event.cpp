// SPDX-License-Identifier: Apache-2.0
// Any bytes as an event, and events made of any bytes.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "event.hpp"
#include "fuzz.hpp"
#include "wire.hpp"

namespace aboard {
namespace {

// Whatever a view points to is a part of the bytes it was decoded from.
void check_inside(std::string_view whole, std::string_view part) {
  if (part.empty()) return;
  const std::less_equal<const char*> not_behind;
  FUZZ_CHECK(not_behind(whole.data(), part.data()));
  FUZZ_CHECK(not_behind(part.data() + part.size(), whole.data() + whole.size()));
}

void decode_as_tensor(std::string_view bytes) {
  TensorView tensor;
  decode_tensor(bytes, tensor);
  check_inside(bytes, tensor.content);
  for (const auto part : tensor.packed) check_inside(bytes, part);
  for (const auto part : tensor.strings) check_inside(bytes, part);
  FUZZ_CHECK((tensor.packed.empty() && tensor.scalars.empty()) || tensor.values_field != 0);
  FUZZ_CHECK(tensor.shape.size() <= bytes.size());
  FUZZ_CHECK(tensor.scalars.size() <= bytes.size());
}

void decode_as_metadata(std::string_view bytes) {
  MetadataView metadata;
  decode_metadata(bytes, metadata);
  for (const auto part : {metadata.plugin_name, metadata.plugin_content, metadata.display_name, metadata.description}) {
    check_inside(bytes, part);
  }
}

void decode_as_value(std::string_view bytes) {
  ValueView value;
  decode_value(bytes, value);
  check_inside(bytes, value.tag);
  check_inside(bytes, value.metadata);
  check_inside(bytes, value.payload);
  if (value.kind == ValueKind::simple_value || value.kind == ValueKind::nothing) FUZZ_CHECK(value.payload.empty());
  decode_as_metadata(value.metadata);
  decode_as_tensor(value.payload);
}

void decode_as_summary(std::string_view bytes) {
  std::vector<std::string_view> values;
  decode_summary(bytes, values);
  for (const auto value : values) {
    check_inside(bytes, value);
    decode_as_value(value);
  }
}

void decode_as_event(std::string_view bytes) {
  EventView event;
  decode_event(bytes, event);
  check_inside(bytes, event.payload);
  FUZZ_CHECK(event.kind != EventKind::nothing || event.payload.empty());
  decode_as_summary(event.payload);
}

// The short way to decode a scalar may decline, but never says anything else than the long way.
void decode_as_plain_scalar(std::string_view bytes) {
  PlainScalar plain;
  if (!decode_plain_scalar(bytes, plain)) return;
  check_inside(bytes, plain.tag);
  EventView event;
  std::vector<std::string_view> values;
  ValueView value;
  FUZZ_CHECK(decode_event(bytes, event) && event.kind == EventKind::summary);
  FUZZ_CHECK(decode_summary(event.payload, values) && values.size() == 1 && decode_value(values[0], value));
  FUZZ_CHECK(value.kind == ValueKind::simple_value && value.tag == plain.tag && value.metadata.empty());
  FUZZ_CHECK(event.step == plain.step);
  FUZZ_CHECK(std::bit_cast<uint64_t>(event.wall_time) == std::bit_cast<uint64_t>(plain.wall_time));
  FUZZ_CHECK(std::bit_cast<uint32_t>(value.simple_value) == std::bit_cast<uint32_t>(plain.value));
}

// A message that was decoded and is encoded again says the same.
void decode_and_encode(std::string_view bytes) {
  const auto fields_of = [](std::string_view message, std::vector<wire::Field>& fields) {
    wire::Decoder decoder(message);
    for (wire::Field field; decoder.next(field);) fields.push_back(field);
    return decoder.ok();
  };
  std::vector<wire::Field> fields, again;
  fields_of(bytes, fields);
  std::string encoded;
  wire::Encoder encoder(encoded);
  for (const auto& field : fields) {
    switch (field.type) {
      case wire::WireType::varint:
        encoder.varint(field.number, field.scalar);
        break;
      case wire::WireType::fixed64:
        encoder.fixed64(field.number, field.scalar);
        break;
      case wire::WireType::fixed32:
        encoder.fixed32(field.number, static_cast<uint32_t>(field.scalar));
        break;
      case wire::WireType::bytes:
        encoder.bytes(field.number, field.bytes);
        break;
    }
  }
  FUZZ_CHECK(encoded.size() <= bytes.size());  // the encoder writes the shortest form
  FUZZ_CHECK(fields_of(encoded, again));
  FUZZ_CHECK(fields.size() == again.size());
  for (size_t i = 0; i < fields.size(); ++i) {
    FUZZ_CHECK(fields[i].number == again[i].number && fields[i].type == again[i].type &&
               fields[i].scalar == again[i].scalar && fields[i].bytes == again[i].bytes);
  }
}

void encode_and_decode(std::string_view input) {
  struct {
    uint64_t wall_time;
    int64_t step;
    uint32_t value;
    uint8_t kind;
  } start{};
  input.copy(reinterpret_cast<char*>(&start), sizeof start);
  const std::string_view rest = input.substr(std::min(input.size(), sizeof start));
  const auto wall_time = std::bit_cast<double>(start.wall_time);
  const auto kind = static_cast<EventKind>(3 + start.kind % 7);
  const auto bits = [](double number) { return std::bit_cast<uint64_t>(number); };

  std::string bytes;
  encode_event(bytes, wall_time, start.step, kind, rest);
  EventView event;
  FUZZ_CHECK(decode_event(bytes, event));
  FUZZ_CHECK(bits(event.wall_time) == start.wall_time && event.step == start.step && event.kind == kind &&
             event.payload == rest);

  bytes.clear();
  const auto number = std::bit_cast<float>(start.value);
  encode_scalar(bytes, wall_time, start.step, rest, number);
  std::vector<std::string_view> values;
  ValueView value;
  FUZZ_CHECK(decode_event(bytes, event) && event.kind == EventKind::summary);
  FUZZ_CHECK(decode_summary(event.payload, values) && values.size() == 1);
  FUZZ_CHECK(decode_value(values[0], value) && value.kind == ValueKind::simple_value && value.tag == rest);
  FUZZ_CHECK(std::bit_cast<uint32_t>(value.simple_value) == start.value);
  PlainScalar plain;
  const bool decoded = decode_plain_scalar(bytes, plain);
  FUZZ_CHECK(decoded == (std::endian::native == std::endian::little));
  decode_as_plain_scalar(bytes);
}

void run(std::string_view input) {
  decode_as_event(input);
  decode_as_plain_scalar(input);
  decode_as_summary(input);
  decode_as_value(input);
  decode_as_metadata(input);
  decode_as_tensor(input);
  decode_and_encode(input);
  encode_and_decode(input);
}

}  // namespace
}  // namespace aboard

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  aboard::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
