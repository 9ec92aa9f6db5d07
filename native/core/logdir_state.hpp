// SPDX-License-Identifier: Apache-2.0
// What is known of a logdir between two refreshes; only logdir*.cpp and event_decoder.cpp look into it.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "columns.hpp"
#include "event_file.hpp"
#include "history.hpp"
#include "logdir.hpp"
#include "media_rows.hpp"
#include "tag_table.hpp"

namespace aboard {

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
  File(const std::string& path, std::string file_name) : file(path), name(std::move(file_name)) {}
  File(EventFile event_file, std::string_view file_name) : file(std::move(event_file)), name(file_name) {}
  EventFile file;
  std::string name;
  uint64_t records = 0;
  double first_wall_time = std::numeric_limits<double>::infinity();  // of the first event, not the earliest
  double last_wall_time = -std::numeric_limits<double>::infinity();  // the latest
  uint32_t attempt = 0;
  bool is_late = false;    // has bytes that belong in front of what later attempts have, not read yet
  FileStatus published{};  // what readers see

  void publish() {
    published = {name,         file.offset(),   file.size(),    records, file.damage(),
                 file.error(), first_wall_time, last_wall_time, attempt};
  }
};

struct Logdir::State {
  std::vector<std::unique_ptr<File>> files;    // in the order in which they were taken into the history
  std::vector<std::unique_ptr<File>> waiting;  // without any event yet: they belong to no attempt
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
};

}  // namespace aboard
