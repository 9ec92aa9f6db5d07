// SPDX-License-Identifier: Apache-2.0
#include "reduce.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "value_ranges.hpp"

namespace aboard {
namespace {

constexpr size_t kKeptPerBucket = 5;

constexpr size_t kNone = static_cast<size_t>(-1);
// Points of a bucket from which on kept ranges cost less than a look at all of them.
constexpr size_t kLargeBucket = 4 * ValueRanges::kPart;

struct Peaks {
  size_t smallest = kNone, largest = kNone, missing = kNone;
};

size_t first_equal(std::span<const double> values, size_t begin, size_t end, double wanted) {
  const auto found = std::find(values.begin() + static_cast<std::ptrdiff_t>(begin),
                               values.begin() + static_cast<std::ptrdiff_t>(end), wanted);
  return static_cast<size_t>(found - values.begin());
}

size_t first_nan(std::span<const double> values, size_t begin) {
  while (!std::isnan(values[begin])) ++begin;
  return begin;
}

Peaks peaks_of(std::span<const double> values, size_t begin, size_t end) {
  const ValueRange range = range_of(values.subspan(begin, end - begin));
  Peaks peaks;
  if (range.has_nan) peaks.missing = first_nan(values, begin);
  if (std::isnan(range.low)) return peaks;
  peaks.smallest = first_equal(values, begin, end, range.low);
  peaks.largest = first_equal(values, begin, end, range.high);
  return peaks;
}

// The same by the ranges of the parts that lie in the bucket as a whole. Positions are those of the column.
Peaks peaks_of(std::span<const double> values, size_t begin, size_t end, const ValueRanges::Reading& ranges) {
  constexpr size_t kPart = ValueRanges::kPart;
  const size_t first = (begin + kPart - 1) / kPart, last = end / kPart;
  const std::array edges{begin, first * kPart, last * kPart, end};
  const ValueRange head = range_of(values.subspan(begin, edges[1] - begin));
  const ValueRange tail = range_of(values.subspan(edges[2], end - edges[2]));
  ValueRange range = head;
  for (size_t part = first; part < last; ++part) range.take(ranges[part]);
  range.take(tail);
  // The first place where it is, looked for only in the part that has it.
  const auto place_of = [&](const auto& has, const auto& find) {
    if (has(head)) return find(begin, edges[1]);
    for (size_t part = first; part < last; ++part) {
      if (has(ranges[part])) return find(part * kPart, (part + 1) * kPart);
    }
    return find(edges[2], end);
  };
  const auto place_of_number = [&](double ValueRange::* which, double wanted) {
    return place_of([&](const ValueRange& part) { return part.*which == wanted; },
                    [&](size_t from, size_t to) { return first_equal(values, from, to, wanted); });
  };
  Peaks peaks;
  if (range.has_nan) {
    peaks.missing = place_of([](const ValueRange& part) { return part.has_nan; },
                             [&](size_t from, size_t) { return first_nan(values, from); });
  }
  if (std::isnan(range.low)) return peaks;
  peaks.smallest = place_of_number(&ValueRange::low, range.low);
  peaks.largest = place_of_number(&ValueRange::high, range.high);
  return peaks;
}

// Adds the places of a bucket, ascending, each once.
void keep(Peaks peaks, size_t begin, size_t end, std::vector<size_t>& kept) {
  kept.push_back(begin);
  std::array between{peaks.smallest, peaks.largest, peaks.missing};
  std::sort(between.begin(), between.end());
  for (const size_t place : between) {
    if (place != kNone && place != kept.back()) kept.push_back(place);
  }
  if (kept.back() != end - 1) kept.push_back(end - 1);
}

// The `i`th of `parts` edges that cut `size` points evenly; without the product, which could be too large.
size_t edge(size_t size, size_t parts, size_t i) { return size / parts * i + size % parts * i / parts; }

// Adds what is not there yet of `count` positions in the middle of even parts.
void fill_up(size_t size, size_t count, std::vector<size_t>& kept) {
  const auto before = static_cast<std::ptrdiff_t>(kept.size());
  for (size_t i = 0; i < count; ++i) kept.push_back((edge(size, count, i) + edge(size, count, i + 1)) / 2);
  std::inplace_merge(kept.begin(), kept.begin() + before, kept.end());
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
}

struct Sum {
  double sum = 0;
  size_t count = 0;
};

Sum finite_sum(std::span<const double> values, double scale = 1) {
  std::array<Sum, 4> lanes;  // several, because each waits for its own last result
  for (size_t i = 0; i < values.size(); ++i) {
    const bool is_number = std::isfinite(values[i]);
    lanes[i % lanes.size()].sum += is_number ? values[i] * scale : 0;
    lanes[i % lanes.size()].count += is_number ? 1 : 0;
  }
  return {(lanes[0].sum + lanes[1].sum) + (lanes[2].sum + lanes[3].sum),
          lanes[0].count + lanes[1].count + lanes[2].count + lanes[3].count};
}

double finite_mean(std::span<const double> values, const Sum& all) {
  if (all.count == 0) return std::numeric_limits<double>::quiet_NaN();
  const auto count = static_cast<double>(all.count);
  // Numbers near the largest that there is have no sum.
  return std::isfinite(all.sum) ? all.sum / count : finite_sum(values, 1 / count).sum;
}

}  // namespace

std::vector<size_t> reduce(const ColumnView& points, size_t budget) {
  std::vector<size_t> kept;
  if (points.size <= budget) {
    kept.resize(points.size);
    std::iota(kept.begin(), kept.end(), size_t{0});
    return kept;
  }
  if (budget < kKeptPerBucket) {
    for (size_t i = 1; i <= budget; ++i) kept.push_back(edge(points.size, budget, i) - 1);
    return kept;
  }
  const size_t buckets = budget / kKeptPerBucket;
  kept.reserve(budget);
  const auto each_bucket = [&](const auto& peaks) {
    for (size_t bucket = 0; bucket < buckets; ++bucket) {
      const size_t begin = edge(points.size, buckets, bucket), end = edge(points.size, buckets, bucket + 1);
      keep(peaks(begin, end), begin, end, kept);
    }
  };
  if (points.size / buckets < kLargeBucket) {
    each_bucket([values = points.values()](size_t begin, size_t end) { return peaks_of(values, begin, end); });
  } else {
    // Parts begin where the column does, a view of it anywhere.
    const size_t before = points.begin;
    const std::span<const double> column(points.block->values, before + points.size);
    const auto kept_ranges = ValueRanges::of(points.block);
    const ValueRanges::Reading ranges(*kept_ranges, column.data(), column.size());
    each_bucket([&](size_t begin, size_t end) {
      const Peaks found = peaks_of(column, before + begin, before + end, ranges);
      const auto within = [&](size_t place) { return place == kNone ? kNone : place - before; };
      return Peaks{within(found.smallest), within(found.largest), within(found.missing)};
    });
  }
  fill_up(points.size, budget - kept.size(), kept);
  return kept;
}

PartMeans part_means(std::span<const double> values, std::span<const size_t> kept) {
  PartMeans parts;
  parts.means.reserve(kept.size());
  parts.counts.reserve(kept.size());
  size_t begin = 0;
  for (const size_t place : kept) {
    const auto part = values.subspan(begin, place + 1 - begin);
    const Sum all = finite_sum(part);
    parts.means.push_back(finite_mean(part, all));
    parts.counts.push_back(static_cast<double>(all.count));
    begin = place + 1;
  }
  return parts;
}

ColumnView window(const ColumnView& points, int64_t first, int64_t last) {
  const auto steps = points.steps();
  auto begin = static_cast<size_t>(std::lower_bound(steps.begin(), steps.end(), first) - steps.begin());
  auto end = static_cast<size_t>(std::upper_bound(steps.begin(), steps.end(), last) - steps.begin());
  if (begin > 0) --begin;
  if (end < points.size) ++end;
  return {points.block, points.begin + begin, end > begin ? end - begin : 0};
}

}  // namespace aboard
