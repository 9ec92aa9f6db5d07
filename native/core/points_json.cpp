// SPDX-License-Identifier: Apache-2.0
#include "points_json.hpp"

#include <array>
#include <cmath>
#include <ranges>

#include "number_text.hpp"
#include "reduce.hpp"

namespace aboard {
namespace {

constexpr std::ptrdiff_t kLongestPoint = 160;

char* put(char* at, std::string_view text) { return at + text.copy(at, text.size()); }

char* put_any(char* at, double value) {
  if (std::isfinite(value)) return put_number(at, value);
  if (std::isnan(value)) return put(at, "\"NaN\"");
  return put(at, value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
}

struct Objects {
  static constexpr std::string_view kBegin = "{\"wallTime\":", kStep = ",\"step\":", kValue = ",\"value\":", kEnd = "}";
};
struct Triples {
  static constexpr std::string_view kBegin = "[", kStep = ",", kValue = ",", kEnd = "]";
};

template <typename Form>
class PointsWriter {
 public:
  PointsWriter(std::string& out, const ColumnView& points)
      : out_(out), steps_(points.steps()), wall_times_(points.wall_times()), values_(points.values()) {}
  void add(size_t point) {
    if (text_.end() - at_ < kLongestPoint) hand_over();
    *at_ = separator_;
    separator_ = ',';
    char* at = put(at_ + 1, Form::kBegin);
    at = put_any(at, wall_times_[point]);
    at = put(at, Form::kStep);
    at = put_integer(at, steps_[point]);
    at = put(at, Form::kValue);
    at = put_any(at, values_[point]);
    at_ = put(at, Form::kEnd);
  }
  void finish() {
    if (separator_ == '[') *at_++ = '[';  // no point at all
    *at_++ = ']';
    hand_over();
  }

 private:
  void hand_over() {
    out_.append(text_.begin(), at_);
    at_ = text_.begin();
  }

  std::string& out_;
  const std::span<const int64_t> steps_;
  const std::span<const double> wall_times_, values_;
  std::array<char, 16 * 1024> text_;  // the text grows by much at a time
  char* at_ = text_.begin();
  char separator_ = '[';
};

template <typename Form, typename Places>
void append_as(std::string& out, const ColumnView& points, const Places& places) {
  PointsWriter<Form> writer(out, points);
  for (const size_t place : places) writer.add(place);
  writer.finish();
}

template <typename Places>
void append(std::string& out, const ColumnView& points, const Places& places, PointsForm form) {
  if (form == PointsForm::objects) return append_as<Objects>(out, points, places);
  append_as<Triples>(out, points, places);
}

}  // namespace

void append_points_json(std::string& out, const ColumnView& points, PointsForm form) {
  append(out, points, std::views::iota(size_t{0}, points.size), form);
}

void append_points_json(std::string& out, const ColumnView& points, size_t budget, PointsForm form) {
  if (points.size <= budget) return append_points_json(out, points, form);
  append(out, points, reduce(points, budget), form);
}

}  // namespace aboard
