// SPDX-License-Identifier: Apache-2.0
// Many curves as JSON at once, on several threads where that is worth it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "columns.hpp"
#include "points_json.hpp"

namespace aboard {

struct Curve {
  std::string_view key;  // a JSON string
  ColumnView points;
};

// Appends "key":[…] for each curve, with commas between them; at most `budget` points of each, see reduce.hpp.
void append_curves_json(std::string& out, std::span<const Curve> curves, size_t budget, PointsForm form);

// About how many bytes a curve will take.
size_t json_size(const Curve& curve, size_t budget, PointsForm form) noexcept;

}  // namespace aboard
