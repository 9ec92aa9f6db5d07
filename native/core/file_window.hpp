// SPDX-License-Identifier: Apache-2.0
// A part of an open file in memory, which moves as it is read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "posix_io.hpp"

namespace aboard {

class FileWindow {
 public:
  // Reads up to the offset `end`, `piece` bytes at a time unless more are needed.
  FileWindow(int file, uint64_t end, size_t piece) : file_(file), end_(end), piece_(piece) {
    std::swap(buffer_, spare_buffer_of_thread());
  }
  ~FileWindow() {
    Buffer& spare = spare_buffer_of_thread();
    if (buffer_.capacity <= kKeptBytes && buffer_.capacity > spare.capacity) spare = std::move(buffer_);
  }
  FileWindow(const FileWindow&) = delete;
  FileWindow& operator=(const FileWindow&) = delete;

  uint64_t end() const noexcept { return end_; }
  int error() const noexcept { return error_; }
  bool holds(uint64_t position, size_t needed) const noexcept {
    return position >= base_ && position <= base_ + filled_ && base_ + filled_ - position >= needed;
  }
  // The bytes from `position` on, at least `needed` of them: fewer only at the end, or when reading fails.
  std::string_view at(uint64_t position, size_t needed) {
    if (!holds(position, needed)) fill(position, needed);
    return {buffer_.bytes.get() + (position - base_), static_cast<size_t>(base_ + filled_ - position)};
  }

 private:
  static constexpr size_t kKeptBytes = 4 << 20;  // larger buffers are freed

  struct Buffer {
    std::unique_ptr<char[]> bytes;
    size_t capacity = 0;
  };

  // A buffer that the thread used before: fresh memory costs more than reading into it. A window takes it out and puts
  // it back, so a file that is read inside the reading of another one has a buffer of its own.
  static Buffer& spare_buffer_of_thread() {
    static thread_local Buffer buffer;
    return buffer;
  }

  void fill(uint64_t position, size_t needed) {
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
    if (filled_ >= wanted) return;
    const Transfer read = pread_full(file_, buffer_.bytes.get() + filled_, wanted - filled_, position + filled_);
    if (read.error != 0) error_ = read.error;
    filled_ += read.bytes;
  }

  const int file_;
  const uint64_t end_;
  const size_t piece_;
  Buffer buffer_;
  uint64_t base_ = 0;
  size_t filled_ = 0;
  int error_ = 0;
};

}  // namespace aboard
