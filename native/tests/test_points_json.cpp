// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include "points_json.hpp"
#include "reader_support.hpp"

namespace aboard::testing {
namespace {

std::string json(const Columns& columns, PointsForm form) { return points_json(columns.view(), form); }

TEST(both_forms) {
  Columns columns;
  CHECK_EQ(json(columns, PointsForm::triples), std::string("[]"));
  CHECK_EQ(json(columns, PointsForm::objects), std::string("[]"));
  columns.append({1, 100.5, 0.25});
  columns.append({-2, 101, -0.0});
  CHECK_EQ(json(columns, PointsForm::triples), std::string("[[100.5,1,0.25],[101,-2,-0]]"));
  CHECK_EQ(json(columns, PointsForm::objects),
           std::string("[{\"wallTime\":100.5,\"step\":1,\"value\":0.25},{\"wallTime\":101,\"step\":-2,\"value\":-0}]"));
}

TEST(what_is_no_number_is_a_string) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Columns columns;
  columns.append({0, kInfinity, std::nan("")});
  columns.append({0, -kInfinity, -kInfinity});
  CHECK_EQ(json(columns, PointsForm::triples),
           std::string("[[\"Infinity\",0,\"NaN\"],[\"-Infinity\",0,\"-Infinity\"]]"));
}

TEST(the_longest_numbers_fit) {
  constexpr double kLowest = -2.2250738585072014e-308, kLargest = -1.7976931348623157e308;
  Columns columns;
  for (int i = 0; i < 3; ++i) columns.append({std::numeric_limits<int64_t>::min(), kLowest, kLargest});
  for (const PointsForm form : {PointsForm::triples, PointsForm::objects}) {
    const std::string text = json(columns, form);
    CHECK(text.size() <= longest_points_json(columns.size()));
    CHECK(text.find("-9223372036854775808") != std::string::npos);
    CHECK(text.find("-2.2250738585072014e-308") != std::string::npos);
    CHECK(text.find("-1.7976931348623157e+308") != std::string::npos);
  }
}

TEST(no_more_than_what_there_is_room_for) {
  Columns columns;
  for (int i = 0; i < 5'000; ++i) columns.append({i, i * 0.1, std::sin(i)});
  for (const size_t budget : {size_t{0}, size_t{1}, size_t{4}, size_t{500}, size_t{5'000}, SIZE_MAX}) {
    const ColumnView points = columns.view();
    std::string text(longest_points_json(std::min(points.size, budget)), ' ');
    text.resize(static_cast<size_t>(put_points_json(text.data(), points, budget, PointsForm::triples) - text.data()));
    CHECK(text.starts_with('[') && text.ends_with(']'));
    const auto count = static_cast<size_t>(std::count(text.begin() + 1, text.end(), '['));
    CHECK(count <= budget && (budget < 5'000 || count == 5'000));
    CHECK(budget == 0 || text.find(",4999,") != std::string::npos);  // the last step
  }
}

TEST(numbers_come_back_as_they_were) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 20'000; ++i) {
    const auto value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) continue;
    Columns columns;
    columns.append({static_cast<int64_t>(random()), 0, value});
    const std::string text = json(columns, PointsForm::triples);  // [[0,step,value]]
    const size_t comma = text.rfind(',');
    CHECK_EQ(std::strtod(text.c_str() + comma + 1, nullptr), value);
    CHECK_EQ(std::strtoll(text.c_str() + text.find(',') + 1, nullptr, 10), columns.step(0));
  }
}

}  // namespace
}  // namespace aboard::testing
