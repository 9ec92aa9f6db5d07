// SPDX-License-Identifier: Apache-2.0
// Threads that read files at the same time: those that have none of their own left help with the large ones of others.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

namespace aboard {

// Work that one thread does and others may take pieces of.
class SharedWork {
 public:
  virtual ~SharedWork() = default;
  // Does a piece of it; false when there is none now. Throws nothing.
  virtual bool help() noexcept = 0;
};

class ReadingCrew {
 public:
  static constexpr uint64_t kPartBytes = uint64_t{1} << 20;

  // Large files are shared in parts of `part_bytes`.
  explicit ReadingCrew(size_t threads, uint64_t part_bytes = kPartBytes)
      : most_threads_(threads), part_bytes_(part_bytes) {}
  ReadingCrew(const ReadingCrew&) = delete;
  ReadingCrew& operator=(const ReadingCrew&) = delete;

  // Calls `job` with each number below `jobs`, on this thread and on others. When all have returned, throws what one of
  // them threw. Once.
  void run(size_t jobs, const std::function<void(size_t)>& job);

  // Has threads without a job help with `work` for as long as it lives. For jobs.
  class Offer {
   public:
    Offer(ReadingCrew& crew, SharedWork& work);
    ~Offer();
    Offer(const Offer&) = delete;
    Offer& operator=(const Offer&) = delete;
    // Says that there are pieces again.
    void renew();

   private:
    friend class ReadingCrew;
    ReadingCrew& crew_;
    SharedWork& work_;
    size_t helpers_ = 0;  // that are in `help`
    bool withdrawn_ = false;
  };
  // Whether others can help with so much.
  bool can_share(uint64_t bytes) const noexcept { return most_threads_ > 1 && bytes >= kFewestParts * part_bytes_; }
  uint64_t part_bytes() const noexcept { return part_bytes_; }
  size_t most_threads() const noexcept { return most_threads_; }

 private:
  void start_thread() noexcept;
  void work();
  void do_job(size_t number);
  bool help_somebody(std::unique_lock<std::mutex>& lock);

  static constexpr uint64_t kFewestParts = 4;

  const size_t most_threads_;
  const uint64_t part_bytes_;
  std::mutex mutex_;  // guards everything below
  std::condition_variable changed_;
  const std::function<void(size_t)>* job_ = nullptr;
  size_t jobs_ = 0, next_ = 0, done_ = 0;
  std::exception_ptr failure_;
  std::list<Offer*> offers_;
  uint64_t news_ = 0;  // grows when somebody who waits should look again
  std::vector<std::thread> threads_;
};

}  // namespace aboard
