// SPDX-License-Identifier: Apache-2.0
#include "points_json.hpp"

#include <charconv>
#include <cmath>

namespace aboard {
namespace {

constexpr size_t kLongestPoint = 128;

char* put(char* at, std::string_view text) { return at + text.copy(at, text.size()); }

char* put_number(char* at, char* end, double value) {
  if (std::isnan(value)) return put(at, "\"NaN\"");
  if (std::isinf(value)) return put(at, value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
  return std::to_chars(at, end, value).ptr;
}

}  // namespace

void append_points_json(std::string& out, const ColumnView& points, PointsForm form) {
  const bool objects = form == PointsForm::objects;
  const auto steps = points.steps();
  const auto wall_times = points.wall_times();
  const auto values = points.values();
  out.push_back('[');
  char text[kLongestPoint];
  char* const end = text + sizeof text;
  for (size_t i = 0; i < points.size; ++i) {
    char* at = text;
    if (i > 0) *at++ = ',';
    at = put(at, objects ? "{\"wallTime\":" : "[");
    at = put_number(at, end, wall_times[i]);
    at = put(at, objects ? ",\"step\":" : ",");
    at = std::to_chars(at, end, steps[i]).ptr;
    at = put(at, objects ? ",\"value\":" : ",");
    at = put_number(at, end, values[i]);
    *at++ = objects ? '}' : ']';
    out.append(text, static_cast<size_t>(at - text));
  }
  out.push_back(']');
}

}  // namespace aboard
