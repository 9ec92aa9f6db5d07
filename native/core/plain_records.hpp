// SPDX-License-Identifier: Apache-2.0
// The records that nearly all of nearly every event file is made of, verified and decoded many at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace aboard {

// A record whose event has one value, a plain number. The tag lies in the bytes that were decoded.
struct PlainRecord {
  double wall_time;
  int64_t step;
  const char* tag_begin;
  uint32_t tag_bytes;
  float value;
  uint64_t bytes;  // of the whole record

  std::string_view tag() const noexcept { return {tag_begin, tag_bytes}; }
};

struct PlainRecords {
  size_t count = 0;
  size_t bytes = 0;  // that they take
};

// Decodes records from the start of `bytes` on into `records`. Stops where `records` is full, and in front of the first
// record that is damaged, not all there or anything but a plain number: what that is, others say.
PlainRecords decode_plain_records(std::string_view bytes, std::span<PlainRecord> records) noexcept;

// Named so that tests can hold both to the same answers.
namespace plain_records_impl {
using Function = PlainRecords (*)(std::string_view, std::span<PlainRecord>) noexcept;
PlainRecords portable(std::string_view bytes, std::span<PlainRecord> records) noexcept;
Function hardware() noexcept;  // null when this CPU has no CRC instructions
}  // namespace plain_records_impl

}  // namespace aboard
