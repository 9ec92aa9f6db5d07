// SPDX-License-Identifier: Apache-2.0
// When the folders of a tree are looked at: in turn, within a share of the time, or at a given moment.
#pragma once

#include <algorithm>
#include <cstdint>
#include <queue>
#include <vector>

namespace aboard {

// Folders whose turn comes round and round.
class LookRing {
 public:
  size_t size() const noexcept { return ids_.size(); }
  void add(uint64_t id) { ids_.push_back(id); }
  // Whose turn it is; there must be one.
  uint64_t current() {
    if (at_ >= ids_.size()) at_ = 0;
    return ids_[at_];
  }
  void pass() noexcept { ++at_; }
  // Takes out whose turn it is.
  void drop() {
    ids_[at_] = ids_.back();
    ids_.pop_back();
  }

 private:
  std::vector<uint64_t> ids_;
  size_t at_ = 0;
};

// A share of the time that passes. What one look takes beyond it is paid back by waiting.
class TimeShare {
 public:
  explicit TimeShare(double share) noexcept : share_(share) {}

  // Seconds that may be used now; none or less: none.
  double earn(double now) noexcept {
    credit_ = std::min(credit_ + share_ * (now - earned_at_), share_ * kKeptSeconds);
    earned_at_ = now;
    return credit_;
  }
  void spend(double seconds) noexcept { credit_ -= seconds; }

 private:
  static constexpr double kKeptSeconds = 2;  // a quiet hour gives no right to a busy minute
  const double share_;
  double credit_ = 0, earned_at_ = 0;
};

enum class LookReason : uint8_t {
  written,  // to be told now, as it was told a moment ago
  behind,   // what was told last could not all be read
};

struct DueLook {
  double at;
  uint64_t id;
  LookReason reason;
  bool operator>(const DueLook& other) const noexcept { return at > other.at; }
};

// The next look first.
using DueLooks = std::priority_queue<DueLook, std::vector<DueLook>, std::greater<>>;

}  // namespace aboard
