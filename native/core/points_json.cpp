// SPDX-License-Identifier: Apache-2.0
#include "points_json.hpp"

#include <charconv>
#include <cmath>
#include <iterator>

#include "number_text.hpp"
#include "reduce.hpp"

namespace aboard {
namespace {

constexpr size_t kLongestPoint = 128;

char* put(char* at, std::string_view text) { return at + text.copy(at, text.size()); }

char* put_any(char* at, double value) {
  if (std::isfinite(value)) return put_number(at, value);
  if (std::isnan(value)) return put(at, "\"NaN\"");
  return put(at, value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
}

class PointsWriter {
 public:
  PointsWriter(std::string& out, const ColumnView& points, PointsForm form)
      : out_(out),
        objects_(form == PointsForm::objects),
        steps_(points.steps()),
        wall_times_(points.wall_times()),
        values_(points.values()) {
    out_.push_back('[');
  }
  void add(size_t point) {
    char* at = text_;
    if (!is_first_) *at++ = ',';
    is_first_ = false;
    at = put(at, objects_ ? "{\"wallTime\":" : "[");
    at = put_any(at, wall_times_[point]);
    at = put(at, objects_ ? ",\"step\":" : ",");
    at = std::to_chars(at, std::end(text_), steps_[point]).ptr;
    at = put(at, objects_ ? ",\"value\":" : ",");
    at = put_any(at, values_[point]);
    *at++ = objects_ ? '}' : ']';
    out_.append(text_, static_cast<size_t>(at - text_));
  }
  void finish() { out_.push_back(']'); }

 private:
  std::string& out_;
  const bool objects_;
  const std::span<const int64_t> steps_;
  const std::span<const double> wall_times_, values_;
  bool is_first_ = true;
  char text_[kLongestPoint];
};

}  // namespace

void append_points_json(std::string& out, const ColumnView& points, PointsForm form) {
  PointsWriter writer(out, points, form);
  for (size_t point = 0; point < points.size; ++point) writer.add(point);
  writer.finish();
}

void append_points_json(std::string& out, const ColumnView& points, size_t budget, PointsForm form) {
  if (points.size <= budget) return append_points_json(out, points, form);
  PointsWriter writer(out, points, form);
  for (const size_t point : reduce(points, budget)) writer.add(point);
  writer.finish();
}

}  // namespace aboard
