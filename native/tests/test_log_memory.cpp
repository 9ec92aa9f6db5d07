// SPDX-License-Identifier: Apache-2.0
// Event logs when memory runs out: allocations fail on purpose, one after the other.
#include <array>
#include <atomic>
#include <cstdlib>
#include <new>
#include <span>

#include "event_log.hpp"
#include "log_support.hpp"

namespace {

// Allocations of the calling thread, or of all threads but those that are exempt, that still succeed; negative: all do.
thread_local int64_t left_here = -1;
thread_local bool is_exempt = false;
std::atomic<int64_t> left_elsewhere{-1};
std::atomic<int> refused_elsewhere{0};

bool refuse() {
  if (left_here >= 0 && left_here-- == 0) {
    left_here = -1;
    return true;
  }
  if (is_exempt || left_elsewhere.load(std::memory_order_relaxed) < 0) return false;
  if (left_elsewhere.fetch_sub(1) != 0) return false;
  ++refused_elsewhere;
  return true;
}

}  // namespace

void* operator new(size_t size) {
  if (!refuse()) {
    if (void* memory = std::malloc(size != 0 ? size : 1)) return memory;
  }
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace aboard {
namespace {

constexpr std::array<float, 10> kOnes{1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

using namespace testing;

// Runs `work` with its n-th allocation failing, for each n, until it gets through.
template <typename Work>
int fail_each_allocation(Work work) {
  for (int64_t n = 0; n < 1000; ++n) {
    left_here = n;
    try {
      work();
      const bool through = left_here >= 0;
      left_here = -1;
      if (through) return static_cast<int>(n);
    } catch (const std::bad_alloc&) {
    }
    left_here = -1;
  }
  CHECK(false);
  return -1;
}

TEST(an_add_that_throws_leaves_no_half_entry) {
  const Folder folder;
  const auto log = EventLog::open(patient(folder.logs()));
  const std::string tag(100, 't');
  int64_t tried = 0;
  const int failed = fail_each_allocation([&] { log->add_scalar(tag, 0, ++tried, 0); });
  CHECK(failed > 0);
  // The block of scalars must grow many times, each time with the first or the second allocation failing.
  for (int64_t step = 1000; step < 3000; ++step) {
    left_here = 0;
    try {
      log->add_scalar(tag, 0, step, 0);
      left_here = -1;
    } catch (const std::bad_alloc&) {
      log->add_scalar(tag, 0, step, 0);
    }
  }
  log->flush();
  const auto entries = whole_file(path_of(*log));
  std::vector<int64_t> steps;
  for (const auto& entry : entries) {
    CHECK_EQ(entry.tag, tag);
    if (entry.step >= 1000) steps.push_back(entry.step - 1000);
  }
  CHECK(steps == range(2000));
}

TEST(a_flush_that_throws_can_be_repeated) {
  const Folder folder;
  EventLogOptions options = patient(folder.logs());
  options.purge_step = 4;
  const auto log = EventLog::open(options);
  for (const bool reopen : {false, true}) {
    if (reopen) log->close();
    for (int64_t step = 0; step < 50; ++step) {
      log->add_scalar("x", 0, step, 0);
      // Few enough that the background thread is not woken: the flush is to do the work.
      if (step < 8) log->add_histogram("h", std::span<const float>(kOnes), step, 0);
      if (step % 10 == 0) log->add_summary(std::string(5000, '\0'), step, 0);
    }
    const int failed = fail_each_allocation([&] { log->flush(); });
    CHECK(failed > 3);
    const auto entries = whole_file(path_of(*log));
    CHECK(steps_of(entries, "x") == range(50));
    CHECK(steps_of(entries, "h") == range(8));
    CHECK(memory_is_free());
  }
}

TEST(the_background_thread_survives) {
  const Folder folder;
  EventLogOptions options = options_for(folder.logs());
  options.flush_seconds = options.retry_seconds = 0.02;
  const auto log = EventLog::open(options);
  int64_t step = 0;
  log->add_scalar("x", 0, step++, 0);
  CHECK(eventually([&] { return read_file(path_of(*log)).entries.size() == 2; }));  // the thread runs
  const fs::path path = path_of(*log);
  is_exempt = true;
  for (int round = 0; round < 4; ++round) {
    refused_elsewhere = 0;
    left_elsewhere = round;
    CHECK(eventually([&] {
      for (int i = 0; i < 20; ++i) {
        log->add_histogram("h", std::span<const float>(kOnes), step, 0);
        log->add_scalar("x", 0, step++, 0);
      }
      return refused_elsewhere > 0;
    }));
    left_elsewhere = -1;
  }
  is_exempt = false;
  CHECK(eventually([&] { return read_file(path).entries.size() == static_cast<size_t>(2 * step); }));
  CHECK(steps_of(whole_file(path), "x") == range(step));
}

TEST(destruction_does_not_throw) {
  const Folder folder;
  for (int64_t n = 0; n < 6; ++n) {
    auto log = EventLog::open(patient(folder.logs()));
    for (int64_t step = 0; step < 20; ++step) log->add_scalar("x", 0, step, 0);
    left_here = n;
    log.reset();
    left_here = -1;
    CHECK(memory_is_free());
  }
  for (const auto& file : files_in(folder.logs())) CHECK(!read_file(file).damaged);
}

}  // namespace
}  // namespace aboard
