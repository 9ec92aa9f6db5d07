// SPDX-License-Identifier: Apache-2.0
// The one background thread of a process that writes out its event logs, and what keeps them sound across fork().
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace aboard {

class EventLog;

class LogKeeper {
 public:
  // Made at first use and never destroyed: logs may be written until the very end of the process.
  static LogKeeper& instance();

  void enroll(const std::shared_ptr<EventLog>& log);
  void retire(const EventLog* log);

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
  struct Due {
    Clock::time_point at;
    std::weak_ptr<EventLog> log;
  };

  LogKeeper();
  bool start_thread();
  void work();
  std::vector<std::shared_ptr<EventLog>> take_due(std::unique_lock<std::mutex>& lock);
  std::vector<std::shared_ptr<EventLog>> all_logs();
  void before_fork();
  void after_fork_in_parent();
  void after_fork_in_child();

  std::mutex registry_mutex_;
  std::unordered_map<const EventLog*, std::weak_ptr<EventLog>> registry_;

  std::mutex schedule_mutex_;
  std::condition_variable earlier_;
  std::unordered_map<const EventLog*, Due> due_;
  Clock::time_point sleeping_until_ = Clock::time_point::min();
  bool thread_runs_ = false;

  std::vector<std::shared_ptr<EventLog>> locked_for_fork_;
  std::atomic<size_t> held_bytes_{0};
  std::atomic<size_t> memory_limit_{size_t{64} << 20};
};

}  // namespace aboard
