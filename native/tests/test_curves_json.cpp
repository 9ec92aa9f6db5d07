// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "curves_json.hpp"
#include "reader_support.hpp"

namespace aboard::testing {
namespace {

struct Drawn {
  std::vector<std::string> keys;
  std::vector<Columns> columns;
  std::vector<Curve> curves;

  // As many curves as there are sizes.
  explicit Drawn(const std::vector<size_t>& sizes) {
    for (size_t i = 0; i < sizes.size(); ++i) {
      keys.push_back("\"run" + std::to_string(i) + "\"");
      Columns& of_run = columns.emplace_back();
      for (size_t step = 0; step < sizes[i]; ++step) {
        of_run.append({static_cast<int64_t>(step), 1.7e9 + static_cast<double>(step), 0.25 * static_cast<double>(i)});
      }
    }
    for (size_t i = 0; i < sizes.size(); ++i) curves.push_back({keys[i], columns[i].view()});
  }
};

std::string one_by_one(const Drawn& drawn, size_t budget, PointsForm form) {
  std::string text;
  for (const Curve& curve : drawn.curves) {
    if (!text.empty()) text += ",";
    text += std::string(curve.key) + ":";
    append_points_json(text, curve.points, budget, form);
  }
  return text;
}

void check(const std::vector<size_t>& sizes, size_t budget) {
  const Drawn drawn(sizes);
  for (const PointsForm form : {PointsForm::objects, PointsForm::triples}) {
    std::string text = "before";
    append_curves_json(text, drawn.curves, budget, form);
    CHECK(text == "before" + one_by_one(drawn, budget, form));
  }
}

TEST(few_curves) {
  check({}, 10);
  check({1}, 10);
  check({3, 0, 2}, 10);
  check({100, 100}, 10);
}

TEST(many_points_on_many_threads) {
  check(std::vector<size_t>(200, 500), 10'000);
  check({100'000}, 1'000'000);
  check({100'000, 1, 1, 1}, 1'000'000);
  check({1, 1, 1, 100'000}, 1'000'000);
  check({30'000, 50'000, 10, 60'000, 7}, 20'000);
}

}  // namespace
}  // namespace aboard::testing
