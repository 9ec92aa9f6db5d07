// SPDX-License-Identifier: Apache-2.0
// What tests of event logs share: a folder of their own, what is in its files, and children that cannot hang a test.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "check.hpp"
#include "event.hpp"
#include "event_log.hpp"
#include "record.hpp"

namespace aboard::testing {

namespace fs = std::filesystem;

// What instrumented code is given more time for.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "aboard-test-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const fs::path& path() const { return path_; }
  std::string logs() const { return (path_ / "logs").string(); }

 private:
  fs::path path_;
};

inline EventLogOptions options_for(const std::string& directory) {
  EventLogOptions options;
  options.directory = directory;
  options.host = "host";
  return options;
}

// For tests that decide themselves when entries are written.
inline EventLogOptions patient(const std::string& directory) {
  EventLogOptions options = options_for(directory);
  options.flush_seconds = 1000;
  return options;
}

struct Entry {
  EventKind kind = EventKind::nothing;
  int64_t step = 0;
  double wall_time = 0;
  std::string payload;
  std::string tag;  // of the first value of a summary
  float value = 0;
};

inline std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct FileContent {
  std::vector<Entry> entries;
  bool cut_off = false;  // bytes behind the last whole record
  bool damaged = false;
};

inline FileContent read_file(const fs::path& path) {
  FileContent content;
  RecordReader reader;
  const std::string bytes = content_of(path);
  reader.feed(bytes);
  std::string_view payload;
  RecordState state;
  while ((state = reader.next(payload)) == RecordState::complete) {
    EventView event;
    if (!decode_event(payload, event)) content.damaged = true;
    Entry entry{event.kind, event.step, event.wall_time, std::string(event.payload), {}, 0};
    std::vector<std::string_view> values;
    if (event.kind == EventKind::summary && decode_summary(event.payload, values) && !values.empty()) {
      ValueView value;
      if (!decode_value(values[0], value)) content.damaged = true;
      entry.tag = value.tag;
      entry.value = value.simple_value;
    }
    content.entries.push_back(std::move(entry));
  }
  if (state != RecordState::incomplete) content.damaged = true;
  content.cut_off = reader.offset() != bytes.size();
  return content;
}

inline std::vector<fs::path> files_in(const fs::path& directory) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

// The one entry point of most tests: all entries of a file that must be whole and begin as event files do.
inline std::vector<Entry> whole_file(const fs::path& path) {
  FileContent content = read_file(path);
  CHECK(!content.damaged);
  CHECK(!content.cut_off);
  REQUIRE(!content.entries.empty());
  CHECK_EQ(content.entries.front().kind, EventKind::file_version);
  CHECK_EQ(content.entries.front().payload, "brain.Event:2");
  content.entries.erase(content.entries.begin());
  for (const auto& entry : content.entries) CHECK(entry.kind != EventKind::file_version);
  return std::move(content.entries);
}

inline std::vector<int64_t> steps_of(const std::vector<Entry>& entries, std::string_view tag) {
  std::vector<int64_t> steps;
  for (const auto& entry : entries) {
    if (entry.kind == EventKind::summary && entry.tag == tag) steps.push_back(entry.step);
  }
  return steps;
}

inline std::vector<int64_t> range(int64_t end) {
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < end; ++i) numbers.push_back(i);
  return numbers;
}

inline bool within(double seconds, const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

// The newest file of a log, or nothing when it has none yet.
inline std::string path_of(const EventLog& log) {
  const auto paths = log.paths();
  return paths.empty() ? std::string() : paths.back();
}

inline std::vector<Report> reports_of(EventLog& log) {
  std::vector<Report> reports;
  while (auto report = log.take_report()) reports.push_back(*report);
  return reports;
}

inline pid_t start_child(const std::function<void()>& work, unsigned limit_seconds = 60) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child > 0) return child;
  // A child that hangs is ended by the alarm, which its parent sees. It never returns into the tests of its parent, and
  // leaves without destructors, as a Python worker does.
  std::signal(SIGALRM, SIG_DFL);
  ::alarm(limit_seconds);
  check::failures.store(0);
  try {
    work();
  } catch (const check::Abandoned&) {
  } catch (const std::exception& error) {
    check::fail(__FILE__, __LINE__, std::string("child threw ") + error.what());
  }
  ::_exit(check::failures.load() == 0 ? 0 : 1);
}

inline void wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    check::fail(__FILE__, __LINE__, "a child was ended by signal " + std::to_string(WTERMSIG(status)) +
                                        (WTERMSIG(status) == SIGALRM ? " (it hung)" : ""));
  } else {
    CHECK_EQ(WEXITSTATUS(status), 0);
  }
}

inline void in_child(const std::function<void()>& work) { wait_for(start_child(work)); }

}  // namespace aboard::testing
