// SPDX-License-Identifier: Apache-2.0
// How a tree goes on in the child of a fork.
#include <memory>

#include "log_tree.hpp"

namespace aboard {

// Children that never use the tree get by with this: the rest is for `go_on_in_child`.
void LogTree::after_fork_in_child() noexcept {
  if (!mutex_.reclaim()) {
    inherited_ = Inherited::half_changed;
  } else if (inherited_ == Inherited::nothing) {
    inherited_ = Inherited::whole;
  }
  watches_.leave_to_parent();
  known_mutex_.unlock();
}

std::unique_lock<ForkableMutex> LogTree::lock() {
  std::unique_lock locked(mutex_);
  if (inherited_ != Inherited::nothing) go_on_in_child();
  return locked;
}

// May run out of memory or descriptors; then the next call begins it once more.
void LogTree::go_on_in_child() {
  watches_.open_missing();
  const bool begins_again = inherited_ == Inherited::half_changed;
  if (begins_again) {
    abandon_all();
    gone_.assign(known_.begin(), known_.end());
    first_serial_ = latest_serial_ + 1;
    add_roots();
  } else {
    for (Folder& folder : folders_) {
      folder.watch = -1;
      folder.next_of_watch = kNone;
    }
    first_of_watch_.clear();
  }
  drain_after_ = 0;
  if (following_ || begins_again) request_look();
  inherited_ = Inherited::nothing;
}

// A thread that is not there was changing it: it can be neither read nor freed.
void LogTree::abandon_all() {
  abandon(folders_);
  abandon(free_);
  abandon(roots_);
  abandon(ahead_);
  abandon(pending_);
  abandon(gone_);
  abandon(ways_);
  abandon(first_of_watch_);
  abandon(reach_of_device_);
  abandon(due_);
  for (Turns* turns : {&hot_polled_, &polled_, &hot_notified_, &notified_}) abandon(turns->ring);
}

}  // namespace aboard
