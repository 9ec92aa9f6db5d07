// SPDX-License-Identifier: Apache-2.0
// Reads one event file from beginning to end by the rules of `EventFile` and tells what is in it and what is wrong with
// it; on request it writes every record that is whole into another file on the way.
//
// Memory has a limit whatever the file contains: places are counted all and listed up to a number.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "event_file.hpp"
#include "step_order.hpp"

namespace aboard {

constexpr size_t kDamageKinds = 4;

// A part of the file: [begin, end).
struct Place {
  uint64_t begin, end;
};

struct DamageSum {
  uint64_t count = 0, bytes = 0;
  std::vector<Place> places;  // the first ones
};

// What stands behind the last whole record.
struct Tail {
  uint64_t offset, bytes;
  std::optional<uint64_t> missing;  // bytes that the record still needs, when its header is there
};

// A record whose wall time is far from that of the record before.
struct ClockJump {
  uint64_t offset;
  double from, to;
};

struct ClockJumps {
  uint64_t count = 0;
  std::vector<ClockJump> places;  // the first ones
};

struct FileReport {
  int error = 0;       // errno, when the file could not be read to its end
  int copy_error = 0;  // errno, when what was read could not be written
  bool cancelled = false;
  uint64_t size = 0;
  uint64_t read_to = 0;  // where the last whole record ends
  uint64_t records = 0;  // that are events
  uint64_t copied_bytes = 0;
  std::array<DamageSum, kDamageKinds> damage;  // by DamageKind
  std::optional<Tail> tail;
  bool begins_with_version = false;
  // Of the first event, and the latest of all; not finite when there is none.
  double first_wall_time = std::numeric_limits<double>::infinity();
  double last_wall_time = -std::numeric_limits<double>::infinity();
  std::optional<int64_t> lowest_step, highest_step;  // of summaries
  uint64_t restarts = 0;                             // SessionLog.START behind points
  StepOrder steps;
  ClockJumps back, ahead;
  uint64_t events_without_time = 0, first_without_time = 0;  // NaN or infinite; where the first is
  uint64_t nan_values = 0, infinite_values = 0;              // scalars
  uint64_t bad_values = 0, first_bad_value = 0;              // values in a summary that cannot be decoded

  explicit FileReport(size_t most_places) : steps(most_places) {}
};

class Inspection {
 public:
  static constexpr double kClockBack = 1;           // seconds; less is what threads that log at the same time do
  static constexpr double kClockAhead = 24 * 3600;  // seconds; more is hardly ever the time between two records

  // Lists up to `most_places` of each kind.
  Inspection(std::string path, size_t most_places) : path_(std::move(path)), most_places_(most_places) {}
  Inspection(const Inspection&) = delete;
  Inspection& operator=(const Inspection&) = delete;

  // Writes whole records to the descriptor `copy_to` unless that is negative. What is written is what was verified.
  FileReport run(int copy_to = -1);
  // From any thread.
  void cancel() noexcept { cancelled_ = true; }
  uint64_t bytes_read() const noexcept { return bytes_read_; }

 private:
  class Examiner;

  const std::string path_;
  const size_t most_places_;
  std::atomic<bool> cancelled_{false};
  std::atomic<uint64_t> bytes_read_{0};
};

}  // namespace aboard
