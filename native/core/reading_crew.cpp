// SPDX-License-Identifier: Apache-2.0
#include "reading_crew.hpp"

#include <algorithm>
#include <exception>

namespace aboard {

void ReadingCrew::run(size_t jobs, const std::function<void(size_t)>& job) {
  {
    const std::lock_guard lock(mutex_);
    job_ = &job;
    jobs_ = jobs;
    threads_.reserve(most_threads_);
    for (size_t i = 1; i < std::min(most_threads_, jobs); ++i) start_thread();
  }
  work();
  // All jobs are done, so no more threads are started.
  for (auto& thread : threads_) thread.join();
  threads_.clear();
  if (failure_) std::rethrow_exception(failure_);
}

// Needs the lock. Where there are no more threads, or no memory for one, fewer do. Nothing is thrown: other threads
// already use what the caller has put into the crew.
void ReadingCrew::start_thread() noexcept {
  try {
    threads_.emplace_back([this] { work(); });
  } catch (const std::exception&) {
  }
}

void ReadingCrew::work() {
  std::unique_lock lock(mutex_);
  while (done_ < jobs_) {
    if (next_ < jobs_) {
      const size_t number = next_++;
      lock.unlock();
      do_job(number);
      lock.lock();
      if (++done_ == jobs_) changed_.notify_all();
      continue;
    }
    const uint64_t news = news_;
    if (help_somebody(lock)) continue;
    changed_.wait(lock, [&] { return done_ == jobs_ || news_ != news; });
  }
}

void ReadingCrew::do_job(size_t number) {
  try {
    (*job_)(number);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
}

bool ReadingCrew::help_somebody(std::unique_lock<std::mutex>& lock) {
  // Others may be offered or withdrawn meanwhile, but not one that somebody helps with.
  for (auto at = offers_.begin(); at != offers_.end(); ++at) {
    Offer& offer = **at;
    if (offer.withdrawn_) continue;
    ++offer.helpers_;
    lock.unlock();
    const bool helped = offer.work_.help();
    lock.lock();
    if (--offer.helpers_ == 0 && offer.withdrawn_) changed_.notify_all();
    if (helped) return true;
    if (offer.withdrawn_) return true;  // its place in the list may be gone: from the beginning
  }
  return false;
}

ReadingCrew::Offer::Offer(ReadingCrew& crew, SharedWork& work) : crew_(crew), work_(work) {
  const std::lock_guard lock(crew_.mutex_);
  crew_.offers_.push_back(this);
  ++crew_.news_;
  if (crew_.threads_.size() + 1 < crew_.most_threads_) crew_.start_thread();
  crew_.changed_.notify_all();
}

ReadingCrew::Offer::~Offer() {
  std::unique_lock lock(crew_.mutex_);
  withdrawn_ = true;
  crew_.changed_.wait(lock, [&] { return helpers_ == 0; });
  crew_.offers_.remove(this);
}

void ReadingCrew::Offer::renew() {
  const std::lock_guard lock(crew_.mutex_);
  ++crew_.news_;
  crew_.changed_.notify_all();
}

}  // namespace aboard
