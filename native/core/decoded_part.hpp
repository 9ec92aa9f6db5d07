// SPDX-License-Identifier: Apache-2.0
// A part of an event file, decoded on its own: its plain numbers by tag.
//
// Where a record begins within a file is only known to who has read all before it. Here the first valid record behind
// the given place is taken for one; whoever uses the part makes sure that the file's records do come to lie there.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "columns.hpp"
#include "plain_records.hpp"
#include "tag_table.hpp"

namespace aboard {

class DecodedPart {
 public:
  struct Series {
    std::string tag;
    Columns points;
    size_t first_fall = kNoFall;  // the first point whose step is not above the one before
    uint32_t next = 0;            // the series that followed this one last time
  };
  static constexpr size_t kNoFall = std::numeric_limits<size_t>::max();

  // Decodes the records that begin in [from, limit), up to the first that is no plain number. What it held before is
  // forgotten. Nothing is found where the file cannot be read. `buffer` is for the bytes.
  void decode(int file, uint64_t from, uint64_t limit, std::vector<char>& buffer);

  // The bytes that the records take; none when both are the same.
  uint64_t begin() const noexcept { return begin_; }
  uint64_t end() const noexcept { return end_; }
  uint64_t records() const noexcept { return records_; }
  // The latest that is a time; minus infinity when there is none.
  double last_wall_time() const noexcept { return last_wall_time_; }
  // In the order of their first points.
  template <typename Take>
  void each(const Take& take) const {
    for (const uint32_t number : order_) take(series_[number]);
  }

 private:
  void forget();
  void take(const PlainRecord& record);
  Series& series_for(std::string_view tag);
  uint32_t number_of(std::string_view tag);

  uint64_t begin_ = 0, end_ = 0, records_ = 0;
  double last_wall_time_ = 0;
  std::vector<Series> series_;  // also of parts before: their memory is used again
  std::vector<uint32_t> order_;
  TagTable numbers_;
  uint32_t last_ = 0;
};

}  // namespace aboard
