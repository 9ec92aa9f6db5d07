// SPDX-License-Identifier: Apache-2.0
#include "record.hpp"

#include "crc32c.hpp"
#include "little_endian.hpp"

namespace aboard {
namespace {

constexpr size_t kLengthBytes = 8;

}  // namespace

bool is_valid_header(const char* header) noexcept {
  return masked_crc32c({header, kLengthBytes}) == load_little<uint32_t>(header + kLengthBytes);
}

size_t begin_record(std::string& out) {
  const size_t start = out.size();
  out.append(kRecordHeaderBytes, '\0');
  return start;
}

void end_record(std::string& out, size_t start) {
  const size_t payload_start = start + kRecordHeaderBytes;
  const std::string_view payload = std::string_view(out).substr(payload_start);
  const uint32_t payload_crc = masked_crc32c(payload);
  char* header = out.data() + start;
  store_little<uint64_t>(header, payload.size());
  store_little<uint32_t>(header + kLengthBytes, masked_crc32c({header, kLengthBytes}));
  char footer[kRecordFooterBytes];
  store_little<uint32_t>(footer, payload_crc);
  out.append(footer, kRecordFooterBytes);
}

void append_record(std::string& out, std::string_view payload) {
  const size_t start = begin_record(out);
  out.append(payload);
  end_record(out, start);
}

RecordState parse_record(std::string_view window, Record& record) noexcept {
  record = {};
  if (window.size() < kRecordHeaderBytes) return RecordState::incomplete;
  if (!is_valid_header(window.data())) return RecordState::bad_length;
  const auto length = load_little<uint64_t>(window.data());
  const size_t behind_header = window.size() - kRecordHeaderBytes;
  if (behind_header < kRecordFooterBytes || length > behind_header - kRecordFooterBytes) {
    return RecordState::incomplete;
  }
  const auto size = static_cast<size_t>(length);
  record.payload = window.substr(kRecordHeaderBytes, size);
  record.consumed = size + kRecordOverheadBytes;
  const auto stored = load_little<uint32_t>(window.data() + kRecordHeaderBytes + size);
  return masked_crc32c(record.payload) == stored ? RecordState::complete : RecordState::bad_data;
}

}  // namespace aboard
