// SPDX-License-Identifier: Apache-2.0
// A folder with event files, decoded: its tags, each with one history over all files, followed as the files grow.
//
// `refresh` may take long and runs on one thread at a time; everything else is quick, may be called from any thread
// while it runs, and sees what was decoded so far.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "columns.hpp"
#include "event.hpp"
#include "event_file.hpp"
#include "fork_safety.hpp"
#include "media_rows.hpp"
#include "scalar_summary.hpp"

namespace aboard {

// Which part of an event a tag's values come from.
enum class TagSource : uint8_t { summary, graph, meta_graph, run_metadata };

// What is known of a tag from the first value that was seen: that one decides.
struct TagInfo {
  std::string name;
  TagSource source = TagSource::summary;
  ValueKind kind = ValueKind::nothing;
  bool is_scalar = false;
  bool present = false;  // false: it was there before the logdir was read anew, and its number is kept for it
  std::string metadata;  // serialized SummaryMetadata; empty when the first value had none
  ValueKind other_kind = ValueKind::nothing;  // of the first value whose kind is another one; such values are left out
};

struct TagStatus {
  size_t index;
  size_t count;
  size_t superseded;
  int64_t last_step;
  double last_wall_time;
};

struct FileStatus {
  std::string name;
  uint64_t bytes_read;
  uint64_t bytes;
  uint64_t records;
  Damage damage;
  int error;
  double first_wall_time;  // of the first event; infinite when there is none yet
  double last_wall_time;   // the latest; minus infinity when there is none yet
  uint32_t attempt;
};

// What is not here of a file: something before `end`, unless that is 0, and the inner parts of some large records.
struct AbsentPart {
  std::string name;
  uint64_t end = 0;
  std::vector<uint64_t> hollow = {};  // see EventFile::trust
};

// A part of a file that holds what was decoded of a logdir elsewhere; see packed_logdir.hpp.
struct PackedPlace {
  std::string path;
  uint64_t begin = 0, end = 0;
};

struct NamedSummary {
  std::string tag;
  ScalarSummary summary;
};

// Of all files together.
struct ReadingSummary {
  uint64_t bytes_read = 0;
  double last_wall_time = 0;  // the latest; 0 when there is none
  bool failed = false;        // some could not be read
};

class ReadingCrew;

class Logdir final : private ForkAware {
 public:
  // `index`, unless empty, is the file in which `save_index` keeps what was decoded; the first refresh begins there.
  // `packed`, unless its path is empty, is where it begins when there is no such file.
  explicit Logdir(ReadPath path, std::string index = "", PackedPlace packed = {});
  ~Logdir();
  Logdir(const Logdir&) = delete;
  Logdir& operator=(const Logdir&) = delete;

  // Says which files have parts that are not on this machine at the moment, and where the last of these ends: copies
  // of objects, whose bytes were given back after they had been decoded. Waits for a refresh.
  void set_absent(std::vector<AbsentPart> parts);
  // Whether the last refresh did nothing because it would have had to read such a part.
  bool wants_absent() const noexcept { return wants_absent_.load(); }
  // Reads what is new in the folder's event files, which are `names`. True when something changed.
  // Where there is a crew, its other threads help with large files.
  bool refresh(const std::vector<std::string>& names, ReadingCrew* crew = nullptr);
  // Keeps what was decoded for the next process. 0, or the number of the system's error; waits for a refresh.
  int save_index();
  // What was decoded, in a form that travels. Nothing when that cannot be said now; waits for a refresh.
  std::optional<std::string> pack();
  // Bytes of event files whose points are not in the index.
  uint64_t unsaved_bytes() const noexcept { return unsaved_bytes_.load(); }
  // And those whose points are.
  uint64_t saved_bytes() const noexcept { return saved_bytes_.load(); }

  const std::string& path() const noexcept { return path_.text(); }
  // Grows with every change that a reader could see.
  uint64_t version() const noexcept { return version_.load(); }
  // Changes when tags seen before may be gone, be back or mean something else.
  uint64_t generation() const;

