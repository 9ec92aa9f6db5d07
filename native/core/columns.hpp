// SPDX-License-Identifier: Apache-2.0
// Scalar points as three columns (step, wall time, value): 24 bytes a point, growing at the end, shared without
// copying.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>

namespace aboard {

struct ScalarPoint {
  int64_t step;
  double wall_time;
  double value;
};

// Columns in somebody else's memory, for example in a mapped file, and what their checksums must be.
struct ForeignColumns {
  const int64_t* steps;
  const double* wall_times;
  const double* values;
  size_t size;
  uint32_t checksums[3];
};

// Columns that lie packed in a file (packed_columns.hpp), and what the checksum of these bytes must be.
struct PackedColumns {
  std::shared_ptr<const std::string> path;
  uint64_t offset;
  uint64_t length;
  size_t size;  // points
  uint32_t checksum;
};

// The memory of three columns: its own, or somebody else's that is only read.
class ColumnBlock {
 public:
  explicit ColumnBlock(size_t capacity);
  ColumnBlock(const ForeignColumns& columns, std::shared_ptr<const void> owner) noexcept;
  // Of packed columns, which are fetched and unpacked when `is_sound` is first asked.
  explicit ColumnBlock(PackedColumns columns);
  ~ColumnBlock();
  ColumnBlock(const ColumnBlock&) = delete;
  ColumnBlock& operator=(const ColumnBlock&) = delete;

  size_t capacity() const noexcept { return capacity_; }
  // Whether what is in it is what was put there. Somebody else's memory is looked through when this is first asked, as
  // are packed columns, and must not be looked at before. Any thread may ask.
  bool is_known_to_be_sound() const noexcept { return soundness_.load(std::memory_order_acquire) == Soundness::sound; }
  bool is_sound() const noexcept {
    const Soundness known = soundness_.load(std::memory_order_acquire);
    return known == Soundness::unknown ? find_sound() : known == Soundness::sound;
  }
  // Keeps the first `used` points. Needs a block that nobody else holds: the columns may move.
  void set_capacity(size_t capacity, size_t used);

  int64_t* steps = nullptr;
  double* wall_times = nullptr;
  double* values = nullptr;

 private:
  ColumnBlock(size_t capacity, bool in_one_piece);  // does not know its capacity
  void release() noexcept;
  enum class Soundness : uint8_t { sound, unknown, damaged };
  bool find_sound() const noexcept;
  bool unpack() noexcept;

  size_t capacity_ = 0;
  uint32_t checksums_[3] = {};
  mutable std::atomic<Soundness> soundness_{Soundness::sound};
  bool in_one_piece_ = true;
  std::shared_ptr<const void> owner_;  // of memory that is not its own
  std::unique_ptr<const PackedColumns> packed_;
};

// A part of a block, unchanged for as long as it is held.
struct ColumnView {
  std::shared_ptr<const ColumnBlock> block;
  size_t begin = 0;
  size_t size = 0;

  std::span<const int64_t> steps() const noexcept { return {block ? block->steps + begin : nullptr, size}; }
  std::span<const double> wall_times() const noexcept { return {block ? block->wall_times + begin : nullptr, size}; }
  std::span<const double> values() const noexcept { return {block ? block->values + begin : nullptr, size}; }
};

// Columns that grow. Views that were taken before stay valid and unchanged.
//
// `push` may run while other threads take views of what was there before; everything else needs a lock that they take
// too. A block of which a view was ever taken is only written behind what the view shows: whatever would move or
// overwrite it works on a copy. (Asking whether somebody still holds it would not be enough: the count of a shared_ptr
// orders nothing.) Functions with a parameter `readers` lock it themselves: they copy many points before they take it.
class Columns {
 public:
  using Row = ScalarPoint;
  static constexpr size_t kFew = 16384;  // points that may be copied while readers wait: for 0.1 ms or so

  Columns() = default;
  // Columns over somebody else's memory, or packed ones: the first change moves them into their own.
  Columns(std::shared_ptr<ColumnBlock> block, size_t size) noexcept
      : block_(std::move(block)), size_(size), capacity_(size), exposed_(true) {}
  Columns(Columns&& other) noexcept { *this = std::move(other); }
  Columns& operator=(Columns&& other) noexcept;

  size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  int64_t step(size_t at) const noexcept { return block_->steps[at]; }
  double wall_time(size_t at) const noexcept { return block_->wall_times[at]; }
  double value(size_t at) const noexcept { return block_->values[at]; }
  Row row(size_t at) const noexcept { return {step(at), wall_time(at), value(at)}; }
  // Valid until the next change.
  std::span<const int64_t> steps() const noexcept { return {block_ ? block_->steps : nullptr, size_}; }
  std::span<const double> wall_times() const noexcept { return {block_ ? block_->wall_times : nullptr, size_}; }
  std::span<const double> values() const noexcept { return {block_ ? block_->values : nullptr, size_}; }

  // Must be asked of columns over somebody else's memory before anything but their size is.
  bool is_sound() const noexcept { return block_ == nullptr || block_->is_sound(); }

  bool full() const noexcept { return size_ == capacity_; }
  bool has_room(size_t more) const noexcept { return more <= capacity_ - size_; }
  // Makes room for one more at least, and for `wanted` in all where that is more.
  void grow(size_t wanted = 0) { make_room(std::max(size_ + 1, wanted)); }
  void grow(size_t wanted, std::mutex& readers);
  // Needs room.
  void push(const Row& row) noexcept {
    block_->steps[size_] = row.step;
    block_->wall_times[size_] = row.wall_time;
    block_->values[size_] = row.value;
    ++size_;
  }
  void append(const Row& row) {
    if (full()) grow();
    push(row);
  }
  void append(const Columns& other, size_t begin, size_t end);
  // Forgets all points from `size` on.
  void truncate(size_t size);
  // Gives back memory that is not needed.
  void settle();
  void settle(std::mutex& readers);
  // The first `size` points in memory of their own, with room for `capacity`.
  Columns copy(size_t size, size_t capacity) const;
  // Whether the points may be overwritten where they are: no view of them was ever taken. Needs the readers' lock.
  bool is_exclusive() const noexcept { return block_ == nullptr || !exposed_; }
  size_t capacity() const noexcept { return capacity_; }
  // The first `size` points. A view of none holds no block.
  ColumnView view(size_t size) const noexcept;
  ColumnView view() const noexcept { return view(size_); }

 private:
  size_t capacity_for(size_t needed) const noexcept;
  void make_room(size_t needed);
  void move_to_own_block(size_t capacity);
  std::shared_ptr<ColumnBlock> block_;
  size_t size_ = 0;
  size_t capacity_ = 0;           // of the block
  mutable bool exposed_ = false;  // a view of the block was taken; read and written under the readers' lock
};

}  // namespace aboard
