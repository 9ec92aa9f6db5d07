// SPDX-License-Identifier: Apache-2.0
// What tests of event logs share: a folder of their own, what is in its files, and children that cannot hang a test.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "check.hpp"
#include "event.hpp"
#include "event_log.hpp"

#if defined(__has_feature)
#define ABOARD_HAS_FEATURE(name) __has_feature(name)
#else
#define ABOARD_HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_THREAD__) || ABOARD_HAS_FEATURE(thread_sanitizer)
#define ABOARD_THREAD_SANITIZED 1
#else
#define ABOARD_THREAD_SANITIZED 0
#endif
#if defined(__SANITIZE_ADDRESS__) || ABOARD_HAS_FEATURE(address_sanitizer)
#define ABOARD_ADDRESS_SANITIZED 1
#else
#define ABOARD_ADDRESS_SANITIZED 0
#endif
#define ABOARD_SANITIZED (ABOARD_ADDRESS_SANITIZED || ABOARD_THREAD_SANITIZED)

namespace aboard::testing {

namespace fs = std::filesystem;

// Instrumented code is slower and gets less to do.
constexpr bool kSanitized = ABOARD_SANITIZED;

// The thread sanitizer takes the threads of the parent for alive in the child, and ends a child whose new thread gets
// the identity of one of them.
constexpr bool kChildrenMayStartThreads = !ABOARD_THREAD_SANITIZED;

// The allocator of the address sanitizer (GCC 12) is not made ready for a fork: about one child in fifty thousand
// inherits one of its locks from another thread that was just allocating, and hangs in its own first allocation.
constexpr bool kMayForkBesideAllocations = !ABOARD_ADDRESS_SANITIZED;

// A folder that goes with its test.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const fs::path& path() const { return path_; }
  std::string logs() const;

 private:
  fs::path path_;
};

EventLogOptions options_for(const std::string& directory);
// For tests that decide themselves when entries are written.
EventLogOptions patient(const std::string& directory);

struct Entry {
  EventKind kind = EventKind::nothing;
  int64_t step = 0;
  double wall_time = 0;
  std::string payload;
  std::string tag;  // of the first value of a summary
  float value = 0;
};

struct FileContent {
  std::vector<Entry> entries;
  bool cut_off = false;  // bytes behind the last whole record
  bool damaged = false;
};

std::string read_bytes(const fs::path& path);
FileContent read_file(const fs::path& path);
// The entries behind the header of a file that must be whole and begin as event files do.
std::vector<Entry> whole_file(const fs::path& path);
std::vector<fs::path> files_in(const fs::path& directory);
void write_file(const fs::path& path, std::string_view content);

// The steps of the summaries with this tag, as they come.
std::vector<int64_t> steps_of(const std::vector<Entry>& entries, std::string_view tag);
std::vector<int64_t> range(int64_t end);

// The newest file of a log, or nothing when it has none yet.
std::string path_of(const EventLog& log);
std::vector<Report> reports_of(EventLog& log);
// That no log of this process holds any memory.
bool memory_is_free();

// Waits until the condition holds. False after a minute, which no machine needs: it ends what would hang.
bool eventually(const std::function<bool()>& condition);

// Bytes that this process has read from files so far: what an algorithm reads shows its order, whatever the machine.
uint64_t bytes_read_so_far();

// In a soak (`scripts/test-native soak`) what is random or races repeats many times as often, with other random
// numbers.
bool is_soak();
int repeats(int few);
std::vector<uint64_t> random_seeds(int few);
// Every `stride`-th of many similar cases, but all in a soak. A stride should share no factor with sizes of fields.
size_t every(size_t stride);

// Runs `work` in a forked child, whose failed checks are failures of this test.
void in_child(const std::function<void()>& work);

}  // namespace aboard::testing
