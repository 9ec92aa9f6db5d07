// SPDX-License-Identifier: Apache-2.0
// Event logs across fork().
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <limits>
#include <map>
#include <set>

#include "event_log.hpp"
#include "log_keeper.hpp"
#include "log_support.hpp"

namespace {

std::atomic<bool> disk_hangs{false};
std::atomic<int> hanging{0};

}  // namespace

// In the place of the system's: a disk that does not answer.
extern "C" ssize_t write(int file, const void* bytes, size_t size) {
  if (disk_hangs && file > 2) {
    ++hanging;
    aboard::testing::eventually([] { return !disk_hangs; });
    --hanging;
  }
  return ::syscall(SYS_write, file, bytes, size);
}

namespace aboard {
namespace {

using namespace testing;

TEST(a_child_drops_what_was_pending_and_has_its_own_file) {
  const Folder folder;
  EventLogOptions options = patient(folder.logs());
  options.purge_step = 3;
  const auto log = EventLog::open(options);
  const fs::path parent_path = path_of(*log);
  for (int64_t step = 0; step < 100; ++step) log->add_scalar("x", 0, step, 0);
  in_child([&] {
    CHECK_EQ(path_of(*log), "");
    CHECK(memory_is_free());
    CHECK(!log->flush());
    CHECK_EQ(files_in(folder.logs()).size(), 1u);  // still none of its own
    log->add_scalar("child", 0, 7, 0);
    log->flush();
    CHECK(path_of(*log) != parent_path.string());
    const auto entries = whole_file(path_of(*log));
    CHECK_EQ(entries.size(), 1u);  // no purge step: that would hide what the parent wrote
    CHECK(steps_of(entries, "child") == std::vector<int64_t>{7});
  });
  CHECK_EQ(path_of(*log), parent_path.string());
  for (int64_t step = 100; step < 200; ++step) log->add_scalar("x", 0, step, 0);
  log->close();
  CHECK(steps_of(whole_file(parent_path), "x") == range(200));
  CHECK_EQ(files_in(folder.logs()).size(), 2u);
}

TEST(a_child_that_never_logs_makes_no_file) {
  const Folder folder;
  auto log = EventLog::open(patient(folder.logs()));
  log->add_scalar("x", 0, 0, 0);
  in_child([&] {
    log->flush();
    log->close();
    LogKeeper::instance().close_all();
    log.reset();
  });
  in_child([] {});
  CHECK_EQ(files_in(folder.logs()).size(), 1u);
  log->close();
  CHECK_EQ(whole_file(files_in(folder.logs()).at(0)).size(), 1u);
}

TEST(a_child_writes_by_itself) {
  const Folder folder;
  const auto log = EventLog::open(options_for(folder.logs()));
  log->add_scalar("x", 0, 0, 0);
  in_child([&] {
    log->add_scalar("child", 0, 1, 0);
    CHECK(eventually([&] {
      return files_in(folder.logs()).size() == 2 && !path_of(*log).empty() &&
             read_file(path_of(*log)).entries.size() == 2;
    }));
  });
  CHECK(eventually([&] { return read_file(path_of(*log)).entries.size() == 2; }));
}

TEST(reports_of_the_parent_are_not_the_childs) {
  const Folder folder;
  const auto log = EventLog::open(patient(folder.logs()));
  log->add_histogram("h", std::vector<float>{std::numeric_limits<float>::quiet_NaN()}, 0, 0);
  CHECK(log->flush());
  in_child([&] {
    CHECK(!log->flush());
    CHECK(!log->take_report().has_value());
  });
  CHECK(log->take_report().has_value());
}

TEST(grandchildren) {
  const Folder folder;
  const auto log = EventLog::open(patient(folder.logs()));
  log->add_scalar("x", 0, 0, 0);
  in_child([&] {
    log->add_scalar("x", 0, 1, 0);
    in_child([&] {
      log->add_scalar("x", 0, 2, 0);
      log->close();
    });
    log->close();
  });
  log->close();
  std::multiset<int64_t> steps;
  for (const auto& file : files_in(folder.logs())) {
    const auto entries = whole_file(file);
    REQUIRE(entries.size() == 1);
    steps.insert(entries[0].step);
  }
  CHECK(steps == (std::multiset<int64_t>{0, 1, 2}));
}

TEST(a_child_can_destroy_what_it_inherited) {
  const Folder folder;
  auto log = EventLog::open(patient(folder.logs()));
  log->add_scalar("x", 0, 0, 0);
  in_child([&] {
    log->add_scalar("child", 0, 1, 0);
    log.reset();
    CHECK_EQ(files_in(folder.logs()).size(), 2u);
    auto own = EventLog::open(patient(folder.logs()));
    own->add_scalar("own", 0, 2, 0);
    own.reset();
    CHECK_EQ(files_in(folder.logs()).size(), 3u);
  });
  log.reset();
  for (const auto& file : files_in(folder.logs())) CHECK_EQ(whole_file(file).size(), 1u);
}

TEST(fork_does_not_wait_for_a_disk_that_hangs) {
  const Folder folder;
  const auto log = EventLog::open(patient(folder.logs()));
  const auto other = EventLog::open(patient((folder.path() / "other").string()));
  const fs::path parent_path = path_of(*log);
  for (int64_t step = 0; step < 100; ++step) log->add_scalar("x", 0, step, 0);
  other->add_scalar("y", 0, 0, 0);
  disk_hangs = true;
  std::thread flusher([&] { log->flush(); });
  std::thread closer([&] {
    CHECK(eventually([] { return hanging == 1; }));
    LogKeeper::instance().close_all();
  });
  CHECK(eventually([] { return hanging == 1; }));
  in_child([&] {
    disk_hangs = false;
    CHECK_EQ(path_of(*log), "");
    CHECK_EQ(path_of(*other), "");
    CHECK(memory_is_free());
    log->flush();
    if (!kChildrenMayStartThreads) return;
    log->add_scalar("child", 0, 7, 0);
    LogKeeper::instance().close_all();
    CHECK_EQ(steps_of(whole_file(path_of(*log)), "child"), std::vector<int64_t>{7});
    CHECK_EQ(path_of(*other), "");
  });
  log->add_scalar("x", 0, 100, 0);  // callers do not wait either
  CHECK_EQ(hanging.load(), 1);      // and it still hangs
  disk_hangs = false;
  flusher.join();
  closer.join();
  log->close();
  CHECK_EQ(steps_of(whole_file(parent_path), "x"), range(101));
}

TEST(fork_again_and_again_while_other_threads_log) {
  if (!kMayForkBesideAllocations)
    return check::skip("under the address sanitizer, whose own locks do not survive fork");
  const Folder folder;
  constexpr int kThreads = 3, kLogs = 2;
  const int forks = repeats(60);
  if (!kChildrenMayStartThreads) check::skip("logging in the children, under the thread sanitizer");
  std::vector<std::shared_ptr<EventLog>> logs;
  std::vector<fs::path> paths;
  for (int i = 0; i < kLogs; ++i) {
    EventLogOptions options = options_for(folder.logs());
    options.flush_seconds = 0.001;
    options.wake_entries = 20;
    logs.push_back(EventLog::open(options));
    paths.push_back(path_of(*logs.back()));
  }
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  std::array<int64_t, kThreads> added{};
  for (size_t number = 0; number < kThreads; ++number) {
    threads.emplace_back([&, number] {
      const std::string tag = "thread" + std::to_string(number);
      while (!stop.load()) {
        const int64_t step = added[number]++;
        for (const auto& log : logs) log->add_scalar(tag, 0, step, 0);
        if (step % 64 == 0) logs[static_cast<size_t>(step / 64) % kLogs]->flush();
        if (step % 16 == 0) std::this_thread::yield();
      }
    });
  }
  // Logs that come and go during the forks too.
  threads.emplace_back([&] {
    const std::string short_lived = (folder.path() / "short").string();
    while (!stop.load()) EventLog::open(options_for(short_lived))->add_scalar("x", 0, 0, 0);
  });
  for (int round = 0; round < forks; ++round) {
    in_child([&] {
      if (round % 3 == 0) return;  // a worker that never logs
      if (!kChildrenMayStartThreads) return LogKeeper::instance().close_all();
      for (const auto& log : logs) {
        log->add_scalar("child", 0, round, 0);
        if (round % 3 == 1) log->flush();
      }
      if (round % 3 == 2) LogKeeper::instance().close_all();
    });
  }
  stop.store(true);
  for (auto& thread : threads) thread.join();
  for (size_t i = 0; i < kLogs; ++i) {
    CHECK_EQ(path_of(*logs[i]), paths[i].string());
    logs[i]->close();
    const auto entries = whole_file(paths[i]);
    for (size_t number = 0; number < kThreads; ++number) {
      CHECK(steps_of(entries, "thread" + std::to_string(number)) == range(added[number]));
    }
    CHECK(steps_of(entries, "child").empty());
  }
  std::map<int64_t, int> of_children;
  for (const auto& file : files_in(folder.logs())) {
    if (std::find(paths.begin(), paths.end(), file) != paths.end()) continue;
    const auto entries = whole_file(file);
    REQUIRE(entries.size() == 1);
    CHECK_EQ(entries[0].tag, "child");
    ++of_children[entries[0].step];
  }
  for (int64_t round = 0; round < forks; ++round) {
    CHECK_EQ(of_children[round], round % 3 == 0 || !kChildrenMayStartThreads ? 0 : kLogs);
  }
}

TEST(forks_from_several_threads) {
  if (!kMayForkBesideAllocations)
    return check::skip("under the address sanitizer, whose own locks do not survive fork");
  const Folder folder;
  const int rounds = repeats(8);
  const auto log = EventLog::open(options_for(folder.logs()));
  std::vector<std::thread> threads;
  for (int number = 0; number < 3; ++number) {
    threads.emplace_back([&, number] {
      for (int round = 0; round < rounds; ++round) {
        log->add_scalar("x", 0, round, 0);
        in_child([&] {
          if (kChildrenMayStartThreads) log->add_scalar("child", 0, number * 100000 + round, 0);
          log->flush();
        });
      }
    });
  }
  for (auto& thread : threads) thread.join();
  const fs::path path = path_of(*log);
  log->close();
  const size_t forks = static_cast<size_t>(3 * rounds);
  CHECK_EQ(whole_file(path).size(), forks);
  CHECK_EQ(files_in(folder.logs()).size(), kChildrenMayStartThreads ? 1 + forks : 1);
}

}  // namespace
}  // namespace aboard
