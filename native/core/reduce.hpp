// SPDX-License-Identifier: Apache-2.0
// Fewer points for the screen, always the same ones, that still show every peak and every gap.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "columns.hpp"

namespace aboard {

// Positions of a part of `points`, ascending. The points are cut into buckets of equal count, and of each bucket the
// first, the last, the smallest, the largest and the first NaN stay; where some of these are the same, points at even
// distances stay as well. At most `budget` positions, or all when they are no more. The last point is always among
// them.
std::vector<size_t> reduce(const ColumnView& points, size_t budget);

// What positions that were kept stand for: the mean of the finite values since the position before, its own among them,
// and how many these are. NaN where there are none.
struct PartMeans {
  std::vector<double> means, counts;
};

// Of ascending positions; with the last one of `values` among them every value counts once.
PartMeans part_means(std::span<const double> values, std::span<const size_t> kept);

// The part of `points` with steps in [first, last], whose steps must be ascending; with one point more on either side,
// so that a line drawn through them leaves the window.
ColumnView window(const ColumnView& points, int64_t first, int64_t last);

}  // namespace aboard
