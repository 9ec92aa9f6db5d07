// SPDX-License-Identifier: Apache-2.0
#include "folder_watches.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <limits>
#include <system_error>

#include "file_system.hpp"

#if defined(__linux__)
#include <sys/inotify.h>
#endif

namespace aboard {
namespace {

#if defined(__linux__)
constexpr bool kKernelTells = true;
constexpr int kOpenFlags = O_PATH;  // needs no permission to read
#else
constexpr bool kKernelTells = false;
constexpr int kOpenFlags = O_RDONLY | O_NONBLOCK;
#endif

}  // namespace

FolderWatches::FolderWatches() { open_pipe(); }

void FolderWatches::open_pipe() {
  int ends[2];
#if defined(__linux__)
  // In one step: a program that another thread starts in between would inherit the pipe.
  const int made = ::pipe2(ends, O_CLOEXEC | O_NONBLOCK);
#else
  const int made = ::pipe(ends);
#endif
  if (made != 0) throw std::system_error(errno, std::generic_category(), "a pipe to wake up from");
  wake_read_.reset(ends[0]);
  wake_write_.reset(ends[1]);
#if !defined(__linux__)
  for (const int end : ends) {
    ::fcntl(end, F_SETFD, FD_CLOEXEC);
    ::fcntl(end, F_SETFL, O_NONBLOCK);
  }
#endif
}

// Events and wakes that are read here would be missing in the parent: both processes have the same descriptors.
void FolderWatches::leave_to_parent() noexcept {
  for (Fd* const descriptor : {&notifications_, &wake_read_, &wake_write_}) descriptor->reset();
  woken_ = false;
  next_try_ = 0;
  try {
    open_pipe();
  } catch (const std::system_error&) {
    // Too many open files: `open_missing` tries again.
  }
}

FolderWatches::Slept FolderWatches::sleep(double seconds, int descriptor) {
  pollfd waits[] = {{wake_read_.get(), POLLIN, 0}, {descriptor, POLLIN, 0}};
  const double milliseconds = std::clamp(std::ceil(seconds * 1000), 0.0, 3.6e6);
  // A signal ends the sleep early, as anything else would.
  ::poll(waits, 2, static_cast<int>(milliseconds));
  if ((waits[0].revents & POLLIN) == 0) return waits[1].revents != 0 ? Slept::until_told : Slept::long_enough;
  for (char bytes[64]; ::read(wake_read_.get(), bytes, sizeof bytes) > 0;) {
  }
  woken_ = false;
  return Slept::until_woken;
}

void FolderWatches::wake() noexcept {
  woken_ = true;
  const char byte = 0;
  // When the pipe is full, there is enough in it.
  [[maybe_unused]] const ssize_t written = ::write(wake_write_.get(), &byte, 1);
}

std::optional<Reach> reach_of(const std::string& path) {
  const Fd file(::open(path.c_str(), kOpenFlags | O_CLOEXEC));
  if (!file.is_open()) return std::nullopt;
  return !is_on_local_file_system(file.get()) ? Reach::remote : kKernelTells ? Reach::notified : Reach::local;
}

#if defined(__linux__)

namespace {

constexpr double kRestSeconds = 60;  // before a system without room for watches is asked again
constexpr uint32_t kEntry = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;
constexpr uint32_t kWritten = IN_MODIFY | IN_CLOSE_WRITE;
constexpr uint32_t kSelf = IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT;
constexpr uint32_t kMask = kEntry | kWritten | kSelf | IN_ATTRIB | IN_ONLYDIR | IN_EXCL_UNLINK;
constexpr int kReadsAtOnce = 64;  // writers must not keep the reader of their events from anything else

FolderEvent::Kind kind_of(uint32_t mask) noexcept {
  using enum FolderEvent::Kind;
  if (mask & IN_Q_OVERFLOW) return overflow;
  if (mask & IN_IGNORED) return ended;
  if (mask & kSelf) return self;
  if (mask & kEntry) return entry;
  return mask & kWritten ? written : attributes;
}

}  // namespace

int FolderWatches::add(const std::string& folder, double now) {
  if (now < next_try_) return -1;
  if (!notifications_.is_open()) notifications_.reset(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  const int watch = !notifications_.is_open() ? -1 : ::inotify_add_watch(notifications_.get(), folder.c_str(), kMask);
  if (watch < 0 && (!notifications_.is_open() || errno == ENOSPC || errno == ENOMEM)) next_try_ = now + kRestSeconds;
  return watch;
}

void FolderWatches::remove(int watch) {
  if (notifications_.is_open()) ::inotify_rm_watch(notifications_.get(), watch);
}

bool FolderWatches::drain(const std::function<void(const FolderEvent&)>& handler) {
  if (!notifications_.is_open()) return false;
  alignas(inotify_event) char bytes[64 << 10];
  bool any = false;
  for (int reads = 0; reads < kReadsAtOnce; ++reads) {
    const ssize_t got = ::read(notifications_.get(), bytes, sizeof bytes);
    if (got <= 0) break;
    any = true;
    for (const char* at = bytes; at < bytes + got;) {
      const auto* event = reinterpret_cast<const inotify_event*>(at);
      at += sizeof(inotify_event) + event->len;
      handler({event->wd, kind_of(event->mask), (event->mask & IN_ISDIR) != 0,
               event->len > 0 ? std::string_view(event->name) : std::string_view()});
    }
  }
  return any;
}

size_t FolderWatches::fair_share() {
  size_t granted = 0;
  std::ifstream file("/proc/sys/fs/inotify/max_user_watches");
  return file >> granted ? granted / 4 * 3 : std::numeric_limits<size_t>::max();
}

#else  // elsewhere folders are polled

int FolderWatches::add(const std::string&, double) { return -1; }
void FolderWatches::remove(int) {}
bool FolderWatches::drain(const std::function<void(const FolderEvent&)>&) { return false; }
size_t FolderWatches::fair_share() { return 0; }

#endif

}  // namespace aboard
