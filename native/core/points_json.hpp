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

// Appends an array. NaN and infinities are strings, as TensorBoard writes them.
void append_points_json(std::string& out, const ColumnView& points, PointsForm form);
// The same for at most `budget` of the points; see reduce.hpp.
void append_points_json(std::string& out, const ColumnView& points, size_t budget, PointsForm form);

}  // namespace aboard
