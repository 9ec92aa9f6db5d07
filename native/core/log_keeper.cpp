// SPDX-License-Identifier: Apache-2.0
#include "log_keeper.hpp"

#include <signal.h>

#include <algorithm>
#include <exception>
#include <thread>
#include <vector>

#include "event_log.hpp"

namespace aboard {

LogKeeper& LogKeeper::instance() {
  static auto* keeper = new LogKeeper();
  return *keeper;
}

LogKeeper::LogKeeper() { enroll_for_fork(*this); }

void LogKeeper::enroll(EventLog& log) {
  {
    const std::lock_guard lock(registry_mutex_);
    registry_.insert(&log);
  }
  const std::lock_guard lock(schedule_mutex_);
  due_.emplace(&log, Clock::time_point::max());
}

void LogKeeper::retire(EventLog& log) {
  {
    // Waits for a fork and for `close_all`, which use the logs they find.
    const std::lock_guard closing(closing_mutex_);
    const std::lock_guard lock(registry_mutex_);
    registry_.erase(&log);
  }
  std::unique_lock lock(schedule_mutex_);
  idle_.wait(lock, [&] { return in_work_ != &log; });
  due_.erase(&log);
}

// Allocates nothing, so that what was queued when memory ran out is still seen to.
bool LogKeeper::schedule(EventLog& log, std::chrono::duration<double> delay) {
  const auto at = Clock::now() + std::chrono::duration_cast<Clock::duration>(delay);
  const std::lock_guard lock(schedule_mutex_);
  const auto due = due_.find(&log);
  if (due == due_.end()) return false;
  due->second = std::min(due->second, at);
  if (!thread_runs_) return start_thread();
  if (due->second < sleeping_until_) earlier_.notify_one();
  return true;
}

bool LogKeeper::start_thread() {
  // Signals belong to the threads that Python knows.
  sigset_t all, previous;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &previous);
  try {
    std::thread([this] { work(); }).detach();
    thread_runs_ = true;
  } catch (const std::exception&) {  // too many threads, or no memory
    thread_runs_ = false;
  }
  pthread_sigmask(SIG_SETMASK, &previous, nullptr);
  return thread_runs_;
}

void LogKeeper::work() {
  std::unique_lock lock(schedule_mutex_);
  while (true) {
    EventLog& log = wait_for_due(lock);
    in_work_ = &log;
    lock.unlock();
    try {
      log.drain();
    } catch (const std::exception&) {
      // Memory ran out; the log has scheduled another try.
    }
    lock.lock();
    in_work_ = nullptr;
    idle_.notify_all();
  }
}

EventLog& LogKeeper::wait_for_due(std::unique_lock<std::mutex>& lock) {
  while (true) {
    const auto first = std::min_element(due_.begin(), due_.end(),
                                        [](const auto& left, const auto& right) { return left.second < right.second; });
    sleeping_until_ = first == due_.end() ? Clock::time_point::max() : first->second;
    if (sleeping_until_ == Clock::time_point::max()) {
      earlier_.wait(lock);
    } else if (sleeping_until_ <= Clock::now()) {
      first->second = Clock::time_point::max();
      return *first->first;
    } else {
      earlier_.wait_until(lock, sleeping_until_);
    }
  }
}

void LogKeeper::close_all() {
  // Under the lock, so that a log that is just ending is waited for too.
  const std::lock_guard closing(closing_mutex_);
  std::vector<EventLog*> logs;
  {
    const std::lock_guard lock(registry_mutex_);
    logs.assign(registry_.begin(), registry_.end());
  }
  for (EventLog* log : logs) log->close();
}

void LogKeeper::before_fork() noexcept {
  registry_mutex_.lock();
  for (EventLog* log : registry_) {
    log->queue_mutex_.lock();
    log->report_mutex_.lock();
  }
  schedule_mutex_.lock();
}

void LogKeeper::after_fork_in_parent() noexcept {
  schedule_mutex_.unlock();
  for (EventLog* log : registry_) {
    log->report_mutex_.unlock();
    log->queue_mutex_.unlock();
  }
  registry_mutex_.unlock();
}

void LogKeeper::after_fork_in_child() noexcept {
  // The thread was not copied; condition variables may still count waiters.
  abandon(earlier_);
  abandon(idle_);
  closing_mutex_.reclaim();
  thread_runs_ = false;
  in_work_ = nullptr;
  for (auto& [log, at] : due_) at = Clock::time_point::max();
  sleeping_until_ = Clock::time_point::min();
  held_bytes_.store(0);
  for (EventLog* log : registry_) log->become_child();
  after_fork_in_parent();
}

}  // namespace aboard
