// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "reader_support.hpp"
#include "scalar_summary.hpp"

namespace aboard::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

ScalarSummary summary_of(const std::vector<double>& values) {
  Columns columns;
  for (size_t i = 0; i < values.size(); ++i) {
    columns.append({static_cast<int64_t>(10 * i), 100 + static_cast<double>(i), values[i]});
  }
  return summarize(columns.view(), columns.size());
}

Point plain(const ScalarPoint& point) { return {point.step, point.wall_time, point.value}; }

TEST(of_equal_values_the_earlier_point_is_the_extreme) {
  const ScalarSummary summary = summary_of({3, 1, 5, 1, 5, 2});
  CHECK_EQ(summary.count, 6u);
  CHECK_EQ(plain(summary.first), (Point{0, 100, 3}));
  CHECK_EQ(plain(summary.last), (Point{50, 105, 2}));
  CHECK_EQ(plain(*summary.smallest), (Point{10, 101, 1}));
  CHECK_EQ(plain(*summary.largest), (Point{20, 102, 5}));
}

TEST(nan_is_never_an_extreme_and_infinity_is) {
  const ScalarSummary summary = summary_of({kNan, 2, kInfinity, -kInfinity, kNan});
  CHECK(std::isnan(summary.first.value));
  CHECK(std::isnan(summary.last.value));
  CHECK_EQ(plain(*summary.smallest), (Point{30, 103, -kInfinity}));
  CHECK_EQ(plain(*summary.largest), (Point{20, 102, kInfinity}));
  const ScalarSummary only_nan = summary_of({kNan, kNan});
  CHECK(!only_nan.smallest && !only_nan.largest);
  CHECK_EQ(only_nan.last.step, 10);
}

TEST(a_logdir_summarizes_the_newest_point_of_each_step_and_counts_all) {
  Folder folder;
  append_to(folder.path() / "events.out.tfevents.1.a",
            version_record(1) + scalar_record("loss", 1, 2, 9.0F) + scalar_record("loss", 1, 3, 4.0F) +
                scalar_record("loss", 2, 4, 6.0F) + scalar_record("once", 7, 5, 1.0F));
  Logdir logdir(ReadPath(folder.path().string()));
  logdir.refresh(names_in(folder.path()));
  const auto summaries = logdir.scalar_summaries();
  CHECK_EQ(summaries.size(), 2u);
  CHECK_EQ(summaries[0].tag, "loss");
  CHECK_EQ(summaries[0].summary.count, 3u);
  CHECK_EQ(plain(*summaries[0].summary.largest), (Point{2, 4, 6}));
  CHECK_EQ(plain(summaries[0].summary.first), (Point{1, 3, 4}));
  CHECK_EQ(summaries[1].tag, "once");
  CHECK_EQ(plain(summaries[1].summary.last), (Point{7, 5, 1}));
}

}  // namespace
}  // namespace aboard::testing
