// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "check.hpp"
#include "event.hpp"
#include "histogram.hpp"
#include "wire.hpp"

namespace aboard {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// TensorFlow's edges, computed on their own.
std::vector<double> reference_edges() {
  std::vector<double> edges;
  for (double edge = 1e-12; edge < 1e20; edge *= 1.1) edges.push_back(edge);
  const std::vector<double> positive = edges;
  edges.push_back(0);
  for (const double edge : positive) edges.push_back(-edge);
  std::sort(edges.begin(), edges.end());
  return edges;
}

// What numpy.histogram does: bucket i is [edge i, edge i + 1), the last one is closed.
template <typename Value>
Histogram reference(const std::vector<Value>& values) {
  static const auto edges = reference_edges();
  std::vector<double> counts(edges.size() - 1);
  Histogram histogram;
  histogram.num = static_cast<double>(values.size());
  bool first = true;
  for (const Value narrow : values) {
    const double value = narrow;
    if (!std::isfinite(value)) {
      ++histogram.not_finite;
      continue;
    }
    histogram.min = first ? value : std::min(histogram.min, value);
    histogram.max = first ? value : std::max(histogram.max, value);
    first = false;
    histogram.sum += value;
    histogram.sum_squares += value * value;
    if (value < edges.front() || value > edges.back()) continue;
    const auto above = std::upper_bound(edges.begin(), edges.end(), value);
    const auto bucket = std::min<ptrdiff_t>(above - edges.begin() - 1, static_cast<ptrdiff_t>(counts.size()) - 1);
    counts[static_cast<size_t>(bucket)] += 1;
  }
  size_t start = 0, end = counts.size();
  while (start < end && counts[start] == 0) ++start;
  while (end > start && counts[end - 1] == 0) --end;
  if (start == end) {
    histogram.bucket_limits = {histogram.max};
    histogram.bucket_counts = {0};
    return histogram;
  }
  histogram.bucket_limits.push_back(edges[start]);
  histogram.bucket_counts.push_back(0);
  for (size_t bucket = start; bucket < end; ++bucket) {
    histogram.bucket_limits.push_back(edges[bucket + 1]);
    histogram.bucket_counts.push_back(counts[bucket]);
  }
  return histogram;
}

bool close_to(double left, double right, double scale) {
  return left == right || std::fabs(left - right) <= 1e-12 * scale;
}

template <typename Value>
void compare(const std::vector<Value>& values) {
  const Histogram expected = reference(values);
  const Histogram actual = make_histogram(std::span<const Value>(values));
  CHECK(actual.bucket_limits == expected.bucket_limits);
  CHECK(actual.bucket_counts == expected.bucket_counts);
  CHECK_EQ(actual.min, expected.min);
  CHECK_EQ(actual.max, expected.max);
  CHECK_EQ(actual.num, expected.num);
  CHECK_EQ(actual.not_finite, expected.not_finite);
  double magnitude = 0;
  for (const Value value : values) magnitude += std::isfinite(value) ? std::fabs(static_cast<double>(value)) : 0;
  // Sums are taken in another order.
  CHECK(close_to(actual.sum, expected.sum, magnitude));
  CHECK(close_to(actual.sum_squares, expected.sum_squares, expected.sum_squares));
}

// Each value alone, so that no other can hide a wrong bucket.
template <typename Value>
void compare_each(const std::vector<Value>& values) {
  for (const Value value : values) compare(std::vector<Value>{value});
}

template <typename Value>
std::vector<Value> neighbours(double value) {
  const auto narrow = static_cast<Value>(value);
  const Value infinite = std::numeric_limits<Value>::infinity();
  return {std::nextafter(narrow, -infinite), narrow, std::nextafter(narrow, infinite)};
}

template <typename Value>
std::vector<Value> special_values() {
  using Limits = std::numeric_limits<Value>;
  std::vector<Value> values;
  for (const double magnitude : {0.0, 1e-12, 1e-13, 1.1e-12, 1.0, 9e19, 9.9e19, 1e20, 1.1e20, 1e25, 1e30}) {
    for (const double sign : {1.0, -1.0}) {
      for (const Value near : neighbours<Value>(sign * magnitude)) values.push_back(near);
    }
  }
  for (const Value value : {Limits::denorm_min(), Limits::min(), Limits::max(), Limits::epsilon(), Limits::infinity(),
                            Limits::quiet_NaN()}) {
    values.push_back(value);
    values.push_back(-value);
  }
  return values;
}

TEST(edges_are_tensorflows) {
  const auto edges = default_histogram_edges();
  const auto expected = reference_edges();
  CHECK(std::equal(edges.begin(), edges.end(), expected.begin(), expected.end()));
  CHECK_EQ(edges.size(), 1549u);  // 774 on each side and 0
  CHECK(std::is_sorted(edges.begin(), edges.end()));
}

TEST(every_edge_and_its_neighbours) {
  for (const double edge : reference_edges()) {
    compare_each(neighbours<double>(edge));
    compare_each(neighbours<float>(edge));
  }
}

TEST(special_values_alone_and_together) {
  compare_each(special_values<double>());
  compare_each(special_values<float>());
  compare(special_values<float>());
  std::vector<double> wide = special_values<double>();
  std::erase_if(wide, [](double value) { return std::fabs(value) > 1e150; });  // their squares would be infinite
  compare(wide);
}

TEST(nothing_at_all) {
  compare(std::vector<double>{});
  compare(std::vector<float>{});
  compare(std::vector<double>{kNan, kInfinity, -kInfinity});
  const Histogram empty = make_histogram(std::span<const double>());
  CHECK_EQ(empty.bucket_limits.size(), 1u);
  CHECK_EQ(empty.bucket_counts.size(), 1u);
}

TEST(only_values_outside_of_all_buckets) {
  compare(std::vector<double>{1e21, 2e21});
  compare(std::vector<double>{-1e21, kNan});
  compare(std::vector<double>{-1e21, 1e21});
}

template <typename Value>
void compare_random(uint32_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> exponent(-15, 21);
  for (size_t size = 1; size < 70; ++size) {  // each remainder of every lane count
    std::vector<Value> values;
    for (size_t i = 0; i < size; ++i) values.push_back(static_cast<Value>(normal(random)));
    compare(values);
  }
  std::vector<Value> values;
  const auto specials = special_values<float>();
  for (int i = 0; i < 20000; ++i) {
    switch (random() % 4) {
      case 0:
        values.push_back(static_cast<Value>(normal(random)));
        break;
      case 1:
      case 2:
        values.push_back(static_cast<Value>((random() % 2 == 0 ? 1 : -1) * std::pow(10, exponent(random))));
        break;
      default:
        values.push_back(static_cast<Value>(specials[random() % specials.size()]));
    }
  }
  compare(values);
  for (size_t start = 1; start < 9; ++start) compare(std::vector<Value>(values.begin() + start, values.begin() + 99));
}

TEST(random_floats) { compare_random<float>(1); }

TEST(random_doubles) { compare_random<double>(2); }

TEST(encoded_summary) {
  std::string summary;
  const std::vector<float> numbers{1, 2, 2};
  const Histogram histogram = make_histogram(std::span<const float>(numbers));
  encode_histogram_summary(summary, "weights", histogram);
  std::vector<std::string_view> values;
  REQUIRE(decode_summary(summary, values) && values.size() == 1);
  ValueView value;
  REQUIRE(decode_value(values[0], value));
  CHECK_EQ(value.tag, "weights");
  CHECK_EQ(value.kind, ValueKind::histogram);
  wire::Decoder decoder(value.payload);
  std::vector<double> statistics;
  std::vector<size_t> sizes;
  for (wire::Field field; decoder.next(field);) {
    if (field.number <= 5) statistics.push_back(field.as_float64());
    if (field.number >= 6) sizes.push_back(field.bytes.size() / sizeof(double));
  }
  CHECK(decoder.ok());
  CHECK(statistics == (std::vector<double>{1, 2, 3, 5, 9}));
  CHECK(sizes == (std::vector<size_t>{histogram.bucket_limits.size(), histogram.bucket_counts.size()}));
}

}  // namespace
}  // namespace aboard
