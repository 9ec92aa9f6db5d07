// SPDX-License-Identifier: Apache-2.0
// The one background thread of a process that writes out its event logs, and what keeps them sound across fork().
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <unordered_map>

#include "fork_safety.hpp"

namespace aboard {

class EventLog;

class LogKeeper final : private ForkAware {
 public:
  // Made at first use and never destroyed: logs may be written until the very end of the process.
  static LogKeeper& instance();

  void enroll(EventLog& log);
  // Returns when the thread has let go of `log` and knows it no more. Called by its destructor: logs are known by
  // address, so that they end where their owner lets them end, and not later in this thread.
  void retire(EventLog& log);

  // Has `log` drained after `delay` at the latest. False when no thread can be started: the caller must drain.
  bool schedule(EventLog& log, std::chrono::duration<double> delay);

  // Flushes and closes every log; for the end of the interpreter.
  void close_all();

  void hold(size_t bytes) noexcept { held_bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  void release(size_t bytes) noexcept { held_bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
  bool fits(size_t bytes) const noexcept {
    return held_bytes_.load(std::memory_order_relaxed) + bytes <= memory_limit_.load(std::memory_order_relaxed);
  }
  size_t memory_limit() const noexcept { return memory_limit_.load(std::memory_order_relaxed); }
  // Bytes that all logs together may hold before callers write themselves or, with a failing disk, are refused.
  void set_memory_limit(size_t bytes) noexcept { memory_limit_.store(bytes, std::memory_order_relaxed); }

 private:
  using Clock = std::chrono::steady_clock;

  LogKeeper();
  bool start_thread();
  void work();
  EventLog& wait_for_due(std::unique_lock<std::mutex>& lock);
  void before_fork() noexcept override;
  void after_fork_in_parent() noexcept override;
  void after_fork_in_child() noexcept override;

  // Lock order: closing_mutex_, registry_mutex_, the locks of logs in the order of the registry, schedule_mutex_. A
  // fork takes all of these except closing_mutex_ and the io_mutex_ of logs, which are held while a disk is waited for.
  ForkableMutex closing_mutex_;  // no log retires while it is held
  std::mutex registry_mutex_;
  std::set<EventLog*> registry_;

  std::mutex schedule_mutex_;
  std::condition_variable earlier_;                       // for the thread: something is due sooner
  std::condition_variable idle_;                          // from the thread: it let go of a log
  std::unordered_map<EventLog*, Clock::time_point> due_;  // every enrolled log; `max` while nothing is due
  EventLog* in_work_ = nullptr;                           // what the thread is draining
  Clock::time_point sleeping_until_ = Clock::time_point::min();
  bool thread_runs_ = false;

  std::atomic<size_t> held_bytes_{0};
  std::atomic<size_t> memory_limit_{size_t{64} << 20};
};

}  // namespace aboard
