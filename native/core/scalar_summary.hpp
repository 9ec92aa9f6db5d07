// SPDX-License-Identifier: Apache-2.0
// The summary of a scalar tag: how many points it has, and the first, last, smallest and largest of them.
#pragma once

#include <cstddef>
#include <optional>

#include "columns.hpp"

namespace aboard {

// NaN is a first or last value like others, but never the smallest or largest; of equal values the earlier point
// counts.
struct ScalarSummary {
  size_t count = 0;  // of all points, also those of a step that was logged again later
  ScalarPoint first{}, last{};
  std::optional<ScalarPoint> smallest{}, largest{};  // none when every value is NaN
};

// Needs at least one point.
ScalarSummary summarize(const ColumnView& points, size_t count) noexcept;

}  // namespace aboard
