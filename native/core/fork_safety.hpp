// SPDX-License-Identifier: Apache-2.0
// What keeps objects with locks usable in the child of a fork(), where no other thread of the parent exists.
//
// fork() waits only for locks under which nothing reads, writes or sorts: `before_fork` takes these, so that what they
// guard is whole in the child. It does not wait for a lock that may be held while a disk hangs (ForkableMutex): the
// child takes such a lock away from the thread that is not there, and abandons what that thread was changing.
//
// Lock order: the registry of this file, then the locks of the enrolled objects. No object locks those of another one
// in `before_fork`, and nobody enrolls or retires with such a lock held.
#pragma once

#include <memory>
#include <mutex>
#include <new>

namespace aboard {

// An object that fork() has to know of, between `enroll_for_fork` and `retire_from_fork`.
class ForkAware {
 public:
  ForkAware(const ForkAware&) = delete;
  ForkAware& operator=(const ForkAware&) = delete;
  virtual void before_fork() noexcept {}
  virtual void after_fork_in_parent() noexcept {}
  // Has what `before_fork` locked locked.
  virtual void after_fork_in_child() noexcept = 0;

 protected:
  ForkAware() = default;
  ~ForkAware() = default;
};

void enroll_for_fork(ForkAware& object);
// Waits for a fork that goes on.
void retire_from_fork(ForkAware& object) noexcept;

// A mutex that fork() does not wait for.
class ForkableMutex {
 public:
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }
  // For the child. False when a thread of the parent held it: what it guards may be half changed, and must be neither
  // read nor destroyed.
  bool reclaim() noexcept {
    if (mutex_.try_lock()) {
      mutex_.unlock();
      return true;
    }
    new (&mutex_) std::mutex;  // no destructor: it is locked
    return false;
  }

 private:
  std::mutex mutex_;
};

// Has `object` begin its life once more. What it held before is never freed.
template <typename Object>
void abandon(Object& object) {
  std::construct_at(std::addressof(object));
}

}  // namespace aboard
