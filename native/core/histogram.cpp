// SPDX-License-Identifier: Apache-2.0
#include "histogram.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <type_traits>

#include "wire.hpp"

namespace aboard {
namespace {

std::vector<double> make_edges() {
  std::vector<double> positive;
  for (double edge = 1e-12; edge < 1e20; edge *= 1.1) positive.push_back(edge);
  std::vector<double> edges;
  edges.reserve(2 * positive.size() + 1);
  for (auto edge = positive.rbegin(); edge != positive.rend(); ++edge) edges.push_back(-*edge);
  edges.push_back(0);
  edges.insert(edges.end(), positive.begin(), positive.end());
  return edges;
}

// Never destroyed: the background thread may still need them while the process exits.
const std::vector<double>& edges() {
  static const auto* value = new std::vector<double>(make_edges());
  return *value;
}

// Finds the bucket of a value without searching: sign, exponent and the first mantissa bits select a cell, and a cell
// (at most 1/11 octave) is narrower than a bucket (0.1375 octave), so at most one edge lies inside it.
template <typename Value>
class BucketFinder {
 public:
  BucketFinder() : cells_(kCells) {
    for (size_t cell = 0; cell < kCells; ++cell) {
      const Bits first_bits = static_cast<Bits>(cell) << kShift;
      const Value inner = std::bit_cast<Value>(first_bits);
      const Value outer = std::bit_cast<Value>(first_bits | ((Bits{1} << kShift) - 1));
      if (!std::isfinite(inner)) continue;
      const double lowest = std::min(inner, outer), highest = std::max(inner, outer);
      const auto next = std::upper_bound(edges().begin(), edges().end(), lowest);
      cells_[cell].edges_below = static_cast<uint16_t>(next - edges().begin());
      if (next != edges().end() && *next <= highest) cells_[cell].edge = rounded_up(*next);
    }
  }

  // Number of edges that are not above `value`, which must not be NaN.
  size_t edges_up_to(Value value) const noexcept {
    const Cell& cell = cells_[std::bit_cast<Bits>(value) >> kShift];
    return cell.edges_below + (value >= cell.edge ? 1u : 0u);
  }

  static const BucketFinder& instance() {
    static const auto* finder = new BucketFinder();
    return *finder;
  }

 private:
  using Bits = std::conditional_t<sizeof(Value) == 4, uint32_t, uint64_t>;
  static constexpr int kMantissaBits = std::numeric_limits<Value>::digits - 1;
  static constexpr int kShift = kMantissaBits - 4;  // keeps sign, exponent and four mantissa bits
  static constexpr size_t kCells = size_t{1} << (8 * sizeof(Value) - kShift);
  struct Cell {
    Value edge = std::numeric_limits<Value>::infinity();
    uint16_t edges_below = 0;  // edges at or below the lowest value of the cell
  };

  // The smallest value of the type that is not below the edge: comparing with it is comparing with the edge.
  static Value rounded_up(double edge) {
    const auto near = static_cast<Value>(edge);
    return near < edge ? std::nextafter(near, std::numeric_limits<Value>::infinity()) : near;
  }

