// SPDX-License-Identifier: Apache-2.0
// What is known of a logdir between two refreshes; only logdir*.cpp and event_decoder.cpp look into it.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "columns.hpp"
#include "event_file.hpp"
#include "file_names.hpp"
#include "history.hpp"
#include "logdir.hpp"
#include "media_rows.hpp"
#include "tag_table.hpp"

namespace aboard {

inline constexpr size_t kTagsPerLock = 4096;  // readers never wait for more

struct Logdir::Tag {
  // The sorted form of a history whose steps are not strictly increasing, made when asked for.
  struct Sorted {
    uint64_t rewrites = 0;
    size_t size = 0;
    Columns points;
  };

  TagInfo info;
  uint64_t ticket = 0;                        // of the decoder, when it last prepared the history for points
  Tag* next = nullptr;                        // the tag that followed this one last time
  bool in_batch = false;                      // has points that are not published
  bool is_to_merge = false;                   // is in `State::to_merge`
  History<Columns> scalars;                   // of a tag that is a scalar
  std::unique_ptr<History<MediaRows>> media;  // of one that is not
  mutable std::unique_ptr<Sorted> sorted;
};

struct Logdir::File {
  File(const ReadPath& path, std::string file_name) : file(path), name(std::move(file_name)) {}
  File(EventFile event_file, std::string_view file_name) : file(std::move(event_file)), name(file_name) {}
  EventFile file;
  std::string name;
  uint32_t stream = 0;  // the file that counts in histories: the first of those that are segments of one, or itself
  uint64_t records = 0;
  double first_wall_time = std::numeric_limits<double>::infinity();  // of the first event, not the earliest
  double last_wall_time = -std::numeric_limits<double>::infinity();  // the latest
  uint32_t attempt = 0;
  bool is_late = false;    // has bytes that belong in front of what later attempts have, not read yet
  FileStatus published{};  // what readers see

  // Whether its first event is known.
  bool has_begun() const { return first_wall_time < std::numeric_limits<double>::infinity(); }
  void publish() {
    published = {name,         file.offset(),   file.size(),    records, file.damage(),
                 file.error(), first_wall_time, last_wall_time, attempt};
  }
};

// The segments of one file among the files of a state. They are taken in the order of their numbers, and so the last
// that was taken is the last of the file.
struct Logdir::Segments {
  uint32_t first, last;  // indices of files
  uint32_t last_number;
};

struct Logdir::State {
  std::vector<std::unique_ptr<File>> files;             // in the order in which they were taken into the history
  std::vector<std::unique_ptr<File>> waiting;           // not in it yet, most of them without any event: of no attempt
  std::unordered_map<std::string, Segments> segmented;  // by the name of the file that was cut
  std::deque<Tag> tags;
  TagTable numbers;
  uint32_t attempt = 0;
  double attempt_begin = std::numeric_limits<double>::infinity();    // first wall time of its first file
  double last_wall_time = -std::numeric_limits<double>::infinity();  // over all files
  uint64_t generation = 0;
  uint64_t ticket = 0;
  std::vector<Tag*> to_merge;
  bool visible = false;     // readers see this state
  bool broken = false;      // something was thrown half-way
  bool to_rebuild = false;  // what was decoded no longer holds

  const Tag* tag(size_t number) const { return number < tags.size() ? &tags[number] : nullptr; }

  // The segments of the same file that are there already; nullptr when there is none.
  const Segments* segments_beside(const File& file) const {
    const auto segment = segment_of(file.name);
    const auto found = segment ? segmented.find(std::string(segment->file)) : segmented.end();
    return found != segmented.end() ? &found->second : nullptr;
  }
  // Whether what the file may still get stands behind everything that was read of its attempt and its segments.
  bool is_open(size_t number) const {
    const Segments* segments = segments_beside(*files[number]);
    return files[number]->attempt == attempt && (segments == nullptr || segments->last == number);
  }
  // Needs the readers' lock when they see this state. A segment must come behind those that are there.
  void take(std::unique_ptr<File> file) {
    const auto number = static_cast<uint32_t>(files.size());
    file->stream = number;
    if (const auto segment = segment_of(file->name)) {
      auto& segments = segmented.try_emplace(std::string(segment->file), Segments{number, number, 0}).first->second;
      segments.last = number;
      segments.last_number = segment->number;
      file->stream = segments.first;
    }
    files.push_back(std::move(file));
  }
};

}  // namespace aboard
