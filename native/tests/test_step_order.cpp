// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "check.hpp"
#include "step_order.hpp"

namespace aboard {
namespace {

TEST(steps_that_go_back_are_found_per_tag) {
  StepOrder order(10);
  uint64_t offset = 0;
  for (const int64_t step : {1, 2, 2, 5}) order.add("good", step, offset++);
  for (const int64_t step : {1, 5, 3, 4, 2, -7}) order.add("bad", step, offset++);
  for (const int64_t step : {9, 8}) order.add("other", step, offset++);
  CHECK_EQ(order.tags(), 3u);
  CHECK_EQ(order.fallen_tags(), 2u);
  CHECK_EQ(order.total_falls(), 4u);
  REQUIRE(order.falls().size() == 2);
  const StepFall& bad = order.falls()[0];
  CHECK_EQ(bad.tag, "bad");
  CHECK_EQ(bad.offset, 6u);
  CHECK_EQ(bad.from, 5);
  CHECK_EQ(bad.to, 3);
  CHECK_EQ(bad.count, 3u);
  CHECK_EQ(order.falls()[1].tag, "other");
  CHECK_EQ(order.falls()[1].count, 1u);
  CHECK(order.all_followed());
}

TEST(a_tag_with_two_kinds_of_data_is_reported_once) {
  StepOrder order(2);
  order.add("both", 0, 0, ValueKind::simple_value);
  order.add("both", 1, 1, ValueKind::nothing);
  order.add("both", 2, 2, ValueKind::image);
  order.add("both", 3, 3, ValueKind::image);
  order.add("late", 0, 4, ValueKind::nothing);
  order.add("late", 1, 5, ValueKind::audio);
  CHECK_EQ(order.clashing_tags(), 1u);
  REQUIRE(order.clashes().size() == 1);
  CHECK_EQ(order.clashes()[0].tag, "both");
  CHECK_EQ(order.clashes()[0].offset, 2u);
  CHECK(order.clashes()[0].first == ValueKind::simple_value);
  CHECK(order.clashes()[0].second == ValueKind::image);
  for (const char* tag : {"late", "c", "d"}) {
    order.add(tag, 5, 6, ValueKind::audio);
    order.add(tag, 6, 7, ValueKind::histogram);
  }
  CHECK_EQ(order.clashing_tags(), 4u);
  CHECK_EQ(order.clashes().size(), 2u);
}

TEST(steps_may_go_back_when_a_session_starts_again) {
  StepOrder order(10);
  order.add("a", 10, 0);
  order.add("b", 10, 1);
  order.restart();
  order.add("a", 4, 2);
  order.add("a", 3, 3);
  order.add("b", 4, 4);
  CHECK_EQ(order.total_falls(), 1u);
  CHECK_EQ(order.falls().at(0).offset, 3u);
}

TEST(of_many_tags_the_first_are_listed_and_all_are_counted) {
  StepOrder order(3);
  for (int round = 0; round < 2; ++round) {
    for (int tag = 0; tag < 10; ++tag) {
      order.add(std::to_string(tag), 5, 0);
      order.add(std::to_string(tag), 1, 0);
    }
  }
  CHECK_EQ(order.fallen_tags(), 10u);
  CHECK_EQ(order.total_falls(), 20u);
  CHECK_EQ(order.falls().size(), 3u);
  for (const StepFall& fall : order.falls()) CHECK_EQ(fall.count, 2u);
}

TEST(no_more_tags_are_followed_than_memory_is_given_to) {
  StepOrder order(3);
  for (size_t tag = 0; tag < StepOrder::kMostTags + 5; ++tag) order.add(std::to_string(tag), 1, 0);
  CHECK_EQ(order.tags(), StepOrder::kMostTags);
  CHECK(!order.all_followed());
  order.add("0", 0, 0);
  CHECK_EQ(order.total_falls(), 1u);
}

TEST(a_long_tag_is_cut_in_the_list) {
  StepOrder order(3);
  const std::string tag(100'000, 'x');
  order.add(tag, 1, 0);
  order.add(tag, 0, 1);
  CHECK_EQ(order.falls().at(0).tag.size(), StepOrder::kLongestTagKept);
}

}  // namespace
}  // namespace aboard
