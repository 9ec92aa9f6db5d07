// SPDX-License-Identifier: Apache-2.0
// Scalar points as JSON text, in the two forms that TensorBoard's pages ask for.
#pragma once

#include <string>

#include "columns.hpp"

namespace aboard {

enum class PointsForm {
  triples,  // [wall time, step, value], of the Scalars dashboard
  objects,  // {"wallTime": …, "step": …, "value": …}, of Time Series
};

// An array. NaN and infinities are strings, as TensorBoard writes them.
std::string points_json(const ColumnView& points, PointsForm form);
// Writes an array of at most `budget` of the points (see reduce.hpp) and returns its end. There must be room for what
// is the longest that so many points can be.
char* put_points_json(char* at, const ColumnView& points, size_t budget, PointsForm form);
size_t longest_points_json(size_t points) noexcept;

}  // namespace aboard
