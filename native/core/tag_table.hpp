// SPDX-License-Identifier: Apache-2.0
// Numbers for names that come from files nobody vouches for: a hash table whose hash cannot be foreseen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace aboard {

// SipHash-1-3 with a key that is drawn once per process.
uint64_t keyed_hash(std::string_view text, uint64_t salt) noexcept;

// Finds a number by a hash; the caller keeps what the numbers stand for and compares.
class TagTable {
 public:
  static constexpr uint32_t kNone = 0xffffffff;

  // The number with this hash for which `is_it` says yes, or kNone.
  template <typename IsIt>
  uint32_t find(uint64_t hash, const IsIt& is_it) const {
    if (slots_.empty()) return kNone;
    const size_t mask = slots_.size() - 1;
    for (size_t at = hash & mask; slots_[at].number != kNone; at = (at + 1) & mask) {
      if (slots_[at].hash == static_cast<uint32_t>(hash >> 32) && is_it(slots_[at].number)) return slots_[at].number;
    }
    return kNone;
  }
  void add(uint64_t hash, uint32_t number);
  size_t size() const noexcept { return size_; }

 private:
  struct Slot {
    uint32_t hash = 0;  // the upper half; the lower one is the place
    uint32_t number = kNone;
    uint32_t place = 0;  // the lower half
  };
  void put(const Slot& slot) noexcept;
  std::vector<Slot> slots_;
  size_t size_ = 0;
};

}  // namespace aboard
