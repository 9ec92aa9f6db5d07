// SPDX-License-Identifier: Apache-2.0
#include "inspection.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <new>
#include <string_view>

#include "event.hpp"
#include "little_endian.hpp"
#include "posix_io.hpp"
#include "record.hpp"
#include "tensor_scalar.hpp"

namespace aboard {
namespace {

constexpr size_t kWriteBytes = 256 << 10;

struct Cancelled {};
struct CopyFailed {
  int error;
};

// Records on their way to a file; nothing is written when there is none.
class RecordCopy {
 public:
  explicit RecordCopy(int file) : file_(file) {}

  void add(std::string_view payload) {
    if (file_ < 0) return;
    append_record(buffer_, payload);
    if (buffer_.size() >= kWriteBytes) flush();
  }

  void flush() {
    const Transfer done = write_full(file_, buffer_);
    written_ += done.bytes;
    if (done.error != 0) throw CopyFailed{done.error};
    buffer_.clear();
  }

  uint64_t written() const noexcept { return written_; }

 private:
  const int file_;
  std::string buffer_;
  uint64_t written_ = 0;
};

// The record at the end of a file that was cut off; nothing when the bytes there are part of other damage.
std::optional<Tail> tail_of(const EventFile& file) {
  const uint64_t bytes = file.tail_bytes();
  if (bytes == 0) return std::nullopt;
  Tail tail{file.offset(), bytes, std::nullopt};
  if (bytes < kRecordHeaderBytes) return file.is_searching() ? std::nullopt : std::optional(tail);
  char header[kRecordHeaderBytes] = {};
  std::ifstream stream(file.path().text(), std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(file.offset()));
  stream.read(header, sizeof header);
  Record record;
  if (!stream || parse_record({header, sizeof header}, record) == RecordState::bad_length) {
    return file.is_searching() ? std::nullopt : std::optional(tail);
  }
  const auto length = load_little<uint64_t>(header);
  const uint64_t whole = length > UINT64_MAX - kRecordOverheadBytes ? UINT64_MAX : length + kRecordOverheadBytes;
  if (whole > bytes) tail.missing = whole - bytes;
  return tail;
}

}  // namespace

// Takes what an `EventFile` hands out and passes over into the report.
class Inspection::Examiner : public ReadObserver {
 public:
  Examiner(Inspection& inspection, FileReport& report, int copy_to)
      : inspection_(inspection), report_(report), copy_(copy_to) {}

  void damaged(DamageKind kind, uint64_t begin, uint64_t end) override {
    DamageSum& sum = report_.damage[static_cast<size_t>(kind)];
    ++sum.count;
    sum.bytes += end - begin;
    if (sum.places.size() < inspection_.most_places_) sum.places.push_back({begin, end});
  }

  void reached(uint64_t offset) override {
    inspection_.bytes_read_ = offset;
    if (inspection_.cancelled_) throw Cancelled{};
  }

  // The same payloads are events as for a logdir.
  bool take(std::string_view payload, uint64_t payload_offset) {
    offset_ = payload_offset - kRecordHeaderBytes;
    PlainScalar scalar;
    EventView event;
    if (decode_plain_scalar(payload, scalar)) {
      begin_event(scalar.wall_time, EventKind::summary);
      note_step(scalar.step);
      report_.steps.add(scalar.tag, scalar.step, offset_);
      note_number(scalar.value);
    } else {
      values_.clear();
      if (!decode_event(payload, event)) return false;
      if (event.kind == EventKind::summary && !decode_summary(event.payload, values_)) return false;
      begin_event(event.wall_time, event.kind);
      if (event.kind == EventKind::summary) take_summary(event.step);
      if (event.kind == EventKind::session_log && session_status(event.payload) == SessionStatus::start) take_start();
    }
    ++report_.records;
    copy_.add(payload);
    return true;
  }

  void finish() {
    copy_.flush();
    report_.copied_bytes = copy_.written();
  }

 private:
  void begin_event(double wall_time, EventKind kind) {
    const bool is_time = std::isfinite(wall_time);
    if (report_.records == 0) {
      report_.begins_with_version = kind == EventKind::file_version;
      report_.first_wall_time = is_time ? wall_time : -std::numeric_limits<double>::infinity();
    }
    if (!is_time) {
      if (report_.events_without_time++ == 0) report_.first_without_time = offset_;
      return;
    }
    report_.last_wall_time = std::max(report_.last_wall_time, wall_time);
    // When a file was made says nothing about the clock of points whose times were given by hand.
    if (kind == EventKind::file_version) return;
    if (has_time_) {
      if (wall_time < time_before_ - kClockBack) note_jump(report_.back, wall_time);
      if (wall_time > time_before_ + kClockAhead) note_jump(report_.ahead, wall_time);
    }
    has_time_ = true;
    time_before_ = wall_time;
  }

  void note_jump(ClockJumps& jumps, double wall_time) {
    ++jumps.count;
    if (jumps.places.size() < inspection_.most_places_) jumps.places.push_back({offset_, time_before_, wall_time});
  }

  void note_step(int64_t step) {
    report_.lowest_step = std::min(report_.lowest_step.value_or(step), step);
    report_.highest_step = std::max(report_.highest_step.value_or(step), step);
  }

  void note_number(double number) {
    if (std::isnan(number)) ++report_.nan_values;
    if (std::isinf(number)) ++report_.infinite_values;
  }

  void take_summary(int64_t step) {
    if (!values_.empty()) note_step(step);
    for (const std::string_view bytes : values_) {
      ValueView value;
      if (!decode_value(bytes, value)) {
        if (report_.bad_values++ == 0) report_.first_bad_value = offset_;
        continue;
      }
      report_.steps.add(value.tag, step, offset_, data_kind(value.kind, value.metadata));
      if (value.kind == ValueKind::simple_value) {
        note_number(value.simple_value);
      } else if (value.kind == ValueKind::tensor) {
        note_number(tensor_scalar(value.payload).value_or(0));
      }
    }
  }

  void take_start() {
    if (report_.lowest_step) ++report_.restarts;
    report_.steps.restart();
  }

  Inspection& inspection_;
  FileReport& report_;
  RecordCopy copy_;
  uint64_t offset_ = 0;  // of the record
  bool has_time_ = false;
  double time_before_ = 0;
  std::vector<std::string_view> values_;
};

FileReport Inspection::run(int copy_to) {
  FileReport report(most_places_);
  Examiner examiner(*this, report, copy_to);
  EventFile file(path_);
  file.observe(&examiner);
  try {
    const FileChange change = file.look();
    if (change != FileChange::gone && change != FileChange::unreadable) {
      file.read([&](std::string_view payload, uint64_t offset) { return examiner.take(payload, offset); });
    }
    examiner.finish();
    report.error = file.error();
  } catch (const Cancelled&) {
    report.cancelled = true;
  } catch (const CopyFailed& failed) {
    report.copy_error = failed.error;
  } catch (const std::bad_alloc&) {
    report.error = ENOMEM;
  }
  report.size = file.size();
  report.read_to = file.offset();
  if (report.error != 0 || report.cancelled || report.copy_error != 0) return report;
  bytes_read_ = report.size;
  report.tail = tail_of(file);
  DamageSum& lost = report.damage[static_cast<size_t>(DamageKind::bad_header)];
  if (!report.tail && file.tail_bytes() > 0) {
    // The last bytes, too few for a header, belong to the damage in front of them.
    lost.bytes += file.tail_bytes();
    if (lost.count == lost.places.size()) lost.places.back().end = report.size;
  }
  return report;
}

}  // namespace aboard
