// SPDX-License-Identifier: Apache-2.0
// Notifications about folders, where the system and the file system give any, and sleep that they end.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "posix_io.hpp"

namespace aboard {

// How changes below a folder come to be known.
enum class Reach : uint8_t {
  notified,  // the kernel tells, as every writer goes through it
  local,     // it does not, but what it answers is true
  remote,    // another machine may write, and the kernel may answer from what it remembers
};

// By the kind of file system on which a folder or file lies; nothing when that cannot be told now.
std::optional<Reach> reach_of(const std::string& path);

struct FolderEvent {
  enum class Kind : uint8_t {
    written,     // to the file `name`
    entry,       // `name` came, went or was replaced
    attributes,  // permissions, say; of the folder itself when `name` is empty
    self,        // the folder was moved or deleted
    ended,       // the watch is gone
    overflow,    // of the queue: events were lost
  };
  int watch = -1;
  Kind kind = Kind::overflow;
  bool is_folder = false;  // what `name` is
  std::string_view name;
};

// Not thread-safe, but for `sleep` and `wake`.
class FolderWatches {
 public:
  FolderWatches();
  FolderWatches(const FolderWatches&) = delete;
  FolderWatches& operator=(const FolderWatches&) = delete;

  // The number of the watch on a folder, the same for each path to it; -1 when it cannot be watched. After the system
  // has refused one for want of room, it is not asked again for a minute.
  int add(const std::string& folder, double now);
  void remove(int watch);
  // Hands on what has happened; whether there was anything.
  bool drain(const std::function<void(const FolderEvent&)>& handler);
  // For `sleep`; -1 while there are no watches.
  int descriptor() const noexcept { return notifications_.get(); }

  enum class Slept : uint8_t { long_enough, until_told, until_woken };
  // Until `seconds` have passed, `descriptor` has events or somebody calls `wake`.
  Slept sleep(double seconds, int descriptor);
  void wake() noexcept;
  // Whether a call of `wake` has not ended a sleep yet.
  bool is_woken() const noexcept { return woken_.load(); }

  // For the child of a fork: forgets all watches, which its parent goes on using, and what woke the parent.
  void leave_to_parent() noexcept;
  // Throws when what `leave_to_parent` could not open cannot be opened now.
  void open_missing() {
    if (!wake_read_.is_open()) open_pipe();
  }

  // Three quarters of the watches that the system grants a person: editors want some too.
  static size_t fair_share();

 private:
  void open_pipe();

  Fd notifications_;
  [[maybe_unused]] double next_try_ = 0;
  Fd wake_read_, wake_write_;
  std::atomic<bool> woken_{false};
};

}  // namespace aboard
