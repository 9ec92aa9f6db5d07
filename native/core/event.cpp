// SPDX-License-Identifier: Apache-2.0
#include "event.hpp"

#include <bit>
#include <cstring>

#include "wire.hpp"

namespace aboard {
namespace {

using wire::Decoder;
using wire::Encoder;
using wire::Field;
using wire::WireType;

namespace event_field {
constexpr uint32_t wall_time = 1, step = 2;
}
namespace summary_field {
constexpr uint32_t value = 1;
}
namespace value_field {
constexpr uint32_t tag = 1, simple_value = 2, metadata = 9;
}
namespace metadata_field {
constexpr uint32_t plugin_data = 1, display_name = 2, summary_description = 3, data_class = 4;
}
namespace plugin_data_field {
constexpr uint32_t name = 1, content = 2;
}
namespace tensor_field {
constexpr uint32_t dtype = 1, shape = 2, content = 4, first_typed = 5, string_val = 8, last_typed = 17;
}
namespace session_field {
constexpr uint32_t status = 1;
}
constexpr int64_t kScalarDataClass = 1;  // of SummaryMetadata

bool is_event_payload(uint32_t number) noexcept {
  return number >= static_cast<uint32_t>(EventKind::file_version) &&
         number <= static_cast<uint32_t>(EventKind::meta_graph_def);
}

bool is_value_payload(uint32_t number) noexcept {
  // The kind is widened, not the number narrowed: field 260 is not field 4.
  for (const ValueKind kind : {ValueKind::image, ValueKind::histogram, ValueKind::audio, ValueKind::tensor}) {
    if (number == static_cast<uint32_t>(kind)) return true;
  }
  return false;
}

void encode_envelope(Encoder& event, double wall_time, int64_t step) {
  event.float64(event_field::wall_time, wall_time);
  if (step != 0) event.signed_varint(event_field::step, step);
}

bool decode_shape(std::string_view bytes, std::vector<int64_t>& shape) {
  Decoder dimensions(bytes);
  for (Field dimension; dimensions.next(dimension);) {
    if (dimension.number != 2 || dimension.type != WireType::bytes) continue;
    int64_t size = 0;
    Decoder fields(dimension.bytes);
    for (Field field; fields.next(field);) {
      if (field.number == 1 && field.type == WireType::varint) size = field.as_int64();
    }
    if (!fields.ok()) return false;
    shape.push_back(size);
  }
  return dimensions.ok();
}

bool decode_plugin_data(std::string_view bytes, MetadataView& metadata) noexcept {
  Decoder decoder(bytes);
  for (Field field; decoder.next(field);) {
    if (field.type != WireType::bytes) continue;
    if (field.number == plugin_data_field::name) metadata.plugin_name = field.bytes;
    if (field.number == plugin_data_field::content) metadata.plugin_content = field.bytes;
  }
  return decoder.ok();
}

}  // namespace

bool decode_event(std::string_view bytes, EventView& event) noexcept {
  event = {};
  Decoder decoder(bytes);
  for (Field field; decoder.next(field);) {
    if (field.number == event_field::wall_time && field.type == WireType::fixed64) {
      event.wall_time = field.as_float64();
    } else if (field.number == event_field::step && field.type == WireType::varint) {
      event.step = field.as_int64();
    } else if (field.type == WireType::bytes && is_event_payload(field.number)) {
      event.kind = static_cast<EventKind>(field.number);
      event.payload = field.bytes;
    }
  }
  return decoder.ok();
}

bool decode_plain_scalar(std::string_view bytes, PlainScalar& scalar) noexcept {
  // wall_time: key 09; step: key 10; summary: key 2a; value: key 0a; tag: key 0a; simple_value: key 15.
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  const auto byte = [&] { return static_cast<unsigned char>(*at); };
  const auto length_follows = [&](unsigned char key, ptrdiff_t& length) {
    if (end - at < 2 || byte() != key) return false;
    ++at;
    uint32_t value = byte() & 0x7fu;
    for (int shift = 7; byte() >= 0x80; shift += 7) {
      if (++at == end || shift > 21) return false;
      value |= uint32_t{byte() & 0x7fu} << shift;
    }
    ++at;
    length = static_cast<ptrdiff_t>(value);
    return length <= end - at;
  };

  if (end - at < 9 || byte() != 0x09) return false;
  std::memcpy(&scalar.wall_time, at + 1, sizeof scalar.wall_time);
  at += 9;
  uint64_t step = 0;
  if (at < end && byte() == 0x10) {
    int shift = 0;
    do {
      if (++at == end || shift > 63 || (shift == 63 && byte() > 1)) return false;  // beyond 64 bits
      step |= uint64_t{byte() & 0x7fu} << shift;
      shift += 7;
    } while (byte() >= 0x80);
    ++at;
  }
  scalar.step = static_cast<int64_t>(step);
  ptrdiff_t length;
  // Summary and value must each reach to the very end, so that nothing else is in them.
  if (!length_follows(0x2a, length) || length != end - at) return false;
  if (!length_follows(0x0a, length) || length != end - at) return false;
  if (!length_follows(0x0a, length)) return false;
  scalar.tag = {at, static_cast<size_t>(length)};
  at += length;
  if (end - at != 5 || byte() != 0x15) return false;
  std::memcpy(&scalar.value, at + 1, sizeof scalar.value);
  return std::endian::native == std::endian::little;
}

bool decode_summary(std::string_view bytes, std::vector<std::string_view>& values) {
  Decoder decoder(bytes);
  for (Field field; decoder.next(field);) {
    if (field.number == summary_field::value && field.type == WireType::bytes) values.push_back(field.bytes);
  }
  return decoder.ok();
}

bool decode_value(std::string_view bytes, ValueView& value) noexcept {
  value = {};
  Decoder decoder(bytes);
  for (Field field; decoder.next(field);) {
    if (field.type == WireType::bytes) {
      if (field.number == value_field::tag) {
        value.tag = field.bytes;
      } else if (field.number == value_field::metadata) {
        value.metadata = field.bytes;
      } else if (is_value_payload(field.number)) {
        value.kind = static_cast<ValueKind>(field.number);
        value.payload = field.bytes;
        value.simple_value = 0;
      }
    } else if (field.number == value_field::simple_value && field.type == WireType::fixed32) {
      value.kind = ValueKind::simple_value;
      value.simple_value = field.as_float32();
      value.payload = {};
    }
  }
  return decoder.ok();
}

bool decode_metadata(std::string_view bytes, MetadataView& metadata) noexcept {
  metadata = {};
  Decoder decoder(bytes);
  for (Field field; decoder.next(field);) {
    if (field.number == metadata_field::data_class && field.type == WireType::varint) {
      metadata.data_class = field.as_int64();
    } else if (field.type == WireType::bytes) {
      if (field.number == metadata_field::plugin_data && !decode_plugin_data(field.bytes, metadata)) return false;
      if (field.number == metadata_field::display_name) metadata.display_name = field.bytes;
      if (field.number == metadata_field::summary_description) metadata.description = field.bytes;
    }
  }
  return decoder.ok();
}

ValueKind data_kind(ValueKind stored_as, std::string_view metadata) noexcept {
  if (stored_as != ValueKind::tensor) return stored_as;
  MetadataView view;
  if (metadata.empty() || !decode_metadata(metadata, view)) return ValueKind::nothing;
  if (view.plugin_name == "scalars" || view.data_class == kScalarDataClass) return ValueKind::simple_value;
  if (view.plugin_name == "images") return ValueKind::image;
  if (view.plugin_name == "histograms") return ValueKind::histogram;
  return view.plugin_name == "audio" ? ValueKind::audio : ValueKind::tensor;
}

bool decode_tensor(std::string_view bytes, TensorView& tensor) {
  tensor = {};
  Decoder decoder(bytes);
  for (Field field; decoder.next(field);) {
    if (field.number == tensor_field::dtype && field.type == WireType::varint) {
      tensor.dtype = field.as_int64();
    } else if (field.number == tensor_field::shape && field.type == WireType::bytes) {
      if (!decode_shape(field.bytes, tensor.shape)) return false;
    } else if (field.number == tensor_field::content && field.type == WireType::bytes) {
      tensor.content = field.bytes;
    } else if (field.number == tensor_field::string_val && field.type == WireType::bytes) {
      tensor.strings.push_back(field.bytes);
    } else if (field.number >= tensor_field::first_typed && field.number <= tensor_field::last_typed) {
      if (tensor.values_field != field.number) {
        // Elements of two types cannot be told apart in one list; a tensor has those of one.
        tensor.values_field = field.number;
        tensor.packed.clear();
        tensor.scalars.clear();
      }
      if (field.type == WireType::bytes) {
        tensor.packed.push_back(field.bytes);
      } else {
        tensor.scalars.push_back(field.scalar);
      }
    }
  }
  return decoder.ok();
}

void encode_event(std::string& out, double wall_time, int64_t step, EventKind kind, std::string_view payload) {
  Encoder event(out);
  encode_envelope(event, wall_time, step);
  event.bytes(static_cast<uint32_t>(kind), payload);
}

void encode_file_version(std::string& out, double wall_time, std::string_view version) {
  encode_event(out, wall_time, 0, EventKind::file_version, version);
}

void encode_session_log(std::string& out, double wall_time, int64_t step, SessionStatus status) {
  std::string session;
  Encoder(session).varint(session_field::status, static_cast<uint64_t>(status));
  encode_event(out, wall_time, step, EventKind::session_log, session);
}

void encode_scalar(std::string& out, double wall_time, int64_t step, std::string_view tag, float value) {
  // Sizes are known up front, so the nested messages are written without a temporary.
  const size_t tag_bytes = 1 + wire::varint_size(tag.size()) + tag.size();
  const size_t value_bytes = tag_bytes + 1 + sizeof(float);
  const size_t summary_bytes = 1 + wire::varint_size(value_bytes) + value_bytes;
  Encoder encoder(out);
  encode_envelope(encoder, wall_time, step);
  encoder.bytes_header(static_cast<uint32_t>(EventKind::summary), summary_bytes);
  encoder.bytes_header(summary_field::value, value_bytes);
  encoder.bytes(value_field::tag, tag);
  encoder.float32(value_field::simple_value, value);
}

SessionStatus session_status(std::string_view session_log) noexcept {
  wire::Decoder decoder(session_log);
  uint64_t status = 0;
  for (wire::Field field; decoder.next(field);) {
    if (field.number == 1 && field.type == wire::WireType::varint) status = field.scalar;
  }
  const bool is_known = status <= static_cast<uint64_t>(SessionStatus::checkpoint);
  return is_known ? static_cast<SessionStatus>(status) : SessionStatus::unspecified;
}

}  // namespace aboard
