// SPDX-License-Identifier: Apache-2.0
#include "columns.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

namespace aboard {
namespace {

constexpr size_t kSmallest = 3;  // what the smallest piece of memory holds; many tags have one point
constexpr size_t kSlackToKeep = 16;

template <typename Element>
void resize(Element*& column, size_t capacity) {
  auto* moved = static_cast<Element*>(std::realloc(column, std::max<size_t>(capacity, 1) * sizeof(Element)));
  if (moved == nullptr) throw std::bad_alloc();
  column = moved;
}

}  // namespace

ColumnBlock::ColumnBlock(size_t capacity) {
  try {
    set_capacity(capacity);
  } catch (...) {
    release();
    throw;
  }
}

ColumnBlock::~ColumnBlock() { release(); }

void ColumnBlock::release() noexcept {
  std::free(steps);
  std::free(wall_times);
  std::free(values);
}

void ColumnBlock::set_capacity(size_t capacity) {
  // A column that could not be made larger leaves the others larger than they say, which does no harm.
  resize(steps, capacity);
  resize(wall_times, capacity);
  resize(values, capacity);
  capacity_ = capacity;
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

void Columns::settle() {
  if (capacity_ <= size_ + std::max(size_ / 64, kSlackToKeep)) return;
  if (exposed_) {
    move_to_own_block(size_);
  } else {
    block_->set_capacity(size_);
    capacity_ = size_;
  }
}

ColumnView Columns::view(size_t size) const noexcept {
  if (block_ != nullptr) exposed_ = true;
  return {block_, 0, size};
}

void Columns::make_room(size_t needed) {
  const size_t capacity = std::max({needed, kSmallest, capacity_ < 64 ? capacity_ * 2 : capacity_ / 2 * 3});
  if (block_ == nullptr || exposed_) {
    move_to_own_block(capacity);
  } else {
    block_->set_capacity(capacity);
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
