// SPDX-License-Identifier: Apache-2.0
#include "log_keeper.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <new>
#include <system_error>
#include <thread>

#include "event_log.hpp"

namespace aboard {

LogKeeper& LogKeeper::instance() {
  static auto* keeper = new LogKeeper();
  return *keeper;
}

LogKeeper::LogKeeper() {
  pthread_atfork([] { instance().before_fork(); }, [] { instance().after_fork_in_parent(); },
                 [] { instance().after_fork_in_child(); });
}

void LogKeeper::enroll(const std::shared_ptr<EventLog>& log) {
  const std::lock_guard lock(registry_mutex_);
  registry_.emplace(log.get(), log);
}

void LogKeeper::retire(const EventLog* log) {
  {
    const std::lock_guard lock(registry_mutex_);
    registry_.erase(log);
  }
  const std::lock_guard lock(schedule_mutex_);
  due_.erase(log);
}

bool LogKeeper::schedule(EventLog& log, std::chrono::duration<double> delay) {
  const auto at = Clock::now() + std::chrono::duration_cast<Clock::duration>(delay);
  const std::lock_guard lock(schedule_mutex_);
  Due& due = due_.try_emplace(&log, Due{at, log.weak_from_this()}).first->second;
  due.at = std::min(due.at, at);
  if (!thread_runs_) return start_thread();
  if (due.at < sleeping_until_) earlier_.notify_one();
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
  } catch (const std::system_error&) {
    thread_runs_ = false;
  }
  pthread_sigmask(SIG_SETMASK, &previous, nullptr);
  return thread_runs_;
}

void LogKeeper::work() {
  std::unique_lock lock(schedule_mutex_);
  while (true) {
    auto logs = take_due(lock);
    lock.unlock();
    for (const auto& log : logs) log->drain();
    logs.clear();  // may destroy a log, which takes the lock itself
    lock.lock();
  }
}

std::vector<std::shared_ptr<EventLog>> LogKeeper::take_due(std::unique_lock<std::mutex>& lock) {
  std::vector<std::shared_ptr<EventLog>> ready;
  while (true) {
    const auto now = Clock::now();
    sleeping_until_ = Clock::time_point::max();
    for (auto entry = due_.begin(); entry != due_.end();) {
      if (entry->second.at > now) {
        sleeping_until_ = std::min(sleeping_until_, entry->second.at);
        ++entry;
        continue;
      }
      if (auto log = entry->second.log.lock()) ready.push_back(std::move(log));
      entry = due_.erase(entry);
    }
    if (!ready.empty()) return ready;
    if (sleeping_until_ == Clock::time_point::max()) {
      earlier_.wait(lock);
    } else {
      earlier_.wait_until(lock, sleeping_until_);
    }
  }
}

std::vector<std::shared_ptr<EventLog>> LogKeeper::all_logs() {
  std::vector<std::shared_ptr<EventLog>> logs;
  for (const auto& [address, weak] : registry_) {
    if (auto log = weak.lock()) logs.push_back(std::move(log));
  }
  return logs;
}

void LogKeeper::close_all() {
  std::vector<std::shared_ptr<EventLog>> logs;
  {
    const std::lock_guard lock(registry_mutex_);
    logs = all_logs();
  }
  for (const auto& log : logs) log->close();
}

void LogKeeper::before_fork() {
  registry_mutex_.lock();
  locked_for_fork_ = all_logs();
  for (const auto& log : locked_for_fork_) {
    log->io_mutex_.lock();
    log->queue_mutex_.lock();
    log->report_mutex_.lock();
  }
  schedule_mutex_.lock();
}

void LogKeeper::after_fork_in_parent() {
  schedule_mutex_.unlock();
  for (const auto& log : locked_for_fork_) {
    log->report_mutex_.unlock();
    log->queue_mutex_.unlock();
    log->io_mutex_.unlock();
  }
  auto logs = std::move(locked_for_fork_);
  locked_for_fork_.clear();
  registry_mutex_.unlock();
}

void LogKeeper::after_fork_in_child() {
  // The thread was not copied; the condition variable may still count it as a waiter, so it is made anew, not destroyed.
  new (&earlier_) std::condition_variable();
  thread_runs_ = false;
  due_.clear();
  sleeping_until_ = Clock::time_point::min();
  held_bytes_.store(0);
  for (const auto& log : locked_for_fork_) log->become_child();
  after_fork_in_parent();
}

}  // namespace aboard
