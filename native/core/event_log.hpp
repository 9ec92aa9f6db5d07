// SPDX-License-Identifier: Apache-2.0
// An append-only event file fed from any thread: callers hand over, a background thread encodes and writes.
//
// Guarantees: what one thread adds stays in order; nothing is dropped while the file can be written; what was added
// reaches the operating system within `flush_seconds` without any call; after fork() the child owns a file of its own
// and none of the parent's pending entries. A failing disk neither throws nor blocks: it is reported through
// `take_report`, entries are kept up to the process-wide memory bound, and writing goes on where it stopped.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "fork_safety.hpp"

namespace aboard {

struct EventLogOptions {
  std::string directory;
  std::string host;
  std::string suffix;                 // appended to the file name
  std::optional<int64_t> purge_step;  // written once: events of earlier files from this step on are hidden
  double flush_seconds = 0.5;         // longest time that an entry waits for the background thread
  double retry_seconds = 1;           // until what could not be written is tried again
  size_t wake_entries = 0;            // entries that wake it at once; 0: decided by size alone
};

// Something the caller's side should hear of. A failure means that data is delayed or lost; a notice does not.
struct Report {
  bool failure = false;
  std::string text;
};

class EventLog {
 public:
  // Creates the folder and a new file that no other writer has. Throws std::system_error when that is impossible.
  static std::shared_ptr<EventLog> open(EventLogOptions options);
  // Writes what is pending before it returns; what cannot be written is lost and said on stderr.
  ~EventLog();
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  // Each returns true when a report waits for `take_report`.
  bool add_scalar(std::string_view tag, float value, int64_t step, double wall_time);
  bool add_summary(std::string summary, int64_t step, double wall_time);
  bool add_event(std::string event);
  bool add_histogram(std::string_view tag, std::span<const float> values, int64_t step, double wall_time);
  bool add_histogram(std::string_view tag, std::span<const double> values, int64_t step, double wall_time);

  // Returns when everything added before is in the file, or cannot be written now. True when a report waits.
  bool flush();
  // Flushes and closes the file. A later add opens a new one. Closing again does nothing. True when a report waits.
  bool close();

  std::optional<Report> take_report();
  void report(bool failure, std::string text);
  // Paths of the files that this process wrote for this log, the current one last.
  std::vector<std::string> paths() const;
  const std::string& directory() const noexcept { return options_.directory; }

 private:
  friend class LogKeeper;

  struct Scalars {
    std::string packed;
  };
  struct Summary {
    std::string bytes;
    int64_t step;
    double wall_time;
  };
  struct RawEvent {
    std::string bytes;
  };
  template <typename Value>
  struct Values {
    std::string tag;
    std::vector<Value> values;
    int64_t step;
    double wall_time;
  };
  using Payload = std::variant<Scalars, Summary, RawEvent, Values<float>, Values<double>>;
  struct Pending {
    Payload payload;
    size_t bytes;  // what it holds of the process's memory limit
  };
  enum class Wake { not_needed, in_time, now };

  explicit EventLog(EventLogOptions options);

  // The caller's side.
  bool add(Payload payload, size_t bytes);
  bool has_room(size_t bytes);
  Wake count_queued(size_t bytes);
  void wake_keeper(Wake wake);

  // The file's side; each needs io_mutex_, except `drain`, which takes it.
  void drain();
  void take_queue();
  bool write_taken();
  void encode(Pending& pending);
  void encode_scalars(std::string_view packed);
  template <typename Value>
  bool add_values(std::string_view tag, std::span<const Value> values, int64_t step, double wall_time);
  template <typename Value>
  void keep_spare(std::vector<Value>& values);
  template <typename Value>
  void encode_histogram(const Values<Value>& values);
  bool write_out();
  bool write_bytes();
  void leave_file();
  void leave_removed_file();
  void open_file();
  bool try_open_file();
  void close_file() noexcept;
  bool was_removed() const;
  void failed(std::string_view what, int error);
  void recovered();

  void become_child() noexcept;

  const EventLogOptions options_;

  // Lock order: io_mutex_, queue_mutex_, report_mutex_. A fork waits for the last two only.
  mutable ForkableMutex io_mutex_;  // the file and everything on its way there
  std::mutex queue_mutex_;          // what was handed over and not yet taken
  std::mutex report_mutex_;

  std::deque<Pending> queue_;
  size_t queued_bytes_ = 0;
  size_t queued_entries_ = 0;
  std::string spare_;  // an emptied scalar block, kept so that the calling thread seldom allocates
  // Likewise for values of histograms: fresh memory costs more than the copy.
  std::tuple<std::vector<float>, std::vector<double>> spare_values_;

  int file_ = -1;
  std::string path_;
  std::vector<std::string> paths_;
  bool purge_written_ = false;
  bool not_finite_reported_ = false;
  std::deque<Pending> taken_;
  std::string out_;          // encoded records on their way into the file
  size_t out_written_ = 0;   // bytes of `out_` that are already there
  size_t out_held_ = 0;      // bytes of the memory limit that `out_` stands for
  size_t header_bytes_ = 0;  // bytes at the start of `out_` that belong to this file only: its header
  std::string removed_;      // a file that was deleted and has no successor yet
  std::string scratch_;

  std::deque<Report> reports_;
  std::atomic<bool> attention_{false};
  std::atomic<bool> failing_{false};
  uint64_t lost_entries_ = 0;  // needs report_mutex_
};

}  // namespace aboard
