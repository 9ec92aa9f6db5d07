// SPDX-License-Identifier: Apache-2.0
#include "points_json.hpp"

#include <cmath>
#include <ranges>

#include "number_text.hpp"
#include "reduce.hpp"

namespace aboard {
namespace {

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

// With the comma in front of it.
constexpr size_t kLongestPoint = 1 + Objects::kBegin.size() + Objects::kStep.size() + Objects::kValue.size() +
                                 Objects::kEnd.size() + 3 * kLongestNumber;

template <typename Form, typename Places>
char* put_as(char* at, const ColumnView& points, const Places& places) {
  const auto steps = points.steps();
  const auto wall_times = points.wall_times(), values = points.values();
  char* const begin = at;
  *at++ = '[';
  for (const size_t place : places) {
    at = put(at, Form::kBegin);
    at = put_any(at, wall_times[place]);
    at = put(at, Form::kStep);
    at = put_integer(at, steps[place]);
    at = put(at, Form::kValue);
    at = put_any(at, values[place]);
    at = put(at, Form::kEnd);
    *at++ = ',';
  }
  if (at > begin + 1) --at;
  *at = ']';
  return at + 1;
}

template <typename Places>
char* put_places(char* at, const ColumnView& points, const Places& places, PointsForm form) {
  return form == PointsForm::objects ? put_as<Objects>(at, points, places) : put_as<Triples>(at, points, places);
}

}  // namespace

size_t longest_points_json(size_t points) noexcept { return points * kLongestPoint + 2; }

char* put_points_json(char* at, const ColumnView& points, size_t budget, PointsForm form) {
  if (points.size <= budget) return put_places(at, points, std::views::iota(size_t{0}, points.size), form);
  return put_places(at, points, reduce(points, budget), form);
}

std::string points_json(const ColumnView& points, PointsForm form) {
  std::string text(longest_points_json(points.size), '\0');
  text.resize(static_cast<size_t>(put_points_json(text.data(), points, points.size, form) - text.data()));
  return text;
}

}  // namespace aboard
