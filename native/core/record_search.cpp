// SPDX-License-Identifier: Apache-2.0
#include "record_search.hpp"

namespace aboard {
namespace {

constexpr size_t kCompactAbove = 1 << 20;
constexpr uint64_t kLongestFound = uint64_t{1} << 40;  // a length beyond is noise: that saves most checksums

}  // namespace

size_t find_record(std::string_view window) noexcept {
  RecordSearch search;
  const RecordSearch::Limits limits{window.size(), kLongestFound, RecordSearch::kPatience * window.size()};
  const auto at = [&](uint64_t position, size_t) { return window.substr(static_cast<size_t>(position)); };
  for (size_t position = 0; position + kRecordOverheadBytes <= window.size(); ++position) {
    if (search.probe(position, limits, at) == RecordState::complete) return position;
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
      search_.is_active ? RecordState::bad_length : parse_record(std::string_view(buffer_).substr(at_), record);
  payload = record.payload;
  at_ += record.consumed;
  return state;
}

bool RecordReader::resynchronise() {
  if (!search_.is_active) search_.begin(offset());
  const RecordSearch::Limits limits{fed(), kLongestFound, RecordSearch::kPatience * fed()};
  const uint64_t next = search_.advance(limits, [&](uint64_t position, size_t) {
    return std::string_view(buffer_).substr(static_cast<size_t>(position - base_));
  });
  at_ = static_cast<size_t>(next - base_);
  return !search_.is_active;
}

}  // namespace aboard
