// SPDX-License-Identifier: Apache-2.0
#include "fork_safety.hpp"

#include <pthread.h>

#include <set>

namespace aboard {
namespace {

class ForkRegistry {
 public:
  // Never destroyed: objects that are never destroyed are in it.
  static ForkRegistry& instance() {
    static auto* registry = new ForkRegistry();
    return *registry;
  }

  void enroll(ForkAware& object) {
    const std::lock_guard lock(mutex_);
    objects_.insert(&object);
  }
  void retire(ForkAware& object) noexcept {
    const std::lock_guard lock(mutex_);
    objects_.erase(&object);
  }

 private:
  ForkRegistry() {
    pthread_atfork([] { instance().before(); }, [] { instance().after(&ForkAware::after_fork_in_parent); },
                   [] { instance().after(&ForkAware::after_fork_in_child); });
  }
  void before() {
    mutex_.lock();
    for (ForkAware* object : objects_) object->before_fork();
  }
  void after(void (ForkAware::*step)() noexcept) {
    for (ForkAware* object : objects_) (object->*step)();
    mutex_.unlock();
  }

  std::mutex mutex_;
  std::set<ForkAware*> objects_;
};

}  // namespace

void enroll_for_fork(ForkAware& object) { ForkRegistry::instance().enroll(object); }
void retire_from_fork(ForkAware& object) noexcept { ForkRegistry::instance().retire(object); }

}  // namespace aboard
