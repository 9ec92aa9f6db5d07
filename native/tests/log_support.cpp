// SPDX-License-Identifier: Apache-2.0
#include "log_support.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <random>

#include "log_keeper.hpp"
#include "record_search.hpp"

#if defined(ABOARD_COUNTS_LINES)
extern "C" void __gcov_dump();
#endif

namespace aboard::testing {
namespace {

// What a child ran counts too, although it leaves without what the end of a process does.
void write_line_counts() {
#if defined(ABOARD_COUNTS_LINES)
  __gcov_dump();
#endif
}

}  // namespace

Folder::Folder() {
  std::string name = (fs::temp_directory_path() / "aboard-test-XXXXXX").string();
  REQUIRE(::mkdtemp(name.data()) != nullptr);
  path_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string Folder::logs() const { return (path_ / "logs").string(); }

EventLogOptions options_for(const std::string& directory) {
  EventLogOptions options;
  options.directory = directory;
  options.host = "host";
  return options;
}

EventLogOptions patient(const std::string& directory) {
  EventLogOptions options = options_for(directory);
  options.flush_seconds = 1000;
  return options;
}

std::string read_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes;
  for (std::vector<char> piece(1 << 16); file.read(piece.data(), 1 << 16), file.gcount() > 0;) {
    bytes.append(piece.data(), static_cast<size_t>(file.gcount()));
  }
  return bytes;
}

FileContent read_file(const fs::path& path) {
  FileContent content;
  const std::string bytes = read_bytes(path);
  RecordReader reader;
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

std::vector<Entry> whole_file(const fs::path& path) {
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

std::vector<fs::path> files_in(const fs::path& directory) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

void write_file(const fs::path& path, std::string_view content) {
  std::ofstream(path, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
}

std::vector<int64_t> steps_of(const std::vector<Entry>& entries, std::string_view tag) {
  std::vector<int64_t> steps;
  for (const auto& entry : entries) {
    if (entry.kind == EventKind::summary && entry.tag == tag) steps.push_back(entry.step);
  }
  return steps;
}

std::vector<int64_t> range(int64_t end) {
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < end; ++i) numbers.push_back(i);
  return numbers;
}

std::string path_of(const EventLog& log) {
  const auto paths = log.paths();
  return paths.empty() ? std::string() : paths.back();
}

std::vector<Report> reports_of(EventLog& log) {
  std::vector<Report> reports;
  while (auto report = log.take_report()) reports.push_back(*report);
  return reports;
}

bool memory_is_free() {
  const LogKeeper& keeper = LogKeeper::instance();
  return keeper.fits(keeper.memory_limit());
}

bool eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

uint64_t bytes_read_so_far() {
  std::ifstream counts("/proc/self/io");
  std::string name;
  uint64_t bytes = 0;
  REQUIRE(counts >> name >> bytes && name == "rchar:");
  return bytes;
}

bool is_soak() {
  static const bool is = std::getenv("ABOARD_SOAK") != nullptr;
  return is;
}

int repeats(int few) { return is_soak() ? 20 * few : few; }

std::vector<uint64_t> random_seeds(int few) {
  static const uint64_t first = [] {
    if (!is_soak()) return uint64_t{0};
    const char* wanted = std::getenv("ABOARD_SEED");
    const uint64_t seed = wanted != nullptr ? std::stoull(wanted) : std::random_device()();
    std::printf("ABOARD_SEED=%llu\n", static_cast<unsigned long long>(seed));
    return seed;
  }();
  std::vector<uint64_t> seeds(static_cast<size_t>(repeats(few)));
  std::iota(seeds.begin(), seeds.end(), first);
  return seeds;
}

size_t every(size_t stride) { return is_soak() ? 1 : stride; }

void in_child(const std::function<void()>& work) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    // A child that hangs is ended by the alarm, which its parent sees. It never returns into the tests of its parent,
    // and leaves without destructors, as a Python worker does.
    std::signal(SIGALRM, SIG_DFL);
    ::alarm(120);
    check::failures.store(0);
    try {
      work();
    } catch (const check::Abandoned&) {
    } catch (const std::exception& error) {
      check::fail(__FILE__, __LINE__, std::string("child threw ") + error.what());
    }
    write_line_counts();
    ::_exit(check::failures.load() == 0 ? 0 : 1);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    check::fail(__FILE__, __LINE__,
                "a child was ended by signal " + std::to_string(WTERMSIG(status)) +
                    (WTERMSIG(status) == SIGALRM ? " (it hung)" : ""));
  } else {
    CHECK_EQ(WEXITSTATUS(status), 0);
  }
}

}  // namespace aboard::testing
