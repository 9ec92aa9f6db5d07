// SPDX-License-Identifier: Apache-2.0
// Histograms in TensorFlow's default buckets: edges at ±1e-12 · 1.1^k below 1e20, and 0.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace aboard {

struct Histogram {
  double min = 0, max = 0, num = 0, sum = 0, sum_squares = 0;
  std::vector<double> bucket_limits;  // right edges
  std::vector<double> bucket_counts;
  uint64_t not_finite = 0;  // NaN and infinities: in `num`, in no bucket and in no other statistic
};

// The bucket edges, ascending.
std::span<const double> default_histogram_edges();

// Counts values as numpy.histogram does with `default_histogram_edges`: [a, b) but for the last bucket, which is
// closed. Empty buckets at both ends are cut off, but for one on the left whose limit is the left edge of the first
// filled one.
Histogram make_histogram(std::span<const float> values);
Histogram make_histogram(std::span<const double> values);

// Appends the bytes of a Summary with one value, a HistogramProto.
void encode_histogram_summary(std::string& out, std::string_view tag, const Histogram& histogram);

}  // namespace aboard
