// SPDX-License-Identifier: Apache-2.0
// The rules of one series, case by case; test_logdir.cpp holds whole folders to them.
#include <mutex>
#include <random>

#include "history.hpp"
#include "media_rows.hpp"
#include "reader_support.hpp"

namespace aboard::testing {
namespace {

using Steps = std::vector<int64_t>;

ScalarPoint point(const Columns&, int64_t step, double wall_time) { return {step, wall_time, 0}; }
MediaEntry point(const MediaRows&, int64_t step, double wall_time) { return {step, wall_time, 1, 2, 3, 4}; }

template <typename Rows>
struct Series {
  History<Rows> history;
  std::mutex readers;
  double clock = 0;

  void add(uint32_t attempt, uint32_t file, const Steps& steps) {
    for (const int64_t step : steps) add_at(attempt, file, step, clock += 1);
  }
  void add_at(uint32_t attempt, uint32_t file, int64_t step, double wall_time) {
    history.open(attempt, file, step);
    if (history.full()) history.grow(0, readers);
    history.push(point(history.rows(), step, wall_time));
  }
  void publish() {
    history.publish(readers);
    if (history.must_merge()) history.merge(readers);
  }
  Steps shown() {
    publish();
    Steps steps;
    for (size_t i = 0; i < history.shown(); ++i) steps.push_back(history.rows().step(i));
    bool increasing = true;
    for (size_t i = 1; i < steps.size(); ++i) increasing = increasing && steps[i - 1] < steps[i];
    CHECK_EQ(history.strictly_increasing(), increasing);
    return steps;
  }
  Steps superseded() {
    Steps steps;
    for (size_t i = 0; i < history.superseded().size(); ++i) steps.push_back(history.superseded().step(i));
    std::sort(steps.begin(), steps.end());
    return steps;
  }
};

template <typename Rows>
void check_rules() {
  {
    Series<Rows> s;
    CHECK_EQ(s.shown(), Steps{});
    CHECK(s.history.restart(0, 0, 5));
    s.add(0, 0, {0, 1, 2, 3});
    CHECK_EQ(s.history.shown(), 0u);  // not before it is published
    CHECK_EQ(s.shown(), (Steps{0, 1, 2, 3}));
    CHECK_EQ(s.history.rewrites(), 0u);
    s.add(1, 1, {2, 3});
    CHECK_EQ(s.shown(), (Steps{0, 1, 2, 3}));
    CHECK_EQ(s.superseded(), (Steps{2, 3}));
    CHECK_EQ(s.history.rewrites(), 1u);
    s.add(2, 2, {9});
    s.add(3, 3, {1});
    CHECK_EQ(s.shown(), (Steps{0, 1}));
    CHECK_EQ(s.superseded(), (Steps{1, 2, 2, 3, 3, 9}));
    s.history.settle(s.readers);
    CHECK_EQ(s.shown(), (Steps{0, 1}));
  }
  {  // Only the first point of an attempt supersedes, however the points arrive.
    for (const bool publish : {false, true}) {
      Series<Rows> s;
      s.add(0, 0, {0, 1, 2, 3});
      s.add(1, 1, {3, 4});
      if (publish) s.publish();
      s.add(1, 1, {1});
      CHECK_EQ(s.shown(), (Steps{0, 1, 2, 3, 4, 1}));
      CHECK_EQ(s.superseded(), Steps{3});
    }
  }
  {  // The lowest of the first points of concurrent files.
    Series<Rows> s;
    s.add(0, 0, {0, 1, 2, 3, 4});
    s.add(1, 1, {3});
    s.add(1, 2, {2});
    s.add(1, 1, {4});
    CHECK_EQ(s.shown(), (Steps{0, 1, 2, 3, 4}));
    s.add(1, 3, {1, 5});
    CHECK_EQ(s.shown(), (Steps{0, 1, 2, 3, 4, 5}));
    CHECK_EQ(s.superseded(), (Steps{1, 2, 3, 4}));
    s.add(2, 4, {3});
    CHECK_EQ(s.shown(), (Steps{0, 1, 2, 3}));
  }
  {  // Merged by step and time; steps that go back are sorted once there are several files.
    Series<Rows> s;
    s.add_at(0, 0, 5, 1);
    s.add_at(0, 0, 3, 2);
    CHECK_EQ(s.shown(), (Steps{5, 3}));
    s.add_at(0, 1, 5, 0.5);
    s.add_at(0, 1, 4, std::numeric_limits<double>::quiet_NaN());
    CHECK_EQ(s.shown(), (Steps{3, 4, 5, 5}));
    CHECK_EQ(s.history.rows().wall_time(2), 0.5);
    s.add_at(0, 0, 1, 9);
    s.add_at(0, 0, 7, 9);
    CHECK_EQ(s.shown(), (Steps{1, 3, 4, 5, 5, 7}));
  }
  {  // A session that starts again supersedes its own file and earlier attempts, no concurrent file.
    Series<Rows> s;
    s.add(0, 0, {0, 1, 2, 3});
    CHECK(s.history.restart(0, 0, 2));
    CHECK_EQ(s.shown(), (Steps{0, 1}));
    CHECK(s.history.restart(0, 1, 0));  // of another file of the attempt
    CHECK_EQ(s.shown(), (Steps{0, 1}));
    CHECK(s.history.restart(1, 2, 1));  // of a later attempt, which has no points yet
    CHECK_EQ(s.shown(), (Steps{0}));
    s.add(1, 2, {1, 2});
    s.add(1, 3, {1, 2, 3});
    CHECK(s.history.restart(1, 3, 2));
    s.add(1, 3, {2});
    CHECK_EQ(s.shown(), (Steps{0, 1, 1, 2, 2}));
    CHECK_EQ(s.superseded(), (Steps{1, 2, 2, 3, 3}));
    // What has been merged cannot be told apart.
    CHECK(!s.history.restart(1, 3, 0));
  }
  {  // A session start in front of points that were never published.
    Series<Rows> s;
    s.add(0, 0, {4, 3, 2, 1});
    CHECK(s.history.restart(0, 0, 3));
    s.add(0, 0, {3, 9});
    CHECK(s.history.restart(0, 0, 9));
    s.add(0, 0, {9});
    CHECK_EQ(s.shown(), (Steps{2, 1, 3, 9}));
    CHECK_EQ(s.superseded(), (Steps{3, 4, 9}));
  }
}

// The table of native/README.md.
TEST(worked_examples) {
  {
    Series<Columns> s;
    s.add(0, 0, {0, 1, 2, 3});
    s.add(1, 1, {2, 3});
    CHECK_EQ(s.shown(), (Steps{0, 1, 2, 3}));
    CHECK_EQ(s.superseded(), (Steps{2, 3}));
  }
  {
    Series<Columns> s;
    s.add(0, 0, {0, 1, 2, 3, 4});
    s.add(1, 1, {3, 4});
    s.add(1, 2, {2, 5});
    CHECK_EQ(s.shown(), (Steps{0, 1, 2, 3, 4, 5}));
    CHECK_EQ(s.superseded(), (Steps{2, 3, 4}));
  }
  {
    Series<Columns> s;
    s.add(0, 0, {0, 1, 2, 3});
    CHECK(s.history.restart(0, 0, 2));
    s.add(0, 0, {2});
    CHECK_EQ(s.shown(), (Steps{0, 1, 2}));
    CHECK_EQ(s.superseded(), (Steps{2, 3}));
  }
  {
    Series<Columns> s;
    s.add(0, 0, {1, 2, 3});
    s.add(0, 1, {1, 2});
    CHECK(s.history.restart(0, 1, 2));
    s.add(0, 1, {2});
    CHECK_EQ(s.shown(), (Steps{1, 1, 2, 2, 3}));
    CHECK_EQ(s.superseded(), (Steps{2}));
  }
  {
    Series<Columns> s;
    s.add(0, 0, {5, 3});
    CHECK_EQ(s.shown(), (Steps{5, 3}));
    s.add(0, 1, {4});
    CHECK_EQ(s.shown(), (Steps{3, 4, 5}));
  }
}

TEST(rules_of_scalars) { check_rules<Columns>(); }
TEST(rules_of_media) { check_rules<MediaRows>(); }

TEST(media_rows_grow_and_settle) {
  MediaRows rows;
  for (int64_t i = 0; i < 1000; ++i) rows.append(point(rows, i, 1));
  rows.truncate(10);
  rows.settle();
  CHECK_EQ(rows.size(), 10u);
  CHECK(rows.full());
  rows.append(rows, 2, 5);
  CHECK_EQ(rows.row(12).step, 4);
  CHECK_EQ(rows.first(3)[2], point(rows, 2, 1));
}

// Long series are put together beside what readers see, short ends of them where they are: the outcome is the same.
template <typename Rows>
void check_long_series() {
  for (const bool seen : {false, true}) {
    for (const int64_t count : {10, 100, 5'000, 20'000}) {
      Series<Rows> s;
      for (int64_t step = 0; step < 20'000; ++step) s.add(0, 0, {step});
      s.publish();
      ColumnView held;
      if constexpr (std::is_same_v<Rows, Columns>) {
        if (seen) held = s.history.rows().view(s.history.shown());
      }
      // Two files at the same time, in the steps of which the last `count` of the first attempt are logged again.
      for (int64_t step = 20'000 - count; step < 20'000; step += 2) s.add(1, 1, {step});
      for (int64_t step = 20'001 - count; step < 20'000; step += 2) s.add(1, 2, {step});
      CHECK_EQ(s.shown(), range(20'000));
      CHECK_EQ(s.superseded().size(), static_cast<size_t>(count));
      CHECK_EQ(s.history.superseded_shown(), static_cast<size_t>(count));
      CHECK(s.history.strictly_increasing());
      for (size_t at = 0; at < held.size; ++at) CHECK(held.wall_times()[at] == static_cast<double>(at + 1));
      CHECK_EQ(held.size, (seen && std::is_same_v<Rows, Columns>) ? size_t{20'000} : size_t{0});
    }
  }
}

TEST(long_series_of_scalars) { check_long_series<Columns>(); }
TEST(long_series_of_media) { check_long_series<MediaRows>(); }

// Attempts one after the other over a long series cost what they take back, not the whole series.
TEST(many_attempts_over_a_long_series) {
  Series<Columns> s;
  const int64_t count = kSanitized ? 20'000 : 200'000;
  for (int64_t step = 0; step < count; ++step) s.add(0, 0, {step});
  s.publish();
  const int64_t* const place = s.history.rows().steps().data();
  for (uint32_t attempt = 1; attempt < 5000; ++attempt) {
    s.add(attempt, attempt, {count - 5, count - 4, count - 3});
    s.publish();
    REQUIRE(s.history.rows().steps().data() == place);  // it was not copied
  }
  CHECK_EQ(s.history.shown(), static_cast<size_t>(count - 2));
}

}  // namespace
}  // namespace aboard::testing
