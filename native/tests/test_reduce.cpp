// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "reader_support.hpp"
#include "reduce.hpp"

namespace aboard::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Columns columns_of(const std::vector<double>& values) {
  Columns columns;
  for (size_t i = 0; i < values.size(); ++i) {
    columns.append({static_cast<int64_t>(i), static_cast<double>(i), values[i]});
  }
  return columns;
}

TEST(few_points_all_stay) {
  const Columns columns = columns_of({3, 1, 2});
  CHECK_EQ(reduce(columns.view(), 3), (std::vector<size_t>{0, 1, 2}));
  CHECK_EQ(reduce(columns.view(), 1000), (std::vector<size_t>{0, 1, 2}));
  CHECK_EQ(reduce(ColumnView{}, 10).size(), 0u);
  CHECK_EQ(reduce(ColumnView{}, 0).size(), 0u);
}

TEST(a_budget_too_small_for_a_bucket_keeps_the_last_and_others_at_even_distances) {
  const Columns columns = columns_of({3, 1, 2, 9, 4, 5, 6});
  CHECK_EQ(reduce(columns.view(), 0).size(), 0u);
  CHECK_EQ(reduce(columns.view(), 1), (std::vector<size_t>{6}));
  CHECK_EQ(reduce(columns.view(), 2), (std::vector<size_t>{2, 6}));
  CHECK_EQ(reduce(columns.view(), 4), (std::vector<size_t>{0, 2, 4, 6}));
}

TEST(one_bucket_keeps_first_last_extremes_and_the_first_nan) {
  const Columns columns = columns_of({3, 4, -7, 5, kNan, 99, kNan, 4, 5});
  CHECK_EQ(reduce(columns.view(), 5), (std::vector<size_t>{0, 2, 4, 5, 8}));
}

TEST(infinities_are_extremes_and_all_nan_is_no_trouble) {
  const Columns columns = columns_of({1, kInfinity, 2, -kInfinity, 3, 4});
  CHECK_EQ(reduce(columns.view(), 5), (std::vector<size_t>{0, 1, 3, 5}));
  const std::vector<size_t> filled_up{0, 8, 24, 41, 49, 50, 58, 74, 91, 99};
  const Columns nothing = columns_of(std::vector<double>(100, kNan));
  CHECK_EQ(reduce(nothing.view(), 10), filled_up);
  const Columns flat = columns_of(std::vector<double>(100, 7.0));
  CHECK_EQ(reduce(flat.view(), 10), filled_up);
}

TEST(nearly_the_whole_budget_is_used) {
  std::vector<double> rising(12000);
  for (size_t i = 0; i < rising.size(); ++i) rising[i] = static_cast<double>(i);
  const auto kept = reduce(columns_of(rising).view(), 1000);
  CHECK(kept.size() > 900 && kept.size() <= 1000);
}

TEST(any_points_and_any_budget) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<double> values(random() % 3000);
    for (double& value : values) {
      const uint64_t kind = random() % 50;
      value = kind == 0 ? kNan : kind == 1 ? kInfinity : static_cast<double>(random() % 1000) - 500;
    }
    const Columns columns = columns_of(values);
    const size_t budget = random() % 300;
    const auto kept = reduce(columns.view(), budget);
    CHECK_EQ(kept, reduce(columns.view(), budget));
    CHECK(kept.size() <= budget || kept.size() == values.size());
    CHECK(std::is_sorted(kept.begin(), kept.end()));
    CHECK(std::set<size_t>(kept.begin(), kept.end()).size() == kept.size());
    if (values.empty() || budget == 0) continue;
    CHECK(!kept.empty() && kept.back() == values.size() - 1);
    if (budget < 5) continue;
    CHECK_EQ(kept.front(), 0u);
    // The extremes of the whole are extremes of their buckets; a NaN anywhere leaves one.
    double low = kInfinity, high = -kInfinity, kept_low = kInfinity, kept_high = -kInfinity;
    bool nan = false, kept_nan = false;
    for (size_t i = 0; i < values.size(); ++i) {
      low = std::fmin(low, values[i]);
      high = std::fmax(high, values[i]);
      nan = nan || std::isnan(values[i]);
    }
    for (const size_t i : kept) {
      kept_low = std::fmin(kept_low, values[i]);
      kept_high = std::fmax(kept_high, values[i]);
      kept_nan = kept_nan || std::isnan(values[i]);
    }
    CHECK_EQ(low, kept_low);
    CHECK_EQ(high, kept_high);
    CHECK_EQ(nan, kept_nan);
  }
}

TEST(what_is_kept_stands_for_all_since_the_one_before) {
  const std::vector<double> values{1, 3, 5, kNan, 10, kInfinity, 20, kNan, 1e308, 1.5e308};
  const auto parts = part_means(values, std::vector<size_t>{0, 2, 3, 6, 7, 9});
  CHECK_EQ(parts.counts, (std::vector<double>{1, 2, 0, 2, 0, 2}));
  CHECK_EQ(parts.means[0], 1.0);
  CHECK_EQ(parts.means[1], 4.0);
  CHECK(std::isnan(parts.means[2]) && std::isnan(parts.means[4]));
  CHECK_EQ(parts.means[3], 15.0);
  CHECK_EQ(parts.means[5], 1.25e308);
}

TEST(rare_peaks_that_are_kept_do_not_lift_the_mean) {
  std::vector<double> values(1'000'000, 0.1);
  for (size_t i = 0; i < values.size(); i += 1000) values[i] = 10;
  const Columns columns = columns_of(values);
  const auto kept = reduce(columns.view(), 4000);
  const auto parts = part_means(columns.view().values(), kept);
  CHECK_EQ(parts.means.size(), kept.size());
  double sum = 0, count = 0;
  for (size_t i = 0; i < kept.size(); ++i) {
    sum += parts.means[i] * parts.counts[i];
    count += parts.counts[i];
  }
  CHECK_EQ(count, 1e6);
  CHECK(std::abs(sum / count - 0.1099) < 1e-9);
}

TEST(a_window_has_one_point_more_on_either_side) {
  Columns columns;
  for (const int64_t step : {10, 20, 30, 40, 50}) columns.append({step, 0, 0});
  const auto steps_in = [&](int64_t first, int64_t last) { return steps_of(window(columns.view(), first, last)); };
  using Steps = std::vector<int64_t>;
  CHECK_EQ(steps_in(20, 40), (Steps{10, 20, 30, 40, 50}));
  CHECK_EQ(steps_in(30, 30), (Steps{20, 30, 40}));
  CHECK_EQ(steps_in(21, 29), (Steps{20, 30}));
  CHECK_EQ(steps_in(0, 5), (Steps{10}));
  CHECK_EQ(steps_in(60, 70), (Steps{50}));
  CHECK_EQ(steps_in(INT64_MIN, INT64_MAX), (Steps{10, 20, 30, 40, 50}));
  CHECK_EQ(steps_in(45, 15), (Steps{}));
  CHECK_EQ(window(ColumnView{}, 0, 1).size, 0u);
  // A window of a window.
  CHECK_EQ(steps_of(window(window(columns.view(), 21, 29), 30, 30)), (Steps{20, 30}));
}

}  // namespace
}  // namespace aboard::testing
