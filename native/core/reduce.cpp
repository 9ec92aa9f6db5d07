// SPDX-License-Identifier: Apache-2.0
#include "reduce.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace aboard {
namespace {

constexpr size_t kKeptPerBucket = 5;

void keep_of_bucket(std::span<const double> values, size_t begin, size_t end, std::vector<size_t>& kept) {
  constexpr size_t kNone = static_cast<size_t>(-1);
  size_t smallest = kNone, largest = kNone, missing = kNone;
  for (size_t at = begin; at < end; ++at) {
    const double value = values[at];
    if (std::isnan(value)) {
      if (missing == kNone) missing = at;
      continue;
    }
    if (smallest == kNone || value < values[smallest]) smallest = at;
    if (largest == kNone || value > values[largest]) largest = at;
  }
  std::array<size_t, kKeptPerBucket> positions{begin, smallest, largest, missing, end - 1};
  std::sort(positions.begin(), positions.end());
  for (size_t i = 0; i < positions.size(); ++i) {
    if (positions[i] != kNone && (i == 0 || positions[i] != positions[i - 1])) kept.push_back(positions[i]);
  }
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
  const auto values = points.values();
  for (size_t bucket = 0; bucket < buckets; ++bucket) {
    keep_of_bucket(values, edge(points.size, buckets, bucket), edge(points.size, buckets, bucket + 1), kept);
  }
  fill_up(points.size, budget - kept.size(), kept);
  return kept;
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
