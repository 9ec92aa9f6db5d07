// SPDX-License-Identifier: Apache-2.0
// The messages of event files (Event, Summary.Value, TensorProto), encoded and decoded without protobuf.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace aboard {

// What an Event carries; the numbers are the field numbers of its `what` oneof.
enum class EventKind : uint8_t {
  nothing = 0,
  file_version = 3,
  graph_def = 4,
  summary = 5,
  log_message = 6,
  session_log = 7,
  tagged_run_metadata = 8,
  meta_graph_def = 9,
};

// An event in the bytes of its record; `payload` is the content of the field that `kind` names.
struct EventView {
  double wall_time = 0;
  int64_t step = 0;
  EventKind kind = EventKind::nothing;
  std::string_view payload;
};

// What a Summary.Value carries; the numbers are its field numbers.
enum class ValueKind : uint8_t {
  nothing = 0,
  simple_value = 2,
  image = 4,
  histogram = 5,
  audio = 6,
  tensor = 8,
};

struct ValueView {
  std::string_view tag;
  std::string_view metadata;  // SummaryMetadata, undecoded; empty when absent
  ValueKind kind = ValueKind::nothing;
  float simple_value = 0;
  std::string_view payload;  // the message of every kind but simple_value
};

struct MetadataView {
  std::string_view plugin_name;
  std::string_view plugin_content;
  std::string_view display_name;
  std::string_view description;
  int64_t data_class = 0;
};

// The kind of data that a value with this metadata holds, however it is stored: a tensor of the plugin `images` is an
// image. Nothing for a tensor without metadata, which can be of any kind.
ValueKind data_kind(ValueKind stored_as, std::string_view metadata) noexcept;

// Element type, shape and undecoded elements of a TensorProto.
struct TensorView {
  int64_t dtype = 0;
  std::vector<int64_t> shape;
  std::string_view content;               // raw little-endian elements, when present
  std::vector<std::string_view> packed;   // typed element fields that arrived packed
  std::vector<uint64_t> scalars;          // typed elements that arrived one by one, as raw bits
  std::vector<std::string_view> strings;  // elements of a DT_STRING tensor
  uint32_t values_field = 0;              // field number of `packed` and `scalars` (5 = float_val, …)
};

// Each returns false when the bytes are not a valid message; the view then holds what was read before the damage.
bool decode_event(std::string_view bytes, EventView& event) noexcept;
bool decode_value(std::string_view bytes, ValueView& value) noexcept;
bool decode_metadata(std::string_view bytes, MetadataView& metadata) noexcept;
bool decode_tensor(std::string_view bytes, TensorView& tensor);
// Appends the bytes of each Summary.Value of a Summary.
bool decode_summary(std::string_view bytes, std::vector<std::string_view>& values);

// An event with one value, a plain number: what nearly all records of nearly all files are.
struct PlainScalar {
  double wall_time = 0;
  int64_t step = 0;
  std::string_view tag;
  float value = 0;
};

// True when the bytes are such an event in the order of fields in which all known writers put them. False says nothing:
// the message may still be valid and is then decoded the long way.
bool decode_plain_scalar(std::string_view bytes, PlainScalar& scalar) noexcept;

enum class SessionStatus : uint8_t { unspecified = 0, start = 1, stop = 2, checkpoint = 3 };
// Of a serialized SessionLog; `unspecified` for a status that is not known.
SessionStatus session_status(std::string_view session_log) noexcept;

// Each appends the bytes of one Event.
void encode_file_version(std::string& out, double wall_time, std::string_view version);
void encode_session_log(std::string& out, double wall_time, int64_t step, SessionStatus status);
void encode_scalar(std::string& out, double wall_time, int64_t step, std::string_view tag, float value);
// An event whose `kind` field holds `payload`, for example the bytes of a Summary.
void encode_event(std::string& out, double wall_time, int64_t step, EventKind kind, std::string_view payload);

}  // namespace aboard
