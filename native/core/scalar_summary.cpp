// SPDX-License-Identifier: Apache-2.0
#include "scalar_summary.hpp"

#include <algorithm>
#include <cmath>

#include "value_ranges.hpp"

namespace aboard {

ScalarSummary summarize(const ColumnView& points, size_t count) noexcept {
  const auto values = points.values();
  const auto point = [&](size_t at) { return ScalarPoint{points.steps()[at], points.wall_times()[at], values[at]}; };
  const auto first_equal = [&](double wanted) {
    return point(static_cast<size_t>(std::find(values.begin(), values.end(), wanted) - values.begin()));
  };
  ScalarSummary summary{.count = count, .first = point(0), .last = point(points.size - 1)};
  const ValueRange range = range_of(values);
  if (!std::isnan(range.low)) {
    summary.smallest = first_equal(range.low);
    summary.largest = first_equal(range.high);
  }
  return summary;
}

}  // namespace aboard
