// SPDX-License-Identifier: Apache-2.0
#include "columns.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <new>
#include <utility>

#include "crc32c.hpp"
#include "fork_safety.hpp"
#include "mapped_memory.hpp"
#include "packed_columns.hpp"
#include "posix_io.hpp"

namespace aboard {
namespace {

constexpr size_t kSmallest = 2;           // many tags have one point
constexpr size_t kMostInOnePiece = 4096;  // points

template <typename Element>
void resize(Element*& column, size_t capacity) {
  auto* moved = static_cast<Element*>(std::realloc(column, capacity * sizeof(Element)));
  if (moved == nullptr) throw std::bad_alloc();
  column = moved;
}

// Taken by who unpacks a block, which may wait for a disk. There may be very many blocks, which share these.
class UnpackingLocks final : public ForkAware {
 public:
  UnpackingLocks() { enroll_for_fork(*this); }
  ForkableMutex& of(const ColumnBlock* block) {
    return mutexes_[std::hash<const void*>()(block) / alignof(ColumnBlock) % std::size(mutexes_)];
  }

 private:
  // A block that another thread of the parent was unpacking still has no known soundness: the child unpacks it again.
  void after_fork_in_child() noexcept override {
    for (ForkableMutex& mutex : mutexes_) mutex.reclaim();
  }

