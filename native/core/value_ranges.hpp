// SPDX-License-Identifier: Apache-2.0
// The smallest and the largest of values, and whether a NaN is among them: of any, and kept for parts of long columns.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "columns.hpp"

namespace aboard {

// Of no numbers at all the smallest and the largest are NaN, as which nothing compares.
struct ValueRange {
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = std::numeric_limits<double>::quiet_NaN();
  bool has_nan = false;

  void take(const ValueRange& other) noexcept {
    if (!(low <= other.low)) low = other.low == other.low ? other.low : low;
    if (!(high >= other.high)) high = other.high == other.high ? other.high : high;
    has_nan = has_nan || other.has_nan;
  }
};

ValueRange range_of(std::span<const double> values) noexcept;

// The ranges of consecutive parts of a column, as far as somebody has asked for them: 24 bytes for 256 values.
//
// They stay right for as long as the block lives: what a view shows never changes, and only whole parts that a view
// shows are taken in.
class ValueRanges {
 public:
  static constexpr size_t kPart = 256;

  // Holds the ranges still, with those of all whole parts before position `end` of the column among them.
  class Reading {
   public:
    Reading(ValueRanges& ranges, const double* values, size_t end);
    const ValueRange& operator[](size_t part) const noexcept { return ranges_.parts_[part]; }

   private:
    const std::lock_guard<std::mutex> lock_;
    const ValueRanges& ranges_;
  };

  // Those of a block; made when they are first asked for, and gone with the block.
  static std::shared_ptr<ValueRanges> of(const std::shared_ptr<const ColumnBlock>& block);

 private:
  std::mutex mutex_;
  std::vector<ValueRange> parts_;
};

}  // namespace aboard