  std::vector<Cell> cells_;
};

void cut_empty_ends(const std::vector<uint64_t>& counts, Histogram& histogram) {
  const auto filled = [](uint64_t count) { return count > 0; };
  const auto first = std::find_if(counts.begin(), counts.end(), filled);
  if (first == counts.end()) {
    histogram.bucket_limits = {histogram.max};
    histogram.bucket_counts = {0};
    return;
  }
  const auto last = std::find_if(counts.rbegin(), counts.rend(), filled).base();
  const auto start = first - counts.begin();
  const auto end = last - counts.begin();
  // TensorBoard stores right limits only: an empty bucket in front carries the left edge of the first filled one.
  histogram.bucket_counts.push_back(0);
  histogram.bucket_counts.insert(histogram.bucket_counts.end(), counts.begin() + start, counts.begin() + end);
  histogram.bucket_limits.assign(edges().begin() + start, edges().begin() + end + 1);
}

// Compiled once more for CPUs with wide vectors, and chosen when the program starts.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define ABOARD_WIDE_VECTORS __attribute__((target_clones("avx2", "default")))
#else
#define ABOARD_WIDE_VECTORS
#endif

// Sums and extremes when all values are finite. Lanes let the compiler use vectors without reordering a sum.
template <typename Value>
[[gnu::always_inline]] inline void sum_up(std::span<const Value> values, Histogram& histogram) {
  constexpr size_t kLanes = 16;
  std::array<Value, kLanes> smallest, largest;
  std::array<double, kLanes> sum{}, squares{};
  smallest.fill(std::numeric_limits<Value>::infinity());
  largest.fill(-std::numeric_limits<Value>::infinity());
  const auto take = [&](size_t lane, Value value) {
    const double wide = value;
    smallest[lane] = value < smallest[lane] ? value : smallest[lane];
    largest[lane] = value > largest[lane] ? value : largest[lane];
    sum[lane] += wide;
    squares[lane] += wide * wide;
  };
  size_t at = 0;
  for (; at + kLanes <= values.size(); at += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) take(lane, values[at + lane]);
  }
  for (; at < values.size(); ++at) take(at % kLanes, values[at]);
  histogram.min = *std::min_element(smallest.begin(), smallest.end());
  histogram.max = *std::max_element(largest.begin(), largest.end());
  histogram.sum = std::accumulate(sum.begin(), sum.end(), 0.0);
  histogram.sum_squares = std::accumulate(squares.begin(), squares.end(), 0.0);
}

ABOARD_WIDE_VECTORS void add_statistics(std::span<const float> values, Histogram& histogram) {
  sum_up(values, histogram);
}

ABOARD_WIDE_VECTORS void add_statistics(std::span<const double> values, Histogram& histogram) {
  sum_up(values, histogram);
}

template <typename Value>
std::vector<Value> finite_part(std::span<const Value> values) {
  std::vector<Value> finite;
  std::copy_if(values.begin(), values.end(), std::back_inserter(finite),
               [](Value value) { return std::isfinite(value); });
  return finite;
}

template <typename Value>
std::vector<uint64_t> count_buckets(std::span<const Value> values) {
  // Indexed by the number of edges up to a value. Two tables by turns: neighbours often fall into the same bucket, and
  // one counter would wait for itself.
  std::array<std::vector<uint64_t>, 2> counts{std::vector<uint64_t>(edges().size() + 1),
                                              std::vector<uint64_t>(edges().size() + 1)};
  uint64_t* const turns[] = {counts[0].data(), counts[1].data()};
  const auto& finder = BucketFinder<Value>::instance();
  const double largest = edges().back();
  for (size_t at = 0; at < values.size(); ++at) {
    const Value value = values[at];
    if (!(std::fabs(value) <= largest)) [[unlikely]]
      continue;
    ++turns[at & 1][finder.edges_up_to(value)];
  }
  const size_t buckets = edges().size() - 1;
  std::vector<uint64_t> total(buckets);
  for (size_t bucket = 0; bucket < buckets; ++bucket) total[bucket] = counts[0][bucket + 1] + counts[1][bucket + 1];
  // The last bucket is closed on the right as well.
  total.back() += counts[0].back() + counts[1].back();
  return total;
}

template <typename Value>
Histogram histogram_of(std::span<const Value> values) {
  Histogram histogram;
  add_statistics(values, histogram);
  if (!std::isfinite(histogram.sum_squares)) [[unlikely]] {
    // Either something is not finite, or squares are too large for a double: then the first pass was right.
    const auto finite = finite_part(values);
    histogram.not_finite = values.size() - finite.size();
    if (histogram.not_finite > 0) add_statistics(std::span<const Value>(finite), histogram);
  }
  if (histogram.not_finite == values.size()) histogram.min = histogram.max = 0;  // also when there are no values at all
  histogram.num = static_cast<double>(values.size());
  cut_empty_ends(count_buckets(values), histogram);
  return histogram;
}

}  // namespace

std::span<const double> default_histogram_edges() { return edges(); }

Histogram make_histogram(std::span<const float> values) { return histogram_of(values); }

Histogram make_histogram(std::span<const double> values) { return histogram_of(values); }

void encode_histogram_summary(std::string& out, std::string_view tag, const Histogram& histogram) {
  std::string proto;
  wire::Encoder fields(proto);
  fields.float64(1, histogram.min);
  fields.float64(2, histogram.max);
  fields.float64(3, histogram.num);
  fields.float64(4, histogram.sum);
  fields.float64(5, histogram.sum_squares);
  fields.packed_float64(6, histogram.bucket_limits);
  fields.packed_float64(7, histogram.bucket_counts);
  std::string value;
  wire::Encoder value_fields(value);
  value_fields.bytes(1, tag);
  value_fields.bytes(5, proto);
  wire::Encoder(out).bytes(1, value);
}

}  // namespace aboard
