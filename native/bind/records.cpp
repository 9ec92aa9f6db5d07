// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <vector>

#include "bindings.hpp"
#include "crc32c.hpp"
#include "event.hpp"
#include "little_endian.hpp"
#include "record.hpp"
#include "record_boundary.hpp"
#include "without_gil.hpp"

namespace nb = nanobind;

namespace aboard {
namespace {

// Every simple_value in the whole records of `data` as (tag, wall_time, step, value), and the bytes that these take.
// Stops at the first record that is cut off or damaged.
nb::tuple scalars_in_records(const nb::bytes& data) {
  struct Scalar {
    std::string_view tag;
    double wall_time;
    int64_t step;
    float value;
  };
  const std::string_view window = view_of(data);
  std::vector<Scalar> found;
  size_t at = 0;
  {
    const WithoutGil release;
    Record record;
    std::vector<std::string_view> values;
    while (parse_record(window.substr(at), record) == RecordState::complete) {
      at += record.consumed;
      EventView event;
      values.clear();
      if (!decode_event(record.payload, event) || event.kind != EventKind::summary) continue;
      if (!decode_summary(event.payload, values)) continue;
      for (const std::string_view bytes : values) {
        ValueView value;
        if (!decode_value(bytes, value) || value.kind != ValueKind::simple_value) continue;
        found.push_back({value.tag, event.wall_time, event.step, value.simple_value});
      }
    }
  }
  nb::list scalars;
  for (const Scalar& scalar : found) {
    scalars.append(nb::make_tuple(text_of(scalar.tag), scalar.wall_time, scalar.step, scalar.value));
  }
  return nb::make_tuple(scalars, at);
}

// Goes from header to header over the records in `data`: where the first lies that is not all there, the length of its
// payload (-1 when its header is not there or damaged), and the longest payload before it.
nb::tuple hop_records(const nb::bytes& data) {
  const std::string_view window = view_of(data);
  size_t at = 0;
  uint64_t longest = 0;
  const auto cut_off = without_gil([&]() -> std::optional<uint64_t> {
    while (window.size() - at >= kRecordHeaderBytes) {
      const auto length = load_little<uint64_t>(window.data() + at);
      if (masked_crc32c(window.substr(at, sizeof length)) != load_little<uint32_t>(window.data() + at + sizeof length))
        break;
      const size_t left = window.size() - at - kRecordHeaderBytes;
      if (left < kRecordFooterBytes || length > left - kRecordFooterBytes) return length;
      longest = std::max(longest, length);
      at += static_cast<size_t>(length) + kRecordOverheadBytes;
    }
    return std::nullopt;
  });
  return cut_off ? nb::make_tuple(at, *cut_off, longest) : nb::make_tuple(at, -1, longest);
}

// As find_boundary; an error of the system becomes an OSError.
nb::tuple record_boundary(int file, uint64_t start, uint64_t limit, uint64_t size) {
  RecordBoundary found;
  {
    const WithoutGil released;
    found = find_boundary(file, start, limit, size);
  }
  if (found.error != 0) {
    errno = found.error;
    PyErr_SetFromErrno(PyExc_OSError);
    throw nb::python_error();
  }
  return nb::make_tuple(found.end, found.damaged);
}

}  // namespace

void bind_records(nb::module_& module) {
  module.attr("crc32c_implementation") = crc32c_impl::chosen_name();
  module.def(
      "masked_crc32c",
      [](const nb::bytes& data) {
        const std::string_view bytes = view_of(data);
        return without_gil([&] { return masked_crc32c(bytes); });
      },
      nb::arg("data"));
  module.def(
      "frame_record",
      [](const nb::bytes& payload) {
        std::string out;
        out.reserve(payload.size() + kRecordOverheadBytes);
        append_record(out, view_of(payload));
        return bytes_of(out);
      },
      nb::arg("payload"));
  module.def(
      "scalars_in_records", &scalars_in_records, nb::arg("data"),
      nb::sig("def scalars_in_records(data: bytes) -> tuple[list[tuple[str, float, int, float]], int]"),
      "Every simple_value in whole records as (tag, wall_time, step, value), and the bytes that these records take.");
  module.def("hop_records", &hop_records, nb::arg("data"),
             nb::sig("def hop_records(data: bytes) -> tuple[int, int, int]"),
             "Place and length of the first record that is not all in `data`, and the longest before; -1: not known.");
  module.def("record_boundary", &record_boundary, nb::arg("file"), nb::arg("start"), nb::arg("limit"), nb::arg("size"),
             nb::sig("def record_boundary(file: int, start: int, limit: int, size: int) -> tuple[int, bool]"),
             "Where an open event file can be cut behind `start`, and whether damage follows.");
}

}  // namespace aboard