  // Tags have numbers from 0 in the order in which they were first seen; a number never comes to mean another name,
  // unless far more tags have vanished than are there.
  std::vector<TagInfo> tags(size_t from = 0) const;
  // The numbers of the tags under which another kind of data was logged as well, and which kind.
  std::vector<std::pair<size_t, ValueKind>> other_kinds() const;
  std::vector<TagStatus> tag_statuses() const;
  std::optional<TagStatus> tag_status(size_t tag) const;
  // All points of a scalar tag; sorted by step with the newest of each step when `unique`.
  ColumnView scalars(size_t tag, bool unique) const;
  ColumnView superseded_scalars(size_t tag) const;
  // The summary of every scalar tag with points, in the order of their numbers.
  std::vector<NamedSummary> scalar_summaries() const;
  std::vector<MediaEntry> media(size_t tag) const;
  // The bytes of one media entry's content: the message of its kind, or the graph or metadata itself.
  std::optional<std::string> read_media(size_t tag, const MediaEntry& entry) const;
  std::vector<FileStatus> files() const;
  ReadingSummary summary() const;
  uint64_t bytes_read() const noexcept { return bytes_read_.load(); }
  std::optional<double> first_wall_time() const;

 private:
  struct Tag;
  struct File;
  struct Segments;
  struct State;
  class Decoder;
  class Fields;
  class Index;
  class Packed;

  // Whether what is in the state still holds, and something changed.
  struct Outcome {
    bool holds = true;
    bool changed = false;
  };

  void load_what_is_kept();
  void forget_what_is_kept() const;
  std::unique_ptr<File> new_file(const ReadPath& path, const std::string& name) const;
  bool would_read_absent(bool from_the_start, const std::vector<std::string>& names) const;
  void replace_state(std::shared_ptr<State> fresh);
  // Reads all again when `damaged` is still what readers see.
  void read_anew(const State* damaged) const;
  // Drops what is kept and reads all again, or says what is absent for that.
  void start_over();
  void count_unsaved(const State& state);
  bool may_rebuild() const;
  std::shared_ptr<State> rebuild(const std::vector<std::string>& names, ReadingCrew* crew);
  Outcome follow(State& state, const std::vector<std::string>& names, ReadingCrew* crew);
  static void put_in_order(const State& state, std::vector<std::unique_ptr<File>>& files);
  // Whether the file was new, for the most part.
  bool read_file(State& state, size_t file, ReadingCrew* crew);
  void read_with_others(File& file, Decoder& decoder, ReadingCrew& crew);
  void begin_attempt(State& state, const File& first);
  void merge(State& state);
  void settle(State& state);
  std::shared_ptr<const State> state() const;
  void before_fork() noexcept override { mutex_.lock(); }
  void after_fork_in_parent() noexcept override { mutex_.unlock(); }
  void after_fork_in_child() noexcept override;

  const ReadPath path_;
  const std::string index_path_;
  const PackedPlace packed_;
  // Lock order: refresh_mutex_, mutex_. A fork takes mutex_ only.
  ForkableMutex refresh_mutex_;
  std::vector<std::string> names_;  // that the last refresh was given; changes under both locks
  bool index_was_tried_ = false;
  std::vector<AbsentPart> absent_;  // changes under both locks
  std::atomic<bool> wants_absent_{false};
  std::chrono::steady_clock::time_point rebuilt_at_{};
  std::chrono::steady_clock::duration rebuild_took_{};
  uint64_t rebuild_bytes_ = 0;
  // Guards `state_` and everything in it that readers see. Held for a moment: to swap in what was made without it.
  mutable std::mutex mutex_;
  std::shared_ptr<State> state_;
  std::atomic<uint64_t> version_{0};
  std::atomic<uint64_t> bytes_read_{0};
  std::atomic<uint64_t> saved_bytes_{0}, unsaved_bytes_{0};
};

}  // namespace aboard
