// SPDX-License-Identifier: Apache-2.0
// Where the values of a tag that is no scalar lie in the files, with the interface of Columns.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace aboard {

// Where a summary that is not a number lies: it is read when somebody looks at it.
struct MediaEntry {
  int64_t step;
  double wall_time;
  uint64_t offset;  // of the record's payload in its file
  uint64_t length;
  uint32_t file;         // index among the logdir's files
  uint32_t value_index;  // which value of the summary

  friend bool operator==(const MediaEntry&, const MediaEntry&) = default;
};

// As with Columns, `push` may run while other threads copy what was there before; all else needs their lock, or takes
// it as `readers`.
class MediaRows {
 public:
  using Row = MediaEntry;
  static constexpr size_t kFew = 16384;  // rows that may be moved while readers wait

  MediaRows() = default;
  explicit MediaRows(std::span<const Row> rows) : rows_(rows.begin(), rows.end()), size_(rows.size()) {}

  size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  int64_t step(size_t at) const noexcept { return rows_[at].step; }
  double wall_time(size_t at) const noexcept { return rows_[at].wall_time; }
  const Row& row(size_t at) const noexcept { return rows_[at]; }
  // Looks at nothing when `size` is 0.
  std::span<const Row> first(size_t size) const noexcept {
    return size == 0 ? std::span<const Row>() : std::span(rows_).first(size);
  }

  bool is_sound() const noexcept { return true; }
  bool full() const noexcept { return size_ == rows_.size(); }
  bool has_room(size_t more) const noexcept { return more <= rows_.size() - size_; }
  void grow(size_t wanted = 0) {
    rows_.reserve(std::max(wanted, size_ + size_ / 2 + 1));
    rows_.resize(rows_.capacity());
  }
  void grow(size_t wanted, std::mutex& readers) {
    MediaRows larger = copy(size_, std::max(wanted, size_ + size_ / 2 + 1));
    const std::lock_guard lock(readers);
    std::swap(*this, larger);
  }
  void push(const Row& row) noexcept { rows_[size_++] = row; }
  void append(Row row) {
    if (full()) grow();
    push(row);
  }
  void append(const MediaRows& other, size_t begin, size_t end) {
    for (size_t at = begin; at < end; ++at) append(other.rows_[at]);
  }
  void truncate(size_t size) noexcept {
    if (size < size_) size_ = size;
  }
  void settle() {
    if (rows_.capacity() <= size_ + size_ / 64 + 4) return;
    rows_.resize(size_);
    rows_.shrink_to_fit();
  }
  void settle(std::mutex& readers) {
    if (rows_.capacity() <= size_ + size_ / 64 + 4) return;
    MediaRows exact = copy(size_, size_);
    const std::lock_guard lock(readers);
    std::swap(*this, exact);
  }
  // The first `size` rows, with room for `capacity`.
  MediaRows copy(size_t size, size_t capacity) const {
    MediaRows made;
    made.rows_.reserve(capacity);
    made.rows_.assign(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(size));
    made.rows_.resize(capacity);
    made.size_ = size;
    return made;
  }
  // Readers copy rows under their lock, and hold none.
  bool is_exclusive() const noexcept { return true; }
  size_t capacity() const noexcept { return rows_.size(); }

 private:
  std::vector<Row> rows_;  // of which the first `size_` are in use
  size_t size_ = 0;
};

}  // namespace aboard
