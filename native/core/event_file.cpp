// SPDX-License-Identifier: Apache-2.0
#include "event_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "crc32c.hpp"
#include "event.hpp"
#include "file_window.hpp"
#include "little_endian.hpp"
#include "posix_io.hpp"
#include "record.hpp"

namespace aboard {
namespace {

constexpr size_t kReadBytes = 256 << 10;  // fits into the cache of a core
constexpr size_t kPeekBytes = 16 << 10;   // for one record, most often
constexpr size_t kProofBytes = 4096;
constexpr size_t kRecordsAtOnce = 128;

constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();
constexpr auto kTakesNone = [](std::string_view, uint64_t) -> size_t { return 0; };

std::optional<uint32_t> checksum_of(int file, uint64_t begin, uint64_t end) {
  char bytes[kProofBytes];
  const auto size = static_cast<size_t>(end - begin);
  if (size > kProofBytes || pread_full(file, bytes, size, begin).bytes != size) return std::nullopt;
  return crc32c({bytes, size});
}

std::optional<uint32_t> checksum_before(int file, uint64_t offset) {
  return checksum_of(file, offset - std::min<uint64_t>(offset, kProofBytes), offset);
}

// Opening never waits, whatever the path names.
Fd opened(const ReadPath& path) { return Fd(path.open(O_RDONLY | O_CLOEXEC | O_NONBLOCK)); }

}  // namespace

// Tells the observer how far reading has come.
std::string_view EventFile::bytes_at(FileWindow& window, uint64_t position, size_t needed) const {
  if (observer_ != nullptr && !window.holds(position, needed)) observer_->reached(position);
  return window.at(position, needed);
}

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
  const bool nothing_read = state_.offset == 0 && !state_.search.is_active;
  if (!nothing_read) {
    if (!is_this(status) || size < std::max(state_.offset, state_.search.is_active ? state_.search.searched : 0))
      return FileChange::replaced;
    const bool looks_the_same = size == state_.size && state_.modified_ns == nanoseconds(status.st_mtim) &&
                                state_.changed_ns == nanoseconds(status.st_ctim);
    if (looks_the_same && error_ == 0) return FileChange::none;
    if (!looks_the_same) {
      const Fd file = opened(path_);
      if (!file.is_open()) {
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
  const Fd file = opened(path_);
  struct stat status;
  if (!file.is_open() || ::fstat(file.get(), &status) != 0) {
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
  FileWindow window(file.get(), state_.size, piece);
  bool stopped = false;
  while (!stopped && state_.offset < limit && (!state_.search.is_active || search(window))) {
    std::string_view bytes = bytes_at(window, state_.offset, kRecordHeaderBytes);
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
      bytes = bytes_at(window, state_.offset, needed);
      if (bytes.size() < needed) break;
      state = parse_record(bytes, record);
    }
    if (state == RecordState::bad_length) {
      state_.search.begin(state_.offset);
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

// False when there is no valid record yet behind a damaged header.
bool EventFile::search(FileWindow& window) {
  const uint64_t end = window.end();
  const uint64_t next =
      state_.search.advance({end, kLongestRecord, RecordSearch::kPatience * end},
                            [&](uint64_t position, size_t needed) { return bytes_at(window, position, needed); });
  note_damage(DamageKind::bad_header, state_.offset, next);
  state_.offset = next;
  return !state_.search.is_active;
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
  const Fd file = opened(path_);
  struct stat status;
  if (!file.is_open() || ::fstat(file.get(), &status) != 0 || !is_this(status)) return true;
  char header[kRecordHeaderBytes];
  const Transfer got = pread_full(file.get(), header, sizeof header, state_.offset);
  if (got.error == 0 && got.bytes < sizeof header) return false;
  if (got.error != 0 || state_.search.is_active || !is_valid_header(header)) return true;
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
  const Fd file = opened(path_);
  struct stat status;
  return file.is_open() && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) && is_this(status) &&
         static_cast<uint64_t>(status.st_size) >=
             std::max(state_.offset, state_.search.is_active ? state_.search.searched : 0) &&
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
  const Fd file = opened(path);
  struct stat status;
  if (!file.is_open() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const auto size = static_cast<uint64_t>(status.st_size);
  if (offset > size || length + kRecordFooterBytes > size - offset) return std::nullopt;
  std::string bytes(static_cast<size_t>(length) + kRecordOverheadBytes, '\0');
  if (pread_full(file.get(), bytes.data(), bytes.size(), offset - kRecordHeaderBytes).bytes < bytes.size()) {
    return std::nullopt;
  }
  Record record;
  if (parse_record(bytes, record) != RecordState::complete || record.payload.size() != length) return std::nullopt;
  return std::string(record.payload);
}

}  // namespace aboard
