// SPDX-License-Identifier: Apache-2.0
// One event file that may grow, be replaced, be cut off or vanish while it is read.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plain_records.hpp"
#include "read_path.hpp"
#include "record_search.hpp"

namespace aboard {

class FileWindow;

// A longer record is skipped and counted as damaged: reading holds one record in memory, and files are not trusted.
constexpr uint64_t kLongestRecord = uint64_t{1} << 29;

// What a look at a file told.
enum class FileChange {
  none,
  grown,     // bytes behind those already read
  replaced,  // another file, or other bytes, under the same name: what was read of it no longer holds
  gone,
  unreadable,  // `EventFile::error` says why
};

// What is passed over while reading.
enum class DamageKind : uint8_t {
  bad_payload,  // a record whose payload does not match its checksum
  no_event,     // a valid record whose payload is no event
  too_long,     // a record beyond kLongestRecord
  bad_header,   // bytes between a damaged header and the next valid record
};

// Watches a file being read. What it throws ends the reading; the file must not be used afterwards.
class ReadObserver {
 public:
  virtual ~ReadObserver() = default;
  // The bytes [begin, end) are passed over.
  virtual void damaged(DamageKind kind, uint64_t begin, uint64_t end) = 0;
  // Reading has come to `offset`: told before each piece that is read from the disk.
  virtual void reached(uint64_t offset) = 0;
};

// Takes what is read of a file, in its order.
class RecordTaker {
 public:
  virtual ~RecordTaker() = default;
  // `payload` lies at `offset` of the file. Returns whether it is an event.
  virtual bool take(std::string_view payload, uint64_t offset) = 0;
  // Records that lie behind each other, the first of them at `offset`.
  virtual void take_plain(std::span<const PlainRecord> records, uint64_t offset) = 0;
};

struct Damage {
  uint64_t bad_records = 0;    // records whose payload did not match its checksum, is no event or far too long
  uint64_t skipped_bytes = 0;  // bytes between a damaged header and the next valid record
  uint64_t first_offset = 0;   // where the first of these is
};

// Which file was read, how it looked then, and how far reading came.
struct ReadingState {
  uint64_t device = 0, inode = 0, size = 0;
  int64_t modified_ns = 0, changed_ns = 0;
  uint64_t offset = 0;  // where the next record begins
  // Checksums of the first bytes and of those before `offset`.
  uint64_t proven_head_bytes = 0;
  uint32_t head_proof = 0, tail_proof = 0;
  RecordSearch search;  // while no valid record was found behind a damaged header
  Damage damage;
};

class EventFile {
 public:
  // `payload` lies at `offset` of the file. Returns whether it is an event.
  using Handler = std::function<bool(std::string_view payload, uint64_t offset)>;

  explicit EventFile(ReadPath path) : path_(std::move(path)) {}
  // Goes on where another object stopped. `still_holds` says whether it is the same file.
  EventFile(ReadPath path, ReadingState state) : path_(std::move(path)), known_(true), state_(std::move(state)) {}

  // Whether what was read of the file is still in it: reads the few bytes that prove it.
  bool still_holds() const;

  // Looks at the file's size and identity, without reading more than the few bytes that prove it is the same file.
  FileChange look();
  // Hands every whole record behind the last one to `handler`, verified, up to the size that the file has now. False
  // when it cannot be read now.
  bool read(const Handler& handler);
  // The same, where plain numbers are taken many at a time, and records from `limit` on are left.
  bool read(RecordTaker& taker, uint64_t limit = std::numeric_limits<uint64_t>::max());
  // Counts the records up to `end` as read, which others have verified. Another `read` must follow.
  void pass_over(uint64_t end) noexcept { state_.offset = end; }
  // Whether no record is known to begin at `offset`.
  bool is_searching() const noexcept { return state_.search.is_active; }
  // Wall time of the next event, which stays unread; nothing when there is none yet.
  std::optional<double> next_wall_time();
  // Whether `read` would find anything, even if only damage.
  bool has_more() const;
  // Records, by where they begin in ascending order, of which only the ends are here: their content is large, is not
  // looked at while reading, and is compared with its checksum by who looks.
  void trust(std::vector<uint64_t> hollow) { hollow_ = std::move(hollow); }
  // Must outlive the reading; nullptr for none.
  void observe(ReadObserver* observer) noexcept { observer_ = observer; }

  const ReadPath& path() const noexcept { return path_; }
  // Where the next record begins.
  uint64_t offset() const noexcept { return state_.offset; }
  uint64_t size() const noexcept { return state_.size; }
  // Bytes behind the last whole record: a record that is being written, or was cut off.
  uint64_t tail_bytes() const noexcept { return size() > offset() ? size() - offset() : 0; }
  const Damage& damage() const noexcept { return state_.damage; }
  const ReadingState& state() const noexcept { return state_; }
  // Of the last try to look or read; 0 when it succeeded.
  int error() const noexcept { return error_; }

 private:
  enum class Took { yes, no_event, stop };

  template <typename Take, typename TakePlain>
  bool scan(size_t piece, uint64_t limit, const Take& take, const TakePlain& take_plain);
  bool search(FileWindow& window);
  std::string_view bytes_at(FileWindow& window, uint64_t position, size_t needed) const;
  bool is_this(const struct stat& status) const noexcept;
  void adopt(const struct stat& status) noexcept;
  bool holds_what_was_read(int file) const;
  void remember_what_was_read(int file);
  void note_damage(DamageKind kind, uint64_t begin, uint64_t end);

  ReadPath path_;
  bool known_ = false;  // the state says which file it was, and how it looked
  ReadingState state_;
  int error_ = 0;
  std::vector<uint64_t> hollow_;
  ReadObserver* observer_ = nullptr;
};

// The payload of a record whose place is known, verified once more: the file may be another one by now.
std::optional<std::string> read_record_at(const ReadPath& path, uint64_t offset, uint64_t length);

}  // namespace aboard
