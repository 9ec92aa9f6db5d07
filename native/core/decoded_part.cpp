// SPDX-License-Identifier: Apache-2.0
#include "decoded_part.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "posix_io.hpp"
#include "record.hpp"
#include "record_search.hpp"

namespace aboard {
namespace {

constexpr size_t kSearchBytes = 64 << 10;  // in which a record must begin and end
constexpr size_t kBeyondLimit = 64 << 10;  // of a record that begins before it
constexpr size_t kRecordsAtOnce = 128;
constexpr size_t kMostSeriesKept = 4096;

// What is there of [from, from + size), which may be less.
std::string_view read_some(int file, uint64_t from, size_t size, std::vector<char>& buffer) {
  if (buffer.size() < size) buffer.resize(size);
  return {buffer.data(), pread_full(file, buffer.data(), size, from).bytes};
}

}  // namespace

void DecodedPart::decode(int file, uint64_t from, uint64_t limit, std::vector<char>& buffer) {
  forget();
  begin_ = end_ = from;
  std::string_view bytes = read_some(file, from, static_cast<size_t>(limit - from) + kBeyondLimit, buffer);
  const size_t first = find_record(bytes.substr(0, kSearchBytes));
  if (first == std::string_view::npos) return;
  begin_ = end_ = from + first;
  bytes.remove_prefix(first);
  PlainRecord records[kRecordsAtOnce];
  while (end_ < limit) {
    const PlainRecords found = decode_plain_records(bytes, records);
    if (found.count == 0) return;
    bytes.remove_prefix(found.bytes);
    for (size_t i = 0; i < found.count && end_ < limit; ++i) {
      take(records[i]);
      end_ += records[i].bytes;
      ++records_;
    }
  }
}

void DecodedPart::forget() {
  for (const uint32_t number : order_) {
    series_[number].points.truncate(0);
    series_[number].first_fall = kNoFall;
  }
  order_.clear();
  records_ = 0;
  last_wall_time_ = -std::numeric_limits<double>::infinity();
  if (series_.size() > kMostSeriesKept) {
    series_.clear();
    numbers_ = {};
    last_ = 0;
  }
}

void DecodedPart::take(const PlainRecord& record) {
  if (record.wall_time > last_wall_time_ && std::isfinite(record.wall_time)) last_wall_time_ = record.wall_time;
  Series& series = series_for(record.tag());
  Columns& points = series.points;
  if (points.empty()) {
    order_.push_back(last_);
  } else if (series.first_fall == kNoFall && record.step <= points.step(points.size() - 1)) {
    series.first_fall = points.size();
  }
  points.append({record.step, record.wall_time, record.value});
}

DecodedPart::Series& DecodedPart::series_for(std::string_view tag) {
  // Training loops log their tags in the same order again and again.
  if (!series_.empty()) {
    const uint32_t guess = series_[last_].next;
    if (series_[guess].tag == tag) return series_[last_ = guess];
  }
  const uint32_t number = number_of(tag);
  series_[last_].next = number;
  return series_[last_ = number];
}

uint32_t DecodedPart::number_of(std::string_view tag) {
  const uint64_t hash = keyed_hash(tag, 0);
  uint32_t number = numbers_.find(hash, [&](uint32_t candidate) { return series_[candidate].tag == tag; });
  if (number != TagTable::kNone) return number;
  number = static_cast<uint32_t>(series_.size());
  series_.emplace_back().tag = tag;
  numbers_.add(hash, number);
  return number;
}

}  // namespace aboard
