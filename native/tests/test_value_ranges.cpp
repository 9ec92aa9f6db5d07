// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <thread>

#include "reader_support.hpp"
#include "reduce.hpp"
#include "value_ranges.hpp"

namespace aboard::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr size_t kNone = static_cast<size_t>(-1);

// What reduce.hpp promises, said once more in the plainest way.
std::vector<size_t> reduced_plainly(std::span<const double> values, size_t budget) {
  const auto edge = [](size_t size, size_t parts, size_t i) { return size / parts * i + size % parts * i / parts; };
  const size_t buckets = budget / 5;
  std::vector<size_t> kept;
  for (size_t bucket = 0; bucket < buckets; ++bucket) {
    const size_t begin = edge(values.size(), buckets, bucket), end = edge(values.size(), buckets, bucket + 1);
    size_t smallest = kNone, largest = kNone, missing = kNone;
    for (size_t at = begin; at < end; ++at) {
      if (std::isnan(values[at])) {
        missing = std::min(missing, at);
        continue;
      }
      if (smallest == kNone || values[at] < values[smallest]) smallest = at;
      if (largest == kNone || values[at] > values[largest]) largest = at;
    }
    for (const size_t place : {begin, smallest, largest, missing, end - 1}) {
      if (place != kNone) kept.push_back(place);
    }
  }
  const auto sort_once = [&] {
    std::sort(kept.begin(), kept.end());
    kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  };
  sort_once();
  const size_t more = budget - kept.size();
  for (size_t i = 0; i < more; ++i) {
    kept.push_back((edge(values.size(), more, i) + edge(values.size(), more, i + 1)) / 2);
  }
  sort_once();
  return kept;
}

double any_value(std::mt19937_64& random, int kind) {
  const uint64_t choice = random() % 1000;
  if (kind == 0) return static_cast<double>(random() % 2001) - 1000;
  if (kind == 1) return kNan;
  if (kind == 2) return choice < 500 ? 0.0 : -0.0;
  if (kind == 3) return choice < 300 ? kNan : choice < 600 ? kInfinity : -kInfinity;
  if (kind == 4) return choice == 0 ? 7 : kNan;
  if (kind == 5) return kInfinity;
  return choice == 0 ? kNan : choice == 1 ? kInfinity : std::ldexp(static_cast<double>(random()), -70);
}

// A different kind of values every few hundred points.
void append_any(Columns& columns, size_t count, std::mt19937_64& random) {
  for (int kind = 0; count > 0; --count) {
    if (columns.size() % 300 == 0) kind = static_cast<int>(random() % 7);
    columns.append({static_cast<int64_t>(columns.size()), 0, any_value(random, kind)});
  }
}

void check_reduction(const ColumnView& points, size_t budget) {
  if (budget < 5 || points.size <= budget) return;
  CHECK_EQ(reduce(points, budget), reduced_plainly(points.values(), budget));
}

TEST(the_range_of_any_values) {
  const auto check = [](const std::vector<double>& values, double low, double high, bool has_nan) {
    for (size_t before = 0; before < 9; ++before) {  // wherever they lie among others of a kind
      std::vector<double> all(before, values.empty() ? 0 : values[0]);
      all.insert(all.end(), values.begin(), values.end());
      const ValueRange range = range_of(values.empty() ? values : all);
      CHECK(range.low == low || (std::isnan(range.low) && std::isnan(low)));
      CHECK(range.high == high || (std::isnan(range.high) && std::isnan(high)));
      CHECK_EQ(range.has_nan, has_nan);
    }
  };
  check({}, kNan, kNan, false);
  check({kNan}, kNan, kNan, true);
  check({kNan, 3, kNan}, 3, 3, true);
  check({kInfinity}, kInfinity, kInfinity, false);
  check({-kInfinity, kNan}, -kInfinity, -kInfinity, true);
  check({kInfinity, -kInfinity}, -kInfinity, kInfinity, false);
  check({5, 4, 3, 2, 1, 6, 7, 8, 9}, 1, 9, false);
  check({5, 4, 3, 2, 1, kNan, 7, 8, 9, 9, 9}, 1, 9, true);
}

TEST(reductions_of_long_columns_are_the_plain_ones) {
  std::mt19937_64 random(17);
  for (int round = 0; round < 12; ++round) {
    Columns columns;
    append_any(columns, 5'000 + random() % 60'000, random);
    const ColumnView all = columns.view();
    for (size_t i = 0; i < 12; ++i) {
      const auto first = static_cast<int64_t>(random() % all.size);
      const auto last = first + static_cast<int64_t>(random() % all.size);
      check_reduction(all, 5 + random() % 60);
      check_reduction(window(all, first, last), 5 + random() % 60);
    }
  }
}

TEST(what_comes_later_and_what_is_taken_away_is_seen) {
  std::mt19937_64 random(18);
  Columns columns;
  append_any(columns, 10'000, random);
  for (int round = 0; round < 60; ++round) {
    const ColumnView before = columns.view();
    check_reduction(before, 10);
    if (random() % 4 == 0) {
      columns.truncate(columns.size() - random() % 3'000);  // an attempt begins anew at an earlier step
    }
    append_any(columns, random() % 3'000, random);
    check_reduction(columns.view(), 10);
    check_reduction(before, 15);  // stays what it was
  }
}

TEST(many_columns_come_and_go) {
  std::mt19937_64 random(19);
  for (int round = 0; round < 100; ++round) {
    Columns columns;
    append_any(columns, 3'000, random);
    check_reduction(columns.view(), 10);
  }
}

TEST(readers_on_many_threads_while_a_column_grows) {
  constexpr size_t kPoints = 60'000;
  std::mt19937_64 random(20);
  Columns columns;
  append_any(columns, 8'000, random);
  std::mutex mutex;  // as a logdir has one for whoever takes a view, or makes room
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 3; ++reader) {
    readers.emplace_back([&] {
      do {
        std::unique_lock lock(mutex);
        const ColumnView points = columns.view();
        lock.unlock();
        check_reduction(points, 20);
      } while (!done);
    });
  }
  while (columns.size() < kPoints) {
    const std::lock_guard lock(mutex);
    append_any(columns, 500, random);
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
}

}  // namespace
}  // namespace aboard::testing
