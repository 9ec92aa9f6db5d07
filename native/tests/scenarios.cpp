// SPDX-License-Identifier: Apache-2.0
#include "scenarios.hpp"

#include <algorithm>
#include <vector>

#include "check.hpp"
#include "reader_support.hpp"

namespace aboard::testing {

Files random_files(std::mt19937_64& random) {
  const auto below = [&](uint64_t end) { return static_cast<int64_t>(random() % end); };
  Files files;
  double clock = 100;
  const auto tick = [&] { return clock += 0.001 + static_cast<double>(random() % 1000) / 997.0; };
  int number = 0;
  for (int64_t attempt = 1 + below(3); attempt > 0; --attempt) {
    struct Writer {
      std::string bytes;
      int64_t step;
    };
    std::vector<Writer> writers(static_cast<size_t>(1 + below(3)));
    const int64_t start = below(8);
    for (auto& writer : writers) {
      writer.step = start + below(3);
      if (below(8) > 0) writer.bytes += version_record(tick());
      if (below(4) == 0) writer.bytes += start_record(writer.step, tick());
    }
    for (int64_t events = 2 + below(25); events > 0; --events) {
      auto& writer = writers[static_cast<size_t>(below(writers.size()))];
      if (below(20) == 0) writer.bytes += start_record(writer.step = below(10), tick());
      if (below(15) == 0) writer.step = below(10);
      const std::string tag(1, static_cast<char>('a' + below(3)));
      writer.bytes += scalar_record(tag, writer.step, tick(), static_cast<float>(below(1000)));
      if (below(2) == 0) ++writer.step;
    }
    for (auto& writer : writers) {
      files[std::to_string(below(10)) + "-" + std::to_string(number++)] = writer.bytes;
    }
  }
  return files;
}

bool same_as_reference(const Logdir& logdir, const Files& files) {
  bool good = true;
  const auto expected = reference(files);
  size_t present = 0;
  for (const TagInfo& tag : logdir.tags()) present += tag.present ? 1 : 0;
  good = CHECK_EQ(present, expected.size()) && good;
  for (const auto& [name, tag] : expected) {
    if (!CHECK(has_tag(logdir, name))) return false;
    good = CHECK_EQ(shown(logdir, name), tag.shown) && good;
    Points aside = superseded(logdir, name), aside_expected = tag.superseded;
    std::sort(aside.begin(), aside.end());
    std::sort(aside_expected.begin(), aside_expected.end());
    good = CHECK_EQ(aside, aside_expected) && good;
    std::map<int64_t, Point> newest;
    for (const Point& point : tag.shown) newest[point.step] = point;
    Points sorted;
    for (const auto& [step, point] : newest) sorted.push_back(point);
    good = CHECK_EQ(unique(logdir, name), sorted) && good;
  }
  return good;
}

}  // namespace aboard::testing