  ForkableMutex mutexes_[16];
};

// Made when the process starts: a fork while the first thread makes it would leave the child waiting for that thread.
// Never destroyed: threads may still read when the process ends.
UnpackingLocks& unpacking_locks = *new UnpackingLocks;

}  // namespace

ColumnBlock::ColumnBlock(size_t capacity) {
  try {
    set_capacity(capacity, 0);
  } catch (...) {
    release();
    throw;
  }
}

// The pointers are only written through by the one `Columns` that made the block, which never does so here.
ColumnBlock::ColumnBlock(const ForeignColumns& columns, std::shared_ptr<const void> owner) noexcept
    : steps(const_cast<int64_t*>(columns.steps)),
      wall_times(const_cast<double*>(columns.wall_times)),
      values(const_cast<double*>(columns.values)),
      capacity_(columns.size),
      checksums_{columns.checksums[0], columns.checksums[1], columns.checksums[2]},
      soundness_(Soundness::unknown),
      owner_(std::move(owner)) {}

ColumnBlock::ColumnBlock(PackedColumns columns)
    : capacity_(columns.size),
      soundness_(Soundness::unknown),
      packed_(std::make_unique<const PackedColumns>(std::move(columns))) {}

// Several threads may do so at once: they find the same.
bool ColumnBlock::find_sound() const noexcept {
  if (packed_) return const_cast<ColumnBlock*>(this)->unpack();  // blocks are never made const
  const size_t bytes = capacity_ * sizeof(double);
  const auto* const begin = reinterpret_cast<const char*>(steps);
  // An index has the columns of a tag one behind the other: one question to the system instead of three.
  const bool are_adjacent = reinterpret_cast<const char*>(wall_times) == begin + bytes &&
                            reinterpret_cast<const char*>(values) == begin + 2 * bytes;
  const bool are_readable = are_adjacent && is_readable(begin, 3 * bytes);
  const auto is_right = [&](const void* column, uint32_t checksum) {
    return (are_readable || is_readable(column, bytes)) &&
           crc32c({static_cast<const char*>(column), bytes}) == checksum;
  };
  const bool sound =
      is_right(steps, checksums_[0]) && is_right(wall_times, checksums_[1]) && is_right(values, checksums_[2]);
  soundness_.store(sound ? Soundness::sound : Soundness::damaged, std::memory_order_release);
  return sound;
}

bool ColumnBlock::unpack() noexcept {
  const std::lock_guard lock(unpacking_locks.of(this));
  const Soundness known = soundness_.load(std::memory_order_acquire);
  if (known != Soundness::unknown) return known == Soundness::sound;
  bool sound = false;
  try {
    const auto bytes = read_file_range(*packed_->path, packed_->offset, packed_->length);
    if (bytes && crc32c(*bytes) == packed_->checksum && capacity_ / kMostPointsPerByte <= bytes->size()) {
      ColumnBlock room(capacity_, capacity_ <= kMostInOnePiece);
      sound = unpack_columns(*bytes, capacity_, room.steps, room.wall_times, room.values);
      // A child that is forked in between owns what it finds here, and frees no more than that when it unpacks again.
      std::swap(steps, room.steps);
      std::swap(wall_times, room.wall_times);
      std::swap(values, room.values);
      std::swap(in_one_piece_, room.in_one_piece_);
    }
  } catch (const std::bad_alloc&) {
    // As if it were damaged: reading the event files needs less memory at once.
  }
  soundness_.store(sound ? Soundness::sound : Soundness::damaged, std::memory_order_release);
  return sound;
}

ColumnBlock::~ColumnBlock() { release(); }

void ColumnBlock::release() noexcept {
  if (owner_) return;
  std::free(steps);
  if (in_one_piece_) return;
  std::free(wall_times);
  std::free(values);
}

// Short columns lie in one piece of memory, of which there may be very many. Long ones lie apart: the system can make
// them longer without copying.
void ColumnBlock::set_capacity(size_t capacity, size_t used) {
  if (!in_one_piece_ && capacity > kMostInOnePiece) {
    // A column that could not be made larger leaves the others larger than they say, which does no harm.
    resize(steps, capacity);
    resize(wall_times, capacity);
    resize(values, capacity);
    capacity_ = capacity;
    return;
  }
  ColumnBlock other(capacity, capacity <= kMostInOnePiece);
  std::copy_n(steps, used, other.steps);
  std::copy_n(wall_times, used, other.wall_times);
  std::copy_n(values, used, other.values);
  std::swap(steps, other.steps);
  std::swap(wall_times, other.wall_times);
  std::swap(values, other.values);
  std::swap(in_one_piece_, other.in_one_piece_);
  capacity_ = capacity;
}

ColumnBlock::ColumnBlock(size_t capacity, bool in_one_piece) : in_one_piece_(in_one_piece) {
  if (!in_one_piece) {
    try {
      resize(steps, capacity);
      resize(wall_times, capacity);
      resize(values, capacity);
    } catch (...) {
      release();
      throw;
    }
    return;
  }
  static_assert(sizeof(int64_t) == sizeof(double) && alignof(int64_t) == alignof(double));
  auto* piece = static_cast<char*>(std::malloc(std::max<size_t>(capacity, 1) * 3 * sizeof(double)));
  if (piece == nullptr) throw std::bad_alloc();
  steps = reinterpret_cast<int64_t*>(piece);
  wall_times = reinterpret_cast<double*>(piece + capacity * sizeof(double));
  values = reinterpret_cast<double*>(piece + 2 * capacity * sizeof(double));
}

Columns& Columns::operator=(Columns&& other) noexcept {
  block_ = std::move(other.block_);
  size_ = std::exchange(other.size_, 0);
  capacity_ = std::exchange(other.capacity_, 0);
  exposed_ = std::exchange(other.exposed_, false);
  return *this;
}

void Columns::append(const Columns& other, size_t begin, size_t end) {
  const size_t count = end - begin;
  if (count == 0) return;
  if (size_ + count > capacity_) make_room(size_ + count);
  std::copy_n(other.block_->steps + begin, count, block_->steps + size_);
  std::copy_n(other.block_->wall_times + begin, count, block_->wall_times + size_);
  std::copy_n(other.block_->values + begin, count, block_->values + size_);
  size_ += count;
}

void Columns::truncate(size_t size) {
  if (size >= size_) return;
  const size_t capacity = capacity_;
  size_ = size;
  if (exposed_) move_to_own_block(std::min(capacity, std::max(size + size / 2, kSmallest)));
}

void Columns::grow(size_t wanted, std::mutex& readers) {
  const size_t needed = std::max(size_ + 1, wanted);
  if (size_ <= kFew) {
    const std::lock_guard lock(readers);
    make_room(needed);
    return;
  }
  Columns larger = copy(size_, capacity_for(needed));
  const std::lock_guard lock(readers);
  std::swap(*this, larger);
}

// To make a block that nobody has seen shorter copies few points, or none.
void Columns::settle(std::mutex& readers) {
  if (full()) return;
  {
    const std::lock_guard lock(readers);
    if (!exposed_) return settle();
  }
  Columns exact = copy(size_, size_);
  const std::lock_guard lock(readers);
  std::swap(*this, exact);
}

Columns Columns::copy(size_t size, size_t capacity) const {
  Columns made;
  made.move_to_own_block(capacity);
  made.append(*this, 0, size);
  return made;
}

void Columns::settle() {
  if (full()) return;
  if (exposed_) {
    move_to_own_block(size_);
  } else {
    block_->set_capacity(size_, size_);
    capacity_ = size_;
  }
}

ColumnView Columns::view(size_t size) const noexcept {
  if (size == 0 || block_ == nullptr) return {};  // where nothing is shown, the block may change without the lock
  exposed_ = true;
  return {block_, 0, size};
}

size_t Columns::capacity_for(size_t needed) const noexcept {
  const size_t more = capacity_ < 64 ? capacity_ * 2 : capacity_ / 2 * 3;
  return std::max({needed, kSmallest, more});
}

void Columns::make_room(size_t needed) {
  const size_t capacity = capacity_for(needed);
  if (block_ == nullptr || exposed_) {
    move_to_own_block(capacity);
  } else {
    block_->set_capacity(capacity, size_);
    capacity_ = capacity;
  }
}

void Columns::move_to_own_block(size_t capacity) {
  auto block = std::make_shared<ColumnBlock>(capacity);
  if (size_ > 0) {
    std::copy_n(block_->steps, size_, block->steps);
    std::copy_n(block_->wall_times, size_, block->wall_times);
    std::copy_n(block_->values, size_, block->values);
  }
  block_ = std::move(block);
  capacity_ = capacity;
  exposed_ = false;
}

}  // namespace aboard
