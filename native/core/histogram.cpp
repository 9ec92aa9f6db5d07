// SPDX-License-Identifier: Apache-2.0
#include "histogram.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

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
class BucketFinder {
 public:
  BucketFinder() : cells_(kCells) {
    for (size_t cell = 0; cell < kCells; ++cell) {
      const double inner = std::bit_cast<double>(uint64_t{cell} << kShift);
      const double outer = std::bit_cast<double>((uint64_t{cell} << kShift) | ((uint64_t{1} << kShift) - 1));
      if (!std::isfinite(inner)) continue;
      const double lowest = std::min(inner, outer), highest = std::max(inner, outer);
      const auto next = std::upper_bound(edges().begin(), edges().end(), lowest);
      cells_[cell].edges_below = static_cast<uint16_t>(next - edges().begin());
      if (next != edges().end() && *next <= highest) cells_[cell].edge = *next;
    }
  }

  // Number of edges that are not above `value`, which must not be NaN.
  size_t edges_up_to(double value) const noexcept {
    const Cell& cell = cells_[std::bit_cast<uint64_t>(value) >> kShift];
    return cell.edges_below + (value >= cell.edge ? 1u : 0u);
  }

 private:
  static constexpr int kShift = 48;  // keeps sign, exponent and four mantissa bits
  static constexpr size_t kCells = size_t{1} << (64 - kShift);
  struct Cell {
    double edge = std::numeric_limits<double>::infinity();
    uint16_t edges_below = 0;  // edges at or below the lowest value of the cell
  };
  std::vector<Cell> cells_;
};

const BucketFinder& bucket_finder() {
  static const auto* finder = new BucketFinder();
  return *finder;
}

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

// Sums and extremes of the finite values. Lanes let the compiler use vector instructions without reordering a sum.
template <typename Value>
void add_statistics(std::span<const Value> values, Histogram& histogram) {
  constexpr size_t kLanes = 8;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::array<double, kLanes> smallest, largest, sum{}, squares{}, skipped{};
  smallest.fill(kInfinity);
  largest.fill(-kInfinity);
  const auto take = [&](size_t lane, double value) {
    const bool finite = std::fabs(value) < kInfinity;
    const double counted = finite ? value : 0;
    smallest[lane] = std::min(smallest[lane], finite ? value : kInfinity);
    largest[lane] = std::max(largest[lane], finite ? value : -kInfinity);
    sum[lane] += counted;
    squares[lane] += counted * counted;
    skipped[lane] += finite ? 0 : 1;
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
  histogram.not_finite = static_cast<uint64_t>(std::accumulate(skipped.begin(), skipped.end(), 0.0));
}

template <typename Value>
std::vector<uint64_t> count_buckets(std::span<const Value> values) {
  // Indexed by the number of edges up to a value. Two tables by turns: neighbours often fall into the same bucket, and
  // one counter would wait for itself.
  std::array<std::vector<uint64_t>, 2> counts{std::vector<uint64_t>(edges().size() + 1),
                                              std::vector<uint64_t>(edges().size() + 1)};
  uint64_t* const turns[] = {counts[0].data(), counts[1].data()};
  const BucketFinder& finder = bucket_finder();
  const double largest = edges().back();
  for (size_t at = 0; at < values.size(); ++at) {
    const double value = values[at];
    if (!(std::fabs(value) <= largest)) [[unlikely]] continue;
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
  if (histogram.not_finite == values.size()) histogram.min = histogram.max = 0;
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
