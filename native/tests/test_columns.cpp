// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <mutex>
#include <random>
#include <thread>

#include "columns.hpp"
#include "reader_support.hpp"

namespace aboard::testing {
namespace {

ScalarPoint point(int64_t number) {
  return {number, static_cast<double>(number) + 0.25, static_cast<double>(number) + 0.5};
}

Points points_to(int64_t end) {
  Points points;
  for (int64_t i = 0; i < end; ++i) points.push_back({point(i).step, point(i).wall_time, point(i).value});
  return points;
}

Columns columns_to(int64_t end) {
  Columns columns;
  for (int64_t i = 0; i < end; ++i) columns.append(point(i));
  return columns;
}

TEST(empty_columns_have_empty_views) {
  Columns columns;
  CHECK(columns.empty() && columns.full());
  CHECK_EQ(columns.view().steps().size(), 0u);
  CHECK(columns.view().values().data() == nullptr);
  columns.truncate(0);
  columns.settle();
  columns.append(columns, 0, 0);
  CHECK_EQ(columns.size(), 0u);
}

TEST(what_is_appended_is_there) {
  const Columns columns = columns_to(1000);
  CHECK_EQ(columns.size(), 1000u);
  CHECK_EQ(points_of(columns.view()), points_to(1000));
  CHECK_EQ(columns.step(7), 7);
  CHECK_EQ(columns.wall_time(7), 7.25);
  CHECK_EQ(columns.value(7), 7.5);
  CHECK_EQ(points_of(columns.view(10)), points_to(10));
}

TEST(a_range_is_appended) {
  const Columns other = columns_to(100);
  Columns columns = columns_to(3);
  columns.append(other, 3, 90);
  CHECK_EQ(points_of(columns.view()), points_to(90));
  Columns moved = std::move(columns);
  CHECK_EQ(moved.size(), 90u);
  CHECK(columns.empty());  // NOLINT: what is left can be used again
  columns.append(point(0));
  CHECK_EQ(points_of(columns.view()), points_to(1));
}

TEST(a_copy_has_memory_of_its_own) {
  const Columns columns = columns_to(100);
  Columns copy = columns.copy(40, 60);
  CHECK_EQ(copy.capacity(), 60u);
  CHECK(copy.is_exclusive());
  copy.append(point(7));
  CHECK_EQ(points_of(columns.view()), points_to(100));
  CHECK(!columns.is_exclusive());
  CHECK_EQ(copy.size(), 41u);
}

TEST(a_view_of_no_points_holds_nothing) {
  const Columns columns = columns_to(10);
  CHECK(columns.view(0).block == nullptr);
  CHECK(columns.is_exclusive());
}

TEST(views_outlive_the_columns) {
  ColumnView view;
  {
    Columns columns = columns_to(50);
    view = columns.view();
  }
  CHECK_EQ(points_of(view), points_to(50));
}

TEST(columns_that_came_to_rest_keep_no_slack) {
  Columns columns = columns_to(100'000);
  columns.settle();
  CHECK(columns.full());
  const ColumnView view = columns.view();
  columns.append(point(100'000));
  columns.settle();
  CHECK_EQ(points_of(columns.view()), points_to(100'001));
  CHECK_EQ(points_of(view), points_to(100'000));
  CHECK_EQ(columns.view().block->capacity(), 100'001u);
}

// Everything that may happen to columns, while views are held.
TEST(views_never_change) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    std::mt19937_64 random(seed);
    Columns columns;
    Points expected;
    std::vector<std::pair<ColumnView, Points>> held;
    int64_t next = 0;
    for (int i = 0; i < 400; ++i) {
      switch (random() % 8) {
        case 0: {
          const size_t size = expected.empty() ? 0 : random() % (expected.size() + 1);
          columns.truncate(size);
          if (size < expected.size()) expected.resize(size);
          break;
        }
        case 1:
          columns.settle();
          break;
        case 2:
          held.emplace_back(columns.view(), expected);
          break;
        case 3: {
          const Columns other = columns_to(20);
          columns.append(other, 5, 15);
          const Points all = points_to(20);
          expected.insert(expected.end(), all.begin() + 5, all.begin() + 15);
          break;
        }
        default:
          for (uint64_t more = random() % 30; more > 0; --more) {
            const ScalarPoint made = point(1000 + next++);
            columns.append(made);
            expected.push_back({made.step, made.wall_time, made.value});
          }
      }
    }
    CHECK_EQ(points_of(columns.view()), expected);
    for (const auto& [view, points] : held) CHECK_EQ(points_of(view), points);
  }
}

TEST(one_thread_pushes_while_others_look) {
  Columns columns;
  std::mutex mutex;
  size_t published = 0;
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      while (!done) {
        ColumnView view;
        {
          const std::lock_guard lock(mutex);
          view = columns.view(published);
        }
        for (size_t at = 0; at < view.size; ++at) {
          if (view.values()[at] != static_cast<double>(view.steps()[at]) + 0.5) check::fail(__FILE__, __LINE__, "torn");
        }
      }
    });
  }
  const int rounds = repeats(30);
  for (int round = 0; round < rounds; ++round) {
    for (int64_t i = 0; i < 500; ++i) {
      if (columns.full()) columns.grow(0, mutex);
      columns.push(point(round * 1000 + i));
    }
    {
      const std::lock_guard lock(mutex);
      published = columns.size();
      if (round % 7 == 6) columns.truncate(published = published / 2);
    }
    if (round % 11 == 10) columns.settle(mutex);
  }
  done = true;
  for (auto& reader : readers) reader.join();
  CHECK(columns.size() > 0);
}

}  // namespace
}  // namespace aboard::testing
