// SPDX-License-Identifier: Apache-2.0
#include "value_ranges.hpp"

#include <cstdint>
#include <cstring>
#include <map>

#include "fork_safety.hpp"

namespace aboard {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Two numbers at once is what every processor of these kinds has; more at once would wait for memory.
using Pair = double __attribute__((vector_size(16)));
using PairOfFlags = int64_t __attribute__((vector_size(16)));

// Every comparison with NaN is false, so that it changes neither.
struct Extremes {
  double low = kInfinity, high = -kInfinity;
  bool has_nan = false;

  void take(double value) noexcept {
    low = value < low ? value : low;
    high = value > high ? value : high;
    has_nan = has_nan || value != value;
  }
};

struct PairExtremes {
  Pair low{kInfinity, kInfinity}, high{-kInfinity, -kInfinity};
  PairOfFlags has_nan{};

  void take(const double* values) noexcept {
    Pair pair;
    std::memcpy(&pair, values, sizeof pair);
    low = pair < low ? pair : low;
    high = pair > high ? pair : high;
    has_nan |= pair != pair;
  }
  void hand_over(Extremes& all) const noexcept {
    for (int i = 0; i < 2; ++i) {
      all.low = low[i] < all.low ? low[i] : all.low;
      all.high = high[i] > all.high ? high[i] : all.high;
      all.has_nan = all.has_nan || has_nan[i] != 0;
    }
  }
};

// The ranges of blocks by block. It keeps no block alive. In the child of a fork it is empty: other threads may have
// been changing it, or the ranges of a block.
class Registry final : public ForkAware {
 public:
  Registry() { enroll_for_fork(*this); }
  std::shared_ptr<ValueRanges> of(const std::shared_ptr<const ColumnBlock>& block) {
    const std::lock_guard lock(mutex_);
    if (const auto found = of_.find(block); found != of_.end()) return found->second;
    if (of_.size() >= look_at_) forget_the_dead();
    return of_.emplace(block, std::make_shared<ValueRanges>()).first->second;
  }

 private:
  static constexpr size_t kFew = 16;

  // Not at every block that is new: all together would be looked at for each.
  void forget_the_dead() {
    std::erase_if(of_, [](const auto& entry) { return entry.first.expired(); });
    look_at_ = of_.size() * 2 + kFew;
  }

  void after_fork_in_child() noexcept override {
    mutex_.reclaim();
    abandon(of_);
    look_at_ = kFew;
  }

  ForkableMutex mutex_;
  std::map<std::weak_ptr<const ColumnBlock>, std::shared_ptr<ValueRanges>, std::owner_less<>> of_;
  size_t look_at_ = kFew;
};

// Made when the process starts: a fork while the first thread makes it would leave the child waiting for that thread.
// Never destroyed: threads may still read when the process ends.
Registry& registry = *new Registry;

}  // namespace

ValueRange range_of(std::span<const double> values) noexcept {
  PairExtremes even, odd;  // two, because each waits for its own last result
  const double* at = values.data();
  for (size_t fours = values.size() / 4; fours > 0; --fours, at += 4) {
    even.take(at);
    odd.take(at + 2);
  }
  Extremes all;
  for (size_t rest = values.size() % 4; rest > 0; --rest) all.take(*at++);
  even.hand_over(all);
  odd.hand_over(all);
  const bool is_empty = all.low > all.high;
  return is_empty ? ValueRange{.has_nan = all.has_nan} : ValueRange{all.low, all.high, all.has_nan};
}

ValueRanges::Reading::Reading(ValueRanges& ranges, const double* values, size_t end)
    : lock_(ranges.mutex_), ranges_(ranges) {
  auto& parts = ranges.parts_;
  const size_t count = end / kPart;
  if (parts.capacity() < count) parts.reserve(count + count / 8);
  while (parts.size() < count) parts.push_back(range_of({values + parts.size() * kPart, kPart}));
}

std::shared_ptr<ValueRanges> ValueRanges::of(const std::shared_ptr<const ColumnBlock>& block) {
  return registry.of(block);
}

}  // namespace aboard
