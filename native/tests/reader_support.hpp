// SPDX-License-Identifier: Apache-2.0
// What tests of reading share: event files made of parts, points as plain values, and the rules of histories once more,
// simple and slow.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "columns.hpp"
#include "event.hpp"
#include "log_support.hpp"
#include "logdir.hpp"

namespace aboard::testing {

struct Point {
  int64_t step = 0;
  double wall_time = 0;
  double value = 0;
  friend auto operator<=>(const Point&, const Point&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Point& point);
};
using Points = std::vector<Point>;
std::ostream& operator<<(std::ostream& out, const Points& points);

// Each is one framed record.
std::string version_record(double wall_time);
std::string scalar_record(std::string_view tag, int64_t step, double wall_time, float value);
std::string start_record(int64_t step, double wall_time);
std::string record_of(double wall_time, int64_t step, EventKind kind, std::string_view payload);
// A Summary.Value whose content is the field `kind`, with a plugin in its metadata unless that is empty.
std::string value_of(std::string_view tag, ValueKind kind, std::string_view content, std::string_view plugin = "");
std::string summary_of(const std::vector<std::string>& values);
// A header and scalars of one tag at the given steps, one second apart.
std::string file_of(double wall_time, std::string_view tag, const std::vector<int64_t>& steps, float value);

void append_to(const fs::path& path, std::string_view bytes);

Points points_of(const ColumnView& view);
std::vector<int64_t> steps_of(const ColumnView& view);
std::vector<int64_t> steps_of(const Points& points);
// Number of a tag, which must be there.
size_t tag_number(const Logdir& logdir, std::string_view name);
bool has_tag(const Logdir& logdir, std::string_view name);
Points shown(const Logdir& logdir, std::string_view tag);
Points unique(const Logdir& logdir, std::string_view tag);
Points superseded(const Logdir& logdir, std::string_view tag);
// The names of the files in a folder, as a refresh gets them.
std::vector<std::string> names_in(const fs::path& folder);

// What the rules of history.hpp make of files, by name; only scalars.
struct ReferenceTag {
  Points shown;
  Points superseded;
};
std::map<std::string, ReferenceTag> reference(const std::map<std::string, std::string>& files);

}  // namespace aboard::testing
