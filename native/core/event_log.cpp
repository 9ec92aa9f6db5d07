// SPDX-License-Identifier: Apache-2.0
#include "event_log.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "event.hpp"
#include "histogram.hpp"
#include "log_keeper.hpp"
#include "posix_io.hpp"
#include "record.hpp"

namespace aboard {
namespace {

constexpr std::string_view kFileVersion = "brain.Event:2";
constexpr size_t kScalarBlockBytes = 64 << 10;
constexpr size_t kWakeBytes = 256 << 10;  // queued bytes that are worth a wake-up before their time
constexpr size_t kChunkBytes = 1 << 20;   // encoded bytes per write
constexpr size_t kKeptBytes = 4 << 20;    // room for encoded bytes that is kept for the next ones
// A histogram counts for what it costs to encode, however few its values: a flush must not wait for thousands of them.
constexpr size_t kHistogramCost = 16 << 10;
constexpr size_t kLargestSpare = 16 << 20;
constexpr size_t kMostReports = 64;
constexpr double kLongestDelay = 86400;

// How a scalar waits in its block; the tag's bytes follow.
struct PackedScalar {
  double wall_time;
  int64_t step;
  float value;
  uint32_t tag_bytes;
};

double now() noexcept {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Tells writers of one process apart whose files are made in the same second.
uint64_t next_file_number() noexcept {
  static std::atomic<uint64_t> number{0};
  return number.fetch_add(1);
}

std::string file_name(const EventLogOptions& options) {
  char seconds[24];
  std::snprintf(seconds, sizeof seconds, "%010lld", static_cast<long long>(now()));
  return std::string("events.out.tfevents.") + seconds + "." + options.host + "." + std::to_string(::getpid()) + "." +
         std::to_string(next_file_number()) + options.suffix;
}

// Any number of seconds that clocks can add: what is not a positive number means at once.
EventLogOptions with_sound_delay(EventLogOptions options) {
  options.flush_seconds = options.flush_seconds > 0 ? std::min(options.flush_seconds, kLongestDelay) : 0;
  return options;
}

// After these the descriptor is of no more use; after all others (a full disk, a quota) it can be used again.
bool descriptor_is_lost(int error) noexcept {
  return error == EBADF || error == ESTALE || error == ENODEV || error == ENXIO || error == EFBIG;
}

}  // namespace

std::shared_ptr<EventLog> EventLog::open(EventLogOptions options) {
  std::shared_ptr<EventLog> log(new EventLog(std::move(options)));
  LogKeeper::instance().enroll(*log);
  const std::lock_guard io(log->io_mutex_);
  log->open_file();
  log->write_out();
  return log;
}

EventLog::EventLog(EventLogOptions options) : options_(with_sound_delay(std::move(options))) {}

EventLog::~EventLog() {
  try {
    drain();
  } catch (const std::exception&) {
    // Memory ran out; what that costs is said below.
  }
  LogKeeper::instance().retire(*this);
  close_file();
  if (!queue_.empty() || !taken_.empty() || out_written_ < out_.size()) {
    // Nobody is left to take a report.
    std::fprintf(stderr, "aboard: entries for %s could not be written and are lost\n", options_.directory.c_str());
    for (const auto& pending : queue_) LogKeeper::instance().release(pending.bytes);
    for (const auto& pending : taken_) LogKeeper::instance().release(pending.bytes);
    LogKeeper::instance().release(out_held_);
  }
}

bool EventLog::add_scalar(std::string_view tag, float value, int64_t step, double wall_time) {
  const size_t bytes = sizeof(PackedScalar) + tag.size();
  if (!has_room(bytes)) return attention_.load();
  const PackedScalar packed{wall_time, step, value, static_cast<uint32_t>(tag.size())};
  Wake wake;
  {
    const std::lock_guard lock(queue_mutex_);
    auto* block = queue_.empty() ? nullptr : std::get_if<Scalars>(&queue_.back().payload);
    if (block == nullptr || block->packed.size() + bytes > kScalarBlockBytes) {
      queue_.push_back({Scalars{std::move(spare_)}, 0});
      spare_ = {};
      block = &std::get<Scalars>(queue_.back().payload);
    }
    // In one step: when memory runs out, no half entry may stay behind.
    const size_t at = block->packed.size();
    block->packed.resize(at + bytes);
    std::memcpy(block->packed.data() + at, &packed, sizeof packed);
    tag.copy(block->packed.data() + at + sizeof packed, tag.size());
    queue_.back().bytes += bytes;
    wake = count_queued(bytes);
  }
  wake_keeper(wake);
  return attention_.load(std::memory_order_relaxed);
}

bool EventLog::add_summary(std::string summary, int64_t step, double wall_time) {
  const size_t bytes = summary.size();
  return add(Summary{std::move(summary), step, wall_time}, bytes);
}

bool EventLog::add_event(std::string event) {
  const size_t bytes = event.size();
  return add(RawEvent{std::move(event)}, bytes);
}

bool EventLog::add_histogram(std::string_view tag, std::span<const float> values, int64_t step, double wall_time) {
  return add_values(tag, values, step, wall_time);
}

bool EventLog::add_histogram(std::string_view tag, std::span<const double> values, int64_t step, double wall_time) {
  return add_values(tag, values, step, wall_time);
}

template <typename Value>
bool EventLog::add_values(std::string_view tag, std::span<const Value> values, int64_t step, double wall_time) {
  std::vector<Value> copy;
  {
    const std::lock_guard lock(queue_mutex_);
    copy.swap(std::get<std::vector<Value>>(spare_values_));
  }
  copy.assign(values.begin(), values.end());
  const size_t bytes = std::max(copy.size() * sizeof(Value), kHistogramCost);
  return add(Values<Value>{std::string(tag), std::move(copy), step, wall_time}, bytes);
}

template <typename Value>
void EventLog::keep_spare(std::vector<Value>& values) {
  if (values.capacity() * sizeof(Value) > kLargestSpare) return;
  const std::lock_guard lock(queue_mutex_);
  auto& spare = std::get<std::vector<Value>>(spare_values_);
  if (spare.capacity() < values.capacity()) spare.swap(values);
}

bool EventLog::add(Payload payload, size_t payload_bytes) {
  const size_t bytes = payload_bytes + sizeof(Pending);
  if (!has_room(bytes)) return attention_.load();
  Wake wake;
  {
    const std::lock_guard lock(queue_mutex_);
    queue_.push_back({std::move(payload), bytes});
    wake = count_queued(bytes);
  }
  wake_keeper(wake);
  return attention_.load(std::memory_order_relaxed);
}

// Above the memory limit the caller writes itself. Only when the file cannot be written is an entry refused, and said.
bool EventLog::has_room(size_t bytes) {
  LogKeeper& keeper = LogKeeper::instance();
  if (keeper.fits(bytes)) return true;
  if (!failing_.load()) drain();
  if (!failing_.load() || keeper.fits(bytes)) return true;
  bool first;
  {
    const std::lock_guard lock(report_mutex_);
    if (!failing_.load()) return true;  // it recovered just now, and has said how many were lost
    first = lost_entries_++ == 0;
  }
  if (first) {
    report(true, "the memory for unwritten entries (" + std::to_string(keeper.memory_limit() >> 20) +
                     " MiB) is full and " + options_.directory +
                     " still cannot be written: new entries are dropped until it can");
  }
  return false;
}

// Needs queue_mutex_. The keeper is woken when the first entry arrives and when there is enough to be worth it.
EventLog::Wake EventLog::count_queued(size_t bytes) {
  LogKeeper::instance().hold(bytes);
  const bool first = queued_entries_ == 0;
  const bool many_bytes = queued_bytes_ < kWakeBytes && queued_bytes_ + bytes >= kWakeBytes;
  queued_bytes_ += bytes;
  queued_entries_ += 1;
  if (many_bytes || queued_entries_ == options_.wake_entries) return Wake::now;
  return first ? Wake::in_time : Wake::not_needed;
}

void EventLog::wake_keeper(Wake wake) {
  if (wake == Wake::not_needed) return;
  const std::chrono::duration<double> delay(wake == Wake::now ? 0.0 : options_.flush_seconds);
  if (!LogKeeper::instance().schedule(*this, delay)) drain();
}

bool EventLog::flush() {
  drain();
  return attention_.load();
}

bool EventLog::close() {
  drain();
  const std::lock_guard io(io_mutex_);
  if (!failing_.load()) close_file();
  return attention_.load();
}

std::optional<Report> EventLog::take_report() {
  const std::lock_guard lock(report_mutex_);
  if (reports_.empty()) return std::nullopt;
  Report first = std::move(reports_.front());
  reports_.pop_front();
  attention_.store(!reports_.empty());
  return first;
}

std::vector<std::string> EventLog::paths() const {
  const std::lock_guard io(io_mutex_);
  return paths_;
}

void EventLog::drain() {
  const std::lock_guard io(io_mutex_);
  try {
    take_queue();
    if (taken_.empty() && out_written_ == out_.size()) return;
    if (file_ < 0 && !try_open_file()) return;
    if (write_taken() && failing_.load()) recovered();
  } catch (...) {
    // Memory ran out. What was taken is still there, in order, and is tried again.
    LogKeeper::instance().schedule(*this, std::chrono::duration<double>(options_.retry_seconds));
    throw;
  }
}

void EventLog::take_queue() {
  const std::lock_guard lock(queue_mutex_);
  if (taken_.empty()) {
    taken_.swap(queue_);
  } else {
    for (; !queue_.empty(); queue_.pop_front()) taken_.push_back(std::move(queue_.front()));
  }
  queued_bytes_ = 0;
  queued_entries_ = 0;
}

bool EventLog::write_taken() {
  while (true) {
    while (!taken_.empty() && out_.size() < kChunkBytes) {
      const size_t before = out_.size();
      try {
        encode(taken_.front());
      } catch (...) {
        out_.resize(before);  // no half record
        throw;
      }
      out_held_ += taken_.front().bytes;
      taken_.pop_front();
    }
    if (!write_out()) return false;
    LogKeeper::instance().release(out_held_);
    out_held_ = 0;
    if (taken_.empty()) return true;
  }
}

void EventLog::encode(Pending& pending) {
  if (auto* scalars = std::get_if<Scalars>(&pending.payload)) {
    encode_scalars(scalars->packed);
    scalars->packed.clear();
    const std::lock_guard lock(queue_mutex_);
    if (spare_.capacity() < scalars->packed.capacity()) spare_ = std::move(scalars->packed);
  } else if (const auto* summary = std::get_if<Summary>(&pending.payload)) {
    const size_t start = begin_record(out_);
    encode_event(out_, summary->wall_time, summary->step, EventKind::summary, summary->bytes);
    end_record(out_, start);
  } else if (const auto* event = std::get_if<RawEvent>(&pending.payload)) {
    append_record(out_, event->bytes);
  } else if (auto* narrow = std::get_if<Values<float>>(&pending.payload)) {
    encode_histogram(*narrow);
    keep_spare(narrow->values);
  } else {
    auto& wide = std::get<Values<double>>(pending.payload);
    encode_histogram(wide);
    keep_spare(wide.values);
  }
}

void EventLog::encode_scalars(std::string_view packed) {
  PackedScalar scalar;
  for (size_t at = 0; at < packed.size(); at += sizeof scalar + scalar.tag_bytes) {
    std::memcpy(&scalar, packed.data() + at, sizeof scalar);
    const size_t start = begin_record(out_);
    encode_scalar(out_, scalar.wall_time, scalar.step, packed.substr(at + sizeof scalar, scalar.tag_bytes),
                  scalar.value);
    end_record(out_, start);
  }
}

template <typename Value>
void EventLog::encode_histogram(const Values<Value>& values) {
  const Histogram histogram = make_histogram(std::span<const Value>(values.values));
  scratch_.clear();
  encode_histogram_summary(scratch_, values.tag, histogram);
  const size_t start = begin_record(out_);
  encode_event(out_, values.wall_time, values.step, EventKind::summary, scratch_);
  end_record(out_, start);
  if (histogram.not_finite > 0 && !not_finite_reported_) {
    not_finite_reported_ = true;
    report(false, "histogram '" + values.tag + "' at step " + std::to_string(values.step) + " has " +
                      std::to_string(histogram.not_finite) + " NaN or infinite of " +
                      std::to_string(values.values.size()) + " values; they are in no bucket (said once per writer)");
  }
}

// Puts `out_` into the file. A file that was deleted meanwhile is replaced by a new one, which gets `out_` once more.
bool EventLog::write_out() {
  while (true) {
    if (!write_bytes()) return false;
    if (!was_removed()) break;
    leave_removed_file();
    if (!try_open_file()) return false;
  }
  out_.clear();
  if (out_.capacity() > kKeptBytes) out_.shrink_to_fit();
  out_written_ = header_bytes_ = 0;
  purge_written_ = true;
  return true;
}

bool EventLog::write_bytes() {
  const Transfer done = write_full(file_, std::string_view(out_).substr(out_written_));
  out_written_ += done.bytes;
  if (done.error == 0) return true;
  failed("cannot write event file " + path_, done.error);
  if (was_removed()) {
    leave_removed_file();  // its blocks are free only when it is closed
  } else if (descriptor_is_lost(done.error)) {
    leave_file();
  }
  return false;
}

// Before a new file: whole records stay in the old one, a record that was cut off is written again. A file without a
// whole header is of no use to anybody and goes: one such file per try would fill the folder.
void EventLog::leave_file() {
  close_file();
  size_t whole = 0;
  Record record;
  while (parse_record(std::string_view(out_).substr(whole, out_written_ - whole), record) == RecordState::complete) {
    whole += record.consumed;
  }
  if (whole >= header_bytes_) {
    purge_written_ = true;
  } else if (::unlink(path_.c_str()) == 0) {
    paths_.pop_back();
  }
  out_.erase(0, std::max(whole, header_bytes_));
  out_written_ = header_bytes_ = 0;
}

// All of `out_` goes into the next file, which gets a header of its own.
void EventLog::leave_removed_file() {
  removed_ = path_;
  close_file();
  out_.erase(0, header_bytes_);
  out_written_ = header_bytes_ = 0;
}

void EventLog::open_file() {
  namespace fs = std::filesystem;
  std::string header;
  size_t start = begin_record(header);
  encode_file_version(header, now(), kFileVersion);
  end_record(header, start);
  if (options_.purge_step.has_value() && !purge_written_) {
    start = begin_record(header);
    encode_session_log(header, now(), *options_.purge_step, SessionStatus::start);
    end_record(header, start);
  }

  fs::create_directories(options_.directory);
  // All memory is taken before there is a file: none may go on without its header.
  out_.reserve(out_.size() + header.size());
  paths_.reserve(paths_.size() + 1);
  std::string path;
  do {
    path_ = (fs::path(options_.directory) / file_name(options_)).string();
    path = path_;
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
  } while (file_ < 0 && errno == EEXIST);
  if (file_ < 0) {
    const std::error_code error(errno, std::generic_category());
    throw fs::filesystem_error("cannot create event file", path_, error);
  }
  paths_.push_back(std::move(path));
  out_.insert(0, header);
  header_bytes_ = header.size();
  if (!removed_.empty()) {
    report(true, "event file " + removed_ + " was removed while it was being written; what was in it is gone, and " +
                     path_ + " goes on from here");
    removed_.clear();
  }
}

bool EventLog::try_open_file() {
  try {
    open_file();
    return true;
  } catch (const std::system_error& error) {
    failed("cannot create an event file in " + options_.directory, error.code().value());
    return false;
  }
}

void EventLog::close_file() noexcept {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
}

// A deleted file still takes writes, into nowhere. Some network file systems report no links, so the path is asked too.
bool EventLog::was_removed() const {
  struct stat status;
  return ::fstat(file_, &status) == 0 && status.st_nlink == 0 && ::access(path_.c_str(), F_OK) != 0;
}

void EventLog::failed(std::string_view what, int error) {
  if (!failing_.exchange(true)) {
    report(true, std::string(what) + ": " + std::generic_category().message(error) +
                     ". Entries are kept in memory (at most " +
                     std::to_string(LogKeeper::instance().memory_limit() >> 20) +
                     " MiB in this process) and written when it is possible again");
  }
  LogKeeper::instance().schedule(*this, std::chrono::duration<double>(options_.retry_seconds));
}

void EventLog::recovered() {
  uint64_t lost;
  {
    const std::lock_guard lock(report_mutex_);
    failing_.store(false);
    lost = std::exchange(lost_entries_, 0);
  }
  if (lost > 0) {
    report(true, "event file " + path_ + " can be written again; " + std::to_string(lost) +
                     " entries were dropped meanwhile");
  } else {
    report(false, "event file " + path_ + " can be written again; nothing was lost");
  }
}

void EventLog::report(bool failure, std::string text) {
  const std::lock_guard lock(report_mutex_);
  if (reports_.size() < kMostReports) reports_.push_back({failure, std::move(text)});
  attention_.store(true);
}

// Runs in the child of a fork, with queue_mutex_ and report_mutex_ held: the file and what was pending belong to the
// parent.
void EventLog::become_child() noexcept {
  if (!io_mutex_.reclaim()) {
    // Another thread of the parent is writing, and may be changing any of these.
    abandon(path_);
    abandon(paths_);
    abandon(taken_);
    abandon(out_);
    abandon(removed_);
    abandon(scratch_);
  }
  queue_.clear();
  taken_.clear();
  out_.clear();
  queued_bytes_ = queued_entries_ = out_written_ = out_held_ = header_bytes_ = 0;
  removed_.clear();
  close_file();
  paths_.clear();
  reports_.clear();
  attention_.store(false);
  failing_.store(false);
  lost_entries_ = 0;
  purge_written_ = true;
}

}  // namespace aboard
