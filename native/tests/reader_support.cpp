// SPDX-License-Identifier: Apache-2.0
#include "reader_support.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <ostream>

#include "record.hpp"
#include "wire.hpp"

namespace aboard::testing {

std::ostream& operator<<(std::ostream& out, const Point& point) {
  return out << '(' << point.step << ", " << point.wall_time << ", " << point.value << ')';
}

std::ostream& operator<<(std::ostream& out, const Points& points) {
  for (const Point& point : points) out << point << ' ';
  return out;
}

namespace {

std::string framed(std::string_view payload) {
  std::string record;
  append_record(record, payload);
  return record;
}

}  // namespace

std::string version_record(double wall_time) {
  std::string event;
  encode_file_version(event, wall_time, "brain.Event:2");
  return framed(event);
}

std::string scalar_record(std::string_view tag, int64_t step, double wall_time, float value) {
  std::string event;
  encode_scalar(event, wall_time, step, tag, value);
  return framed(event);
}

std::string start_record(int64_t step, double wall_time) {
  std::string event;
  encode_session_log(event, wall_time, step, SessionStatus::start);
  return framed(event);
}

std::string record_of(double wall_time, int64_t step, EventKind kind, std::string_view payload) {
  std::string event;
  encode_event(event, wall_time, step, kind, payload);
  return framed(event);
}

std::string value_of(std::string_view tag, ValueKind kind, std::string_view content, std::string_view plugin) {
  std::string value;
  wire::Encoder encoder(value);
  encoder.bytes(1, tag);
  if (!plugin.empty()) {
    std::string data, metadata;
    wire::Encoder(data).bytes(1, plugin);
    wire::Encoder(metadata).bytes(1, data);
    encoder.bytes(9, metadata);
  }
  encoder.bytes(static_cast<uint32_t>(kind), content);
  return value;
}

std::string summary_of(const std::vector<std::string>& values) {
  std::string summary;
  for (const auto& value : values) wire::Encoder(summary).bytes(1, value);
  return summary;
}

std::string file_of(double wall_time, std::string_view tag, const std::vector<int64_t>& steps, float value) {
  std::string file = version_record(wall_time);
  for (const int64_t step : steps) file += scalar_record(tag, step, wall_time += 1, value);
  return file;
}

void append_to(const fs::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::app);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

Points points_of(const ColumnView& view) {
  Points points;
  for (size_t i = 0; i < view.size; ++i) points.push_back({view.steps()[i], view.wall_times()[i], view.values()[i]});
  return points;
}

std::vector<int64_t> steps_of(const ColumnView& view) { return {view.steps().begin(), view.steps().end()}; }

std::vector<int64_t> steps_of(const Points& points) {
  std::vector<int64_t> steps;
  for (const Point& point : points) steps.push_back(point.step);
  return steps;
}

namespace {

size_t find_tag(const Logdir& logdir, std::string_view name) {
  const auto tags = logdir.tags();
  return static_cast<size_t>(
      std::find_if(tags.begin(), tags.end(), [&](const TagInfo& tag) { return tag.name == name && tag.present; }) -
      tags.begin());
}

}  // namespace

bool has_tag(const Logdir& logdir, std::string_view name) { return find_tag(logdir, name) < logdir.tags().size(); }

size_t tag_number(const Logdir& logdir, std::string_view name) {
  REQUIRE(has_tag(logdir, name));
  return find_tag(logdir, name);
}

Points shown(const Logdir& logdir, std::string_view tag) {
  return points_of(logdir.scalars(tag_number(logdir, tag), false));
}

Points unique(const Logdir& logdir, std::string_view tag) {
  return points_of(logdir.scalars(tag_number(logdir, tag), true));
}

Points superseded(const Logdir& logdir, std::string_view tag) {
  return points_of(logdir.superseded_scalars(tag_number(logdir, tag)));
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

namespace {

struct LoggedPoint {
  Point point;
  bool superseded = false;
};

struct ParsedFile {
  std::string name;
  double first = 0;
  double last = -std::numeric_limits<double>::infinity();
  std::map<std::string, std::vector<LoggedPoint>> points;  // by tag
  std::vector<int64_t> starts;
};

ParsedFile parse(const std::string& name, const std::string& bytes, bool& has_events) {
  ParsedFile file;
  file.name = name;
  has_events = false;
  Record record;
  for (size_t at = 0; parse_record(std::string_view(bytes).substr(at), record) == RecordState::complete;) {
    at += record.consumed;
    EventView event;
    REQUIRE(decode_event(record.payload, event));
    if (!has_events) file.first = event.wall_time;
    has_events = true;
    file.last = std::max(file.last, event.wall_time);
    if (event.kind == EventKind::session_log) {
      file.starts.push_back(event.step);
      for (auto& [tag, points] : file.points) {
        for (LoggedPoint& logged : points) logged.superseded = logged.superseded || logged.point.step >= event.step;
      }
    } else if (event.kind == EventKind::summary) {
      std::vector<std::string_view> values;
      REQUIRE(decode_summary(event.payload, values));
      for (const auto content : values) {
        ValueView value;
        REQUIRE(decode_value(content, value));
        file.points[std::string(value.tag)].push_back({{event.step, event.wall_time, value.simple_value}, false});
      }
    }
  }
  return file;
}

}  // namespace

std::map<std::string, ReferenceTag> reference(const std::map<std::string, std::string>& files) {
  std::vector<ParsedFile> parsed;
  for (const auto& [name, bytes] : files) {
    bool has_events;
    ParsedFile file = parse(name, bytes, has_events);
    if (has_events) parsed.push_back(std::move(file));
  }
  std::stable_sort(parsed.begin(), parsed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });

  std::vector<std::vector<ParsedFile*>> attempts;
  double last = 0;
  for (ParsedFile& file : parsed) {
    if (attempts.empty() || file.first > last) attempts.emplace_back();
    last = attempts.back().empty() && attempts.size() == 1 ? file.last : std::max(last, file.last);
    attempts.back().push_back(&file);
  }

  std::map<std::string, ReferenceTag> result;
  for (const ParsedFile& file : parsed) {
    for (const auto& [tag, points] : file.points) result[tag];
  }
  for (auto& [tag, made] : result) {
    for (size_t attempt = 0; attempt < attempts.size(); ++attempt) {
      std::vector<int64_t> cuts;
      for (const ParsedFile* file : attempts[attempt]) {
        cuts.insert(cuts.end(), file->starts.begin(), file->starts.end());
        if (file->points.contains(tag)) cuts.push_back(file->points.at(tag).front().point.step);
      }
      for (size_t earlier = 0; earlier < attempt; ++earlier) {
        for (ParsedFile* file : attempts[earlier]) {
          if (!file->points.contains(tag)) continue;
          for (LoggedPoint& logged : file->points[tag]) {
            for (const int64_t cut : cuts) logged.superseded = logged.superseded || logged.point.step >= cut;
          }
        }
      }
    }
    for (const auto& attempt : attempts) {
      Points points;
      size_t contributing = 0;
      for (const ParsedFile* file : attempt) {
        if (!file->points.contains(tag)) continue;
        ++contributing;
        for (const LoggedPoint& logged : file->points.at(tag)) {
          (logged.superseded ? made.superseded : points).push_back(logged.point);
        }
      }
      if (contributing > 1) {
        std::stable_sort(points.begin(), points.end(), [](const Point& a, const Point& b) {
          return a.step != b.step ? a.step < b.step : a.wall_time < b.wall_time;
        });
      }
      made.shown.insert(made.shown.end(), points.begin(), points.end());
    }
  }
  return result;
}

}  // namespace aboard::testing
