// SPDX-License-Identifier: Apache-2.0
#include "parts_ahead.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <exception>

namespace aboard {
namespace {

template <typename Thing>
Thing take_last(std::vector<Thing>& things) noexcept {
  Thing last = std::move(things.back());
  things.pop_back();
  return last;
}

// Nothing is lost when it cannot be kept.
template <typename Thing>
void keep(std::vector<Thing>& things, Thing thing) noexcept {
  try {
    things.push_back(std::move(thing));
  } catch (const std::exception&) {
  }
}

}  // namespace

PartsAhead::PartsAhead(const ReadPath& path, uint64_t device, uint64_t inode, uint64_t begin, uint64_t end,
                       uint64_t part_bytes, size_t most_ahead)
    : begin_(begin),
      end_(end),
      part_bytes_(part_bytes),
      most_ahead_(most_ahead),
      parts_(static_cast<size_t>((end - begin + part_bytes - 1) / part_bytes)) {
  file_.reset(path.open(O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status;
  // Another file by now: the reading thread will say so.
  stopped_ =
      !file_.is_open() || ::fstat(file_.get(), &status) != 0 || status.st_dev != device || status.st_ino != inode;
}

uint64_t PartsAhead::limit(size_t part) const noexcept { return std::min(begin_of(part + 1), end_); }

bool PartsAhead::help() noexcept {
  std::unique_lock lock(mutex_);
  return decode_one(lock);
}

bool PartsAhead::decode_one(std::unique_lock<std::mutex>& lock) noexcept {
  if (stopped_) return false;
  const size_t last = std::min(parts_.size(), reading_ + 1 + most_ahead_);
  for (size_t number = reading_ + 1; number < last; ++number) {
    Part& part = parts_[number];
    if (part.state != PartState::free) continue;
    part.state = PartState::in_work;
    Memory memory;
    if (!spare_parts_.empty()) memory.part = take_last(spare_parts_);
    if (!spare_buffers_.empty()) memory.buffer = take_last(spare_buffers_);
    lock.unlock();
    auto decoded = decode(number, memory);
    lock.lock();
    part.decoded = std::move(decoded);
    part.state = PartState::decoded;
    keep(spare_buffers_, std::move(memory.buffer));
    decoded_.notify_all();
    return true;
  }
  return false;
}

std::unique_ptr<DecodedPart> PartsAhead::decode(size_t number, Memory& memory) const noexcept {
  try {
    if (!memory.part) memory.part = std::make_unique<DecodedPart>();
    memory.part->decode(file_.get(), begin_of(number), limit(number), memory.buffer);
    return std::move(memory.part);
  } catch (const std::exception&) {
    return nullptr;  // no memory: the reading thread will meet that too, and say so
  }
}

std::unique_ptr<DecodedPart> PartsAhead::take(size_t number) {
  std::unique_lock lock(mutex_);
  reading_ = number;
  Part& part = parts_[number];
  while (part.state == PartState::in_work) {
    if (!decode_one(lock)) decoded_.wait(lock, [&] { return part.state != PartState::in_work; });
  }
  part.state = PartState::taken;
  return std::move(part.decoded);
}

void PartsAhead::give_back(std::unique_ptr<DecodedPart> part) {
  const std::lock_guard lock(mutex_);
  keep(spare_parts_, std::move(part));
}

void PartsAhead::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
}

}  // namespace aboard
