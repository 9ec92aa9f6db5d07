// SPDX-License-Identifier: Apache-2.0
#include "record.hpp"

#include <algorithm>

#include "crc32c.hpp"
#include "little_endian.hpp"

namespace aboard {
namespace {

constexpr size_t kLengthBytes = 8;
constexpr size_t kCompactAbove = 1 << 20;
// While searching. A length beyond is noise: it spares most checksums. By chance there is hardly ever a false header,
// and never many that claim the same bytes: only on purpose, to keep the reader busy.
constexpr uint64_t kLongestFound = uint64_t{1} << 40;
constexpr uint64_t kPatience = 16;
constexpr size_t kMostWaiting = 16;

bool header_is_valid(std::string_view window) noexcept {
  return masked_crc32c(window.substr(0, kLengthBytes)) == load_little<uint32_t>(window.data() + kLengthBytes);
}

}  // namespace

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
  if (!header_is_valid(window)) return RecordState::bad_length;
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

namespace {

// As parse_record, for a place where a record may begin or not. Payloads are checked until `wasted` reaches
// `affordable`.
RecordState probe_record(std::string_view window, uint64_t affordable, uint64_t& wasted) noexcept {
  if (window.size() < kRecordHeaderBytes) return RecordState::incomplete;
  const auto length = load_little<uint64_t>(window.data());
  if (length > kLongestFound || !header_is_valid(window)) return RecordState::bad_length;
  if (length + kRecordOverheadBytes > window.size()) return RecordState::incomplete;
  if (wasted + length > affordable) return RecordState::bad_data;
  Record record;
  const RecordState state = parse_record(window, record);
  if (state == RecordState::bad_data) wasted += length;
  return state;
}

}  // namespace

size_t find_record(std::string_view window) noexcept {
  uint64_t wasted = 0;
  for (size_t at = 0; at + kRecordOverheadBytes <= window.size(); ++at) {
    if (probe_record(window.substr(at), kPatience * window.size(), wasted) == RecordState::complete) return at;
  }
  return std::string_view::npos;
}

void RecordReader::feed(std::string_view bytes) {
  // What was read is dropped only when it is the larger part, so that feeding stays linear.
  if (at_ == buffer_.size() || (at_ > kCompactAbove && at_ > buffer_.size() / 2)) {
    buffer_.erase(0, at_);
    base_ += at_;
    at_ = 0;
  }
  buffer_.append(bytes);
}

RecordState RecordReader::next(std::string_view& payload) {
  Record record;
  const RecordState state =
      searching_ ? RecordState::bad_length : parse_record(std::string_view(buffer_).substr(at_), record);
  payload = record.payload;
  at_ += record.consumed;
  return state;
}

bool RecordReader::resynchronise() {
  const uint64_t end = base_ + buffer_.size();
  const auto probe = [&](uint64_t position) {
    const auto window = std::string_view(buffer_).substr(static_cast<size_t>(position - base_));
    return probe_record(window, kPatience * end, wasted_);
  };
  const auto skip_to = [&](uint64_t position, bool found) {
    at_ = static_cast<size_t>(position - base_);
    searching_ = !found;
    return found;
  };

  searched_ = std::max(searched_, offset());
  std::erase_if(waiting_, [&](uint64_t position) { return position < offset(); });
  for (auto position = waiting_.begin(); position != waiting_.end();) {
    const RecordState state = probe(*position);
    if (state == RecordState::complete) return skip_to(*position, true);
    position = state == RecordState::incomplete ? position + 1 : waiting_.erase(position);
  }
  for (; searched_ + kRecordHeaderBytes <= end; ++searched_) {
    const RecordState state = probe(searched_);
    if (state == RecordState::complete) return skip_to(searched_, true);
    if (state == RecordState::incomplete && waiting_.size() < kMostWaiting) waiting_.push_back(searched_);
  }
  return skip_to(waiting_.empty() ? searched_ : waiting_.front(), false);
}

}  // namespace aboard
