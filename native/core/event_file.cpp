// SPDX-License-Identifier: Apache-2.0
#include "event_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "crc32c.hpp"
#include "event.hpp"
#include "little_endian.hpp"
#include "record.hpp"

namespace aboard {
namespace {

constexpr size_t kReadBytes = 256 << 10;  // fits into the cache of a core
constexpr size_t kPeekBytes = 16 << 10;   // for one record, most often
constexpr size_t kKeptBytes = 4 << 20;    // larger buffers are given back
constexpr size_t kProofBytes = 4096;
constexpr size_t kMostWaiting = 16;
constexpr size_t kRecordsAtOnce = 128;
constexpr uint64_t kPatience = 16;  // times the size of a file, for payloads that turn out to be none

constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();
constexpr auto kTakesNone = [](std::string_view, uint64_t) -> size_t { return 0; };

// A descriptor that closes itself. Opening never waits, whatever the path names.
class Descriptor {
 public:
  explicit Descriptor(const ReadPath& path) : value_(path.open(O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const noexcept { return value_; }

 private:
  int value_;
};

ssize_t read_at(int file, char* to, size_t size, uint64_t offset) {
  while (true) {
    const ssize_t got = ::pread(file, to, size, static_cast<off_t>(offset));
    if (got >= 0 || errno != EINTR) return got;
  }
}

std::optional<uint32_t> checksum_of(int file, uint64_t begin, uint64_t end) {
  char bytes[kProofBytes];
  const auto size = static_cast<size_t>(end - begin);
  if (size > kProofBytes || read_at(file, bytes, size, begin) != static_cast<ssize_t>(size)) return std::nullopt;
  return crc32c({bytes, size});
}

std::optional<uint32_t> checksum_before(int file, uint64_t offset) {
  return checksum_of(file, offset - std::min<uint64_t>(offset, kProofBytes), offset);
}

int64_t nanoseconds(const timespec& time) noexcept { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

bool header_is_valid(const char* header) noexcept {
  return masked_crc32c({header, sizeof(uint64_t)}) == load_little<uint32_t>(header + sizeof(uint64_t));
}

struct Buffer {
  std::unique_ptr<char[]> bytes;
  size_t capacity = 0;
};

// A buffer that the thread used before, for the next file: fresh memory costs more than reading into it. Whoever reads
// takes it out and puts it back, so that a file that is read while another one is has a buffer of its own.
Buffer& spare_buffer_of_thread() {
  static thread_local Buffer buffer;
  return buffer;
}

}  // namespace

// A part of a file in memory, moved on as it is asked for.
class EventFile::Window {
 public:
  // Reads `piece` bytes at a time, unless more are asked for.
  Window(int file, uint64_t end, size_t piece, ReadObserver* observer)
      : file_(file), end_(end), piece_(piece), observer_(observer) {
    std::swap(buffer_, spare_buffer_of_thread());
  }
  ~Window() {
    Buffer& spare = spare_buffer_of_thread();
    if (buffer_.capacity <= kKeptBytes && buffer_.capacity > spare.capacity) spare = std::move(buffer_);
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  uint64_t end() const noexcept { return end_; }
  int error() const noexcept { return error_; }

  // What is there from `position` on, at least `needed` bytes: fewer only at the end, or when reading fails.
  std::string_view at(uint64_t position, size_t needed) {
    if (position < base_ || position > base_ + filled_ || base_ + filled_ - position < needed) fill(position, needed);
    return {buffer_.bytes.get() + (position - base_), static_cast<size_t>(base_ + filled_ - position)};
  }

 private:
  void fill(uint64_t position, size_t needed) {
    if (observer_ != nullptr) observer_->reached(position);
    const size_t kept =
        position >= base_ && position < base_ + filled_ ? static_cast<size_t>(base_ + filled_ - position) : 0;
    const size_t capacity = std::max(piece_, needed);
    if (buffer_.capacity < capacity) {
      Buffer larger{std::make_unique_for_overwrite<char[]>(capacity), capacity};
      if (kept > 0) std::memcpy(larger.bytes.get(), buffer_.bytes.get() + (filled_ - kept), kept);
      buffer_ = std::move(larger);
    } else if (kept > 0) {
      std::memmove(buffer_.bytes.get(), buffer_.bytes.get() + (filled_ - kept), kept);
    }
    base_ = position;
    filled_ = kept;
    const uint64_t left = end_ > position ? end_ - position : 0;
    const auto wanted = static_cast<size_t>(std::min<uint64_t>(left, capacity));
    while (filled_ < wanted) {
      const ssize_t got = read_at(file_, buffer_.bytes.get() + filled_, wanted - filled_, position + filled_);
      if (got < 0) error_ = errno;
      if (got <= 0) break;
      filled_ += static_cast<size_t>(got);
    }
  }

  const int file_;
  const uint64_t end_;
  const size_t piece_;
  ReadObserver* const observer_;
  Buffer buffer_;
  uint64_t base_ = 0;
  size_t filled_ = 0;
  int error_ = 0;
};

FileChange EventFile::look() {
  struct stat status;
  if (path_.status(&status) != 0) {
    error_ = errno;
    return error_ == ENOENT || error_ == ENOTDIR ? FileChange::gone : FileChange::unreadable;
  }
  if (!S_ISREG(status.st_mode)) {
    error_ = S_ISDIR(status.st_mode) ? EISDIR : ESPIPE;
    return FileChange::unreadable;
  }
  const auto size = static_cast<uint64_t>(status.st_size);
  const bool nothing_read = state_.offset == 0 && !state_.searching;
  if (!nothing_read) {
    if (!is_this(status) || size < std::max(state_.offset, state_.searching ? state_.searched : 0))
      return FileChange::replaced;
    const bool looks_the_same = size == state_.size && state_.modified_ns == nanoseconds(status.st_mtim) &&
                                state_.changed_ns == nanoseconds(status.st_ctim);
    if (looks_the_same && error_ == 0) return FileChange::none;
    if (!looks_the_same) {
      const Descriptor file(path_);
      if (file.get() < 0) {
        error_ = errno;
        return FileChange::unreadable;
      }
      if (!holds_what_was_read(file.get())) return FileChange::replaced;
    }
  } else if (known_ && is_this(status) && size == state_.size && state_.modified_ns == nanoseconds(status.st_mtim) &&
             error_ == 0) {
    return FileChange::none;
  }
  adopt(status);
  error_ = 0;
  return size > state_.offset ? FileChange::grown : FileChange::none;
}

bool EventFile::is_this(const struct stat& status) const noexcept {
  return known_ && status.st_dev == state_.device && status.st_ino == state_.inode;
}

void EventFile::adopt(const struct stat& status) noexcept {
  known_ = true;
  state_.device = status.st_dev;
  state_.inode = status.st_ino;
  state_.size = static_cast<uint64_t>(status.st_size);
  state_.modified_ns = nanoseconds(status.st_mtim);
  state_.changed_ns = nanoseconds(status.st_ctim);
}

// `take_plain` gets what is there and returns how many bytes of it it took, in whole records.
template <typename Take, typename TakePlain>
bool EventFile::scan(size_t piece, uint64_t limit, const Take& take, const TakePlain& take_plain) {
  const Descriptor file(path_);
  struct stat status;
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) {
    error_ = errno;
    return false;
  }
  // Replaced since the last look: the next one will tell.
  if (!S_ISREG(status.st_mode) || (known_ && !is_this(status)) ||
      static_cast<uint64_t>(status.st_size) < state_.offset) {
    error_ = ESTALE;
    return false;
  }
  adopt(status);
  error_ = 0;
  Window window(file.get(), state_.size, piece, observer_);
  bool stopped = false;
  while (!stopped && state_.offset < limit && (!state_.searching || search(window))) {
    std::string_view bytes = window.at(state_.offset, kRecordHeaderBytes);
    if (const size_t taken =
            take_plain(bytes.substr(0, static_cast<size_t>(std::min<uint64_t>(limit - state_.offset, bytes.size()))),
                       state_.offset)) {
      state_.offset += taken;
      continue;
    }
    Record record;
    RecordState state = parse_record(bytes, record);
    if (state == RecordState::incomplete) {
      if (bytes.size() < kRecordHeaderBytes) break;
      const auto length = load_little<uint64_t>(bytes.data());
      const uint64_t behind_header = state_.size - state_.offset - kRecordHeaderBytes;
      if (behind_header < kRecordFooterBytes || length > behind_header - kRecordFooterBytes) break;
      if (length > kLongestRecord) {
        note_damage(DamageKind::too_long, state_.offset, state_.offset + length + kRecordOverheadBytes);
        state_.offset += length + kRecordOverheadBytes;
        continue;
      }
      const auto needed = static_cast<size_t>(length) + kRecordOverheadBytes;
      bytes = window.at(state_.offset, needed);
      if (bytes.size() < needed) break;
      state = parse_record(bytes, record);
    }
    if (state == RecordState::bad_length) {
      state_.searching = true;
      state_.searched = state_.offset;
      state_.waiting.clear();
      continue;
    }
    if (state == RecordState::bad_data && std::ranges::binary_search(hollow_, state_.offset)) {
      state = RecordState::complete;
    }
    const Took took =
        state == RecordState::complete ? take(record.payload, state_.offset + kRecordHeaderBytes) : Took::no_event;
    if (took == Took::no_event) {
      note_damage(state == RecordState::complete ? DamageKind::no_event : DamageKind::bad_payload, state_.offset,
                  state_.offset + record.consumed);
    }
    stopped = took == Took::stop;
    if (!stopped) state_.offset += record.consumed;
  }
  remember_what_was_read(file.get());
  error_ = window.error();
  return error_ == 0;
}

// Looks for a valid record behind a damaged header. False when there is none yet; what was searched is never searched
// again. Takes linear time also in a file made to prevent that, in which it may pass over records.
bool EventFile::search(Window& window) {
  const uint64_t end = window.end();
  const uint64_t before = state_.offset;
  const auto probe = [&](uint64_t position) {
    const std::string_view header = window.at(position, kRecordHeaderBytes);
    if (header.size() < kRecordHeaderBytes) return RecordState::incomplete;
    const auto length = load_little<uint64_t>(header.data());
    if (length > kLongestRecord || !header_is_valid(header.data())) return RecordState::bad_length;
    if (length + kRecordOverheadBytes > end - position) return RecordState::incomplete;
    if (state_.wasted + length > kPatience * end) return RecordState::bad_data;
    Record record;
    const RecordState state =
        parse_record(window.at(position, static_cast<size_t>(length) + kRecordOverheadBytes), record);
    if (state == RecordState::bad_data) state_.wasted += length;
    return state;
  };
  const auto skip_to = [&](uint64_t position, bool found) {
    note_damage(DamageKind::bad_header, before, position);
    state_.offset = position;
    state_.searching = !found;
    return found;
  };

  for (auto position = state_.waiting.begin(); position != state_.waiting.end();) {
    const RecordState state = probe(*position);
    if (state == RecordState::complete) return skip_to(*position, true);
    position = state == RecordState::incomplete ? position + 1 : state_.waiting.erase(position);
  }
  for (; state_.searched + kRecordHeaderBytes <= end && window.error() == 0; ++state_.searched) {
    const RecordState state = probe(state_.searched);
    if (state == RecordState::complete) return skip_to(state_.searched, true);
    if (state == RecordState::incomplete && state_.waiting.size() < kMostWaiting)
      state_.waiting.push_back(state_.searched);
  }
  return skip_to(state_.waiting.empty() ? state_.searched : state_.waiting.front(), false);
}

bool EventFile::read(const Handler& handler) {
  return scan(
      kReadBytes, kNoLimit,
      [&](std::string_view payload, uint64_t offset) { return handler(payload, offset) ? Took::yes : Took::no_event; },
      kTakesNone);
}

bool EventFile::read(RecordTaker& taker, uint64_t limit) {
  PlainRecord records[kRecordsAtOnce];
  return scan(
      kReadBytes, limit,
      [&](std::string_view payload, uint64_t offset) {
        return taker.take(payload, offset) ? Took::yes : Took::no_event;
      },
      [&](std::string_view bytes, uint64_t offset) {
        const PlainRecords plain = decode_plain_records(bytes, records);
        if (plain.count > 0) taker.take_plain({records, plain.count}, offset);
        return plain.bytes;
      });
}

std::optional<double> EventFile::next_wall_time() {
  std::optional<double> wall_time;
  scan(
      kPeekBytes, kNoLimit,
      [&](std::string_view payload, uint64_t) {
        EventView event;
        if (!decode_event(payload, event)) return Took::no_event;
        wall_time = event.wall_time;
        return Took::stop;
      },
      kTakesNone);
  return wall_time;
}

bool EventFile::has_more() const {
  const Descriptor file(path_);
  struct stat status;
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0 || !is_this(status)) return true;
  char header[kRecordHeaderBytes];
  const ssize_t got = read_at(file.get(), header, sizeof header, state_.offset);
  if (got >= 0 && got < static_cast<ssize_t>(sizeof header)) return false;
  if (got < 0 || state_.searching || !header_is_valid(header)) return true;
  const auto length = load_little<uint64_t>(header);
  const uint64_t behind_header = static_cast<uint64_t>(status.st_size) - state_.offset - kRecordHeaderBytes;
  return behind_header >= kRecordFooterBytes && length <= behind_header - kRecordFooterBytes;
}

void EventFile::note_damage(DamageKind kind, uint64_t begin, uint64_t end) {
  Damage& damage = state_.damage;
  if (damage.bad_records == 0 && damage.skipped_bytes == 0) damage.first_offset = begin;
  if (kind == DamageKind::bad_header) {
    damage.skipped_bytes += end - begin;
  } else {
    ++damage.bad_records;
  }
  if (observer_ != nullptr && end > begin) observer_->damaged(kind, begin, end);
}

bool EventFile::still_holds() const {
  const Descriptor file(path_);
  struct stat status;
  return file.get() >= 0 && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) && is_this(status) &&
         static_cast<uint64_t>(status.st_size) >= std::max(state_.offset, state_.searching ? state_.searched : 0) &&
         holds_what_was_read(file.get());
}

bool EventFile::holds_what_was_read(int file) const {
  return checksum_of(file, 0, state_.proven_head_bytes) == state_.head_proof &&
         checksum_before(file, state_.offset) == state_.tail_proof;
}

// A file that cannot be proven is taken for another one by the next look.
void EventFile::remember_what_was_read(int file) {
  const uint64_t head = std::min<uint64_t>(state_.offset, kProofBytes);
  if (head != state_.proven_head_bytes) {
    state_.proven_head_bytes = head;
    state_.head_proof = checksum_of(file, 0, head).value_or(0);
  }
  state_.tail_proof = checksum_before(file, state_.offset).value_or(0);
}

std::optional<std::string> read_record_at(const ReadPath& path, uint64_t offset, uint64_t length) {
  if (offset < kRecordHeaderBytes || length > kLongestRecord) return std::nullopt;
  const Descriptor file(path);
  struct stat status;
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const auto size = static_cast<uint64_t>(status.st_size);
  if (offset > size || length + kRecordFooterBytes > size - offset) return std::nullopt;
  std::string bytes(static_cast<size_t>(length) + kRecordOverheadBytes, '\0');
  for (size_t filled = 0; filled < bytes.size();) {
    const ssize_t got =
        read_at(file.get(), bytes.data() + filled, bytes.size() - filled, offset - kRecordHeaderBytes + filled);
    if (got <= 0) return std::nullopt;
    filled += static_cast<size_t>(got);
  }
  Record record;
  if (parse_record(bytes, record) != RecordState::complete || record.payload.size() != length) return std::nullopt;
  return std::string(record.payload);
}

}  // namespace aboard
