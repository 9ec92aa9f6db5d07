// SPDX-License-Identifier: Apache-2.0
// Event logs on a disk that works: order, promptness, closing and destruction.
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cmath>
#include <limits>
#include <system_error>

#include "event_log.hpp"
#include "log_keeper.hpp"
#include "log_support.hpp"
#include "wire.hpp"

namespace aboard {
namespace {

using namespace testing;

TEST(a_new_log_has_a_file_with_a_header) {
  const Folder folder;
  EventLogOptions options = patient(folder.path() / "not" / "there" / "yet");
  options.suffix = ".suffix";
  const auto log = EventLog::open(options);
  const fs::path path = path_of(*log);
  CHECK_EQ(path.parent_path(), fs::path(options.directory));
  const std::string name = path.filename().string();
  CHECK(name.starts_with("events.out.tfevents."));
  CHECK(name.ends_with(".suffix"));
  CHECK(name.find(".host." + std::to_string(::getpid()) + ".") != std::string::npos);
  CHECK(whole_file(path).empty());
}

TEST(opening_where_it_is_impossible_throws) {
  const Folder folder;
  write_file(folder.path() / "file", "x");
  try {
    EventLog::open(patient(folder.path() / "file" / "below"));
    CHECK(false);
  } catch (const std::system_error& error) {
    CHECK_EQ(error.code().value(), ENOTDIR);
  }
  EventLogOptions options = patient(folder.logs());
  options.suffix = std::string(300, 's');  // more than a name may have
  try {
    EventLog::open(options);
    CHECK(false);
  } catch (const fs::filesystem_error& error) {
    CHECK_EQ(error.code().value(), ENAMETOOLONG);
    CHECK(error.path1().string().starts_with(folder.logs()));
  }
}

TEST(every_kind_of_entry) {
  const Folder folder;
  const auto log = EventLog::open(patient(folder.logs()));
  CHECK(!log->add_scalar("scalar", 1.5f, -3, 100.25));
  std::string summary, value;
  wire::Encoder(value).bytes(1, "own");
  wire::Encoder(summary).bytes(1, value);
  CHECK(!log->add_summary(summary, 4, 200));
  std::string event;
  encode_event(event, 300, 5, EventKind::graph_def, "graph");
  CHECK(!log->add_event(event));
  CHECK(!log->add_histogram("floats", std::vector<float>{1, 2}, 6, 400));
  CHECK(!log->add_histogram("doubles", std::vector<double>{}, 7, 500));
  CHECK(!log->add_scalar("", 2.5f, 8, 600));
  CHECK(!log->flush());
  const auto entries = whole_file(path_of(*log));
  REQUIRE(entries.size() == 6);
  CHECK_EQ(entries[0].tag, "scalar");
  CHECK_EQ(entries[0].value, 1.5f);
  CHECK_EQ(entries[0].step, -3);
  CHECK_EQ(entries[0].wall_time, 100.25);
  CHECK_EQ(entries[1].payload, summary);
  CHECK_EQ(entries[1].step, 4);
  CHECK_EQ(entries[2].kind, EventKind::graph_def);
  CHECK_EQ(entries[2].payload, "graph");
  CHECK_EQ(entries[3].tag, "floats");
  CHECK_EQ(entries[4].tag, "doubles");
  CHECK_EQ(entries[5].value, 2.5f);
  CHECK(memory_is_free());
}

TEST(values_that_are_not_finite_are_said_once) {
  const Folder folder;
  const auto log = EventLog::open(patient(folder.logs()));
  for (int i = 0; i < 3; ++i) log->add_histogram("h", std::vector<float>{1, NAN, INFINITY}, i, 0);
  CHECK(log->flush());
  const auto reports = reports_of(*log);
  REQUIRE(reports.size() == 1);
  CHECK(!reports[0].failure);
  CHECK(reports[0].text.find("2 NaN or infinite of 3") != std::string::npos);
  CHECK(!log->flush());
}

TEST(order_within_each_thread) {
  const Folder folder;
  EventLogOptions options = options_for(folder.logs());
  options.wake_entries = 50;  // keeps the background thread busy meanwhile
  const auto log = EventLog::open(options);
  constexpr int kThreads = 4;
  const int64_t steps = repeats(3000);
  std::vector<std::thread> threads;
  for (int number = 0; number < kThreads; ++number) {
    threads.emplace_back([&, number] {
      const std::string tag = "thread" + std::to_string(number);
      std::string summary, value;
      wire::Encoder(value).bytes(1, tag);
      wire::Encoder(summary).bytes(1, value);
      for (int64_t step = 0; step < steps; ++step) {
        if (step % 97 == 50) {
          log->add_summary(summary, step, 0);
        } else if (step % 501 == 500) {
          log->add_histogram(tag, std::vector<float>(1000, 1.0f), step, 0);
        } else {
          log->add_scalar(tag, static_cast<float>(step), step, 0);
        }
        if (step % 1000 == 999) log->flush();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  log->flush();
  const auto entries = whole_file(path_of(*log));
  for (int number = 0; number < kThreads; ++number) {
    CHECK(steps_of(entries, "thread" + std::to_string(number)) == range(steps));
  }
  CHECK(memory_is_free());
}

TEST(flush_means_in_the_file) {
  const Folder folder;
  const auto log = EventLog::open(patient(folder.logs()));
  for (int64_t step = 0; step < 300; ++step) {
    log->add_scalar("x", 0, step, 0);
    log->flush();
    CHECK_EQ(whole_file(path_of(*log)).size(), static_cast<size_t>(step) + 1);
  }
}

TEST(written_without_any_call) {
  const Folder folder;
  EventLogOptions options = options_for(folder.logs());
  options.flush_seconds = 0.05;
  const auto log = EventLog::open(options);
  for (int64_t round = 1; round <= 3; ++round) {
    log->add_scalar("x", 0, round, 0);
    CHECK(eventually([&] { return read_file(path_of(*log)).entries.size() == static_cast<size_t>(round) + 1; }));
  }
}

TEST(a_wait_is_not_restarted_by_later_entries) {
  const Folder folder;
  EventLogOptions options = options_for(folder.logs());
  options.flush_seconds = 0.2;
  const auto log = EventLog::open(options);
  // They come every few milliseconds, without end: a wait that began again with each would never be over.
  int64_t step = 0;
  CHECK(eventually([&] {
    log->add_scalar("x", 0, step++, 0);
    return read_file(path_of(*log)).entries.size() > 10;
  }));
}

TEST(enough_entries_or_bytes_wake_the_thread_at_once) {
  const Folder folder;
  EventLogOptions options = patient(folder.logs());
  options.wake_entries = 10;
  const auto log = EventLog::open(options);
  for (int64_t step = 0; step < 10; ++step) log->add_scalar("x", 0, step, 0);
  CHECK(eventually([&] { return read_file(path_of(*log)).entries.size() == 11; }));
  const auto by_size = EventLog::open(patient(folder.logs()));
  by_size->add_scalar("x", 0, 0, 0);
  by_size->add_summary(std::string(300 << 10, 'x'), 1, 0);
  CHECK(eventually([&] { return fs::file_size(path_of(*by_size)) > (300 << 10); }));
}

TEST(odd_delays_are_taken_as_something_sensible) {
  const Folder folder;
  for (const double seconds : {1e300, std::numeric_limits<double>::infinity(), -1.0, -1e300, std::nan("")}) {
    EventLogOptions options = options_for(folder.logs());
    options.flush_seconds = seconds;
    const auto log = EventLog::open(options);
    log->add_scalar("x", 0, 0, 0);
    // What is not a positive number means at once; what is too long means some day.
    if (!(seconds > 0)) CHECK(eventually([&] { return read_file(path_of(*log)).entries.size() == 2; }));
    log->flush();
    CHECK_EQ(whole_file(path_of(*log)).size(), 1u);
  }
}

TEST(close_twice_and_go_on) {
  const Folder folder;
  EventLogOptions options = patient(folder.logs());
  options.purge_step = 10;
  const auto log = EventLog::open(options);
  log->add_scalar("x", 0, 1, 0);
  const fs::path first = path_of(*log);
  CHECK(!log->close());
  CHECK(!log->close());
  CHECK(!log->flush());
  CHECK_EQ(files_in(folder.logs()).size(), 1u);  // closing made no other file
  log->add_scalar("x", 0, 2, 0);
  CHECK(!log->flush());
  const fs::path second = path_of(*log);
  CHECK(log->paths() == (std::vector<std::string>{first, second}));
  CHECK(second != first);
  log->close();
  const auto before = whole_file(first), after = whole_file(second);
  REQUIRE(before.size() == 2 && after.size() == 1);
  CHECK_EQ(before[0].kind, EventKind::session_log);  // the purge step: once, in front of everything
  CHECK_EQ(before[0].step, 10);
  CHECK_EQ(before[0].payload, "\x08\x01");
  CHECK_EQ(before[1].step, 1);
  CHECK_EQ(after[0].step, 2);
}

TEST(purge_step_zero_is_written_too) {
  const Folder folder;
  EventLogOptions options = patient(folder.logs());
  options.purge_step = 0;
  const auto entries = whole_file(path_of(*EventLog::open(options)));
  REQUIRE(entries.size() == 1);
  CHECK_EQ(entries[0].kind, EventKind::session_log);
}

TEST(logs_of_one_folder_and_second_have_files_of_their_own) {
  const Folder folder;
  std::vector<std::shared_ptr<EventLog>> logs;
  for (int i = 0; i < 10; ++i) logs.push_back(EventLog::open(patient(folder.logs())));
  CHECK_EQ(files_in(folder.logs()).size(), 10u);
  for (size_t i = 0; i < logs.size(); ++i) logs[i]->add_scalar("x", 0, static_cast<int64_t>(i), 0);
  for (size_t i = 0; i < logs.size(); ++i) {
    logs[i]->close();
  }
  std::vector<int64_t> steps;
  for (const auto& file : files_in(folder.logs())) {
    const auto entries = whole_file(file);
    REQUIRE(entries.size() == 1);
    steps.push_back(entries[0].step);
  }
  std::sort(steps.begin(), steps.end());
  CHECK(steps == range(10));
}

TEST(destruction_writes_everything_before_it_returns) {
  // The background thread is kept busy with the same log; it must not be the one that destroys it, later.
  const Folder folder;
  for (int round = 0; round < repeats(50); ++round) {
    EventLogOptions options = patient(folder.logs());
    options.wake_entries = 1;
    auto log = EventLog::open(options);
    const fs::path path = path_of(*log);
    for (int64_t step = 0; step < 100; ++step) log->add_scalar("x", 0, step, 0);
    log.reset();
    CHECK(steps_of(whole_file(path), "x") == range(100));
    fs::remove(path);
  }
  CHECK(memory_is_free());
}

TEST(logs_that_come_and_go_while_they_are_due) {
  // New logs get the addresses of old ones, whose entries in the schedule must be gone.
  const Folder folder;
  std::vector<std::thread> threads;
  for (int number = 0; number < 3; ++number) {
    threads.emplace_back([&] {
      for (int round = 0; round < repeats(40); ++round) {
        EventLogOptions options = options_for(folder.logs());
        options.flush_seconds = 0.001 * (round % 4);
        options.wake_entries = round % 3 == 0 ? 1 : 0;
        auto log = EventLog::open(options);
        const fs::path path = path_of(*log);
        for (int64_t step = 0; step < 5; ++step) log->add_scalar("x", 0, step, 0);
        if (round % 5 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (round % 2 == 0) log->close();
        log.reset();
        CHECK(steps_of(whole_file(path), "x") == range(5));
        fs::remove(path);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(memory_is_free());
}

TEST(close_all_writes_and_closes_every_log) {
  const Folder folder;
  std::vector<std::shared_ptr<EventLog>> logs;
  std::vector<fs::path> paths;
  for (int i = 0; i < 5; ++i) {
    logs.push_back(EventLog::open(patient(folder.logs())));
    paths.push_back(path_of(*logs.back()));
    logs.back()->add_scalar("x", 0, 1, 0);
  }
  LogKeeper::instance().close_all();
  LogKeeper::instance().close_all();
  for (const auto& path : paths) CHECK_EQ(whole_file(path).size(), 1u);
  for (const auto& log : logs) {  // into another file, as after any close
    log->add_scalar("x", 0, 2, 0);
    log->flush();
    CHECK_EQ(log->paths().size(), 2u);
  }
}

TEST(close_all_beside_logs_that_end) {
  const Folder folder;
  std::atomic<bool> stop{false};
  std::thread closer([&] {
    while (!stop.load()) LogKeeper::instance().close_all();
  });
  for (int round = 0; round < repeats(40); ++round) {
    auto log = EventLog::open(patient(folder.logs()));
    for (int64_t step = 0; step < 20; ++step) log->add_scalar("x", 0, step, 0);
    log.reset();
    size_t entries = 0;
    for (const auto& file : files_in(folder.logs())) {  // closing in between starts another file
      entries += whole_file(file).size();
      fs::remove(file);
    }
    CHECK_EQ(entries, 20u);
  }
  stop.store(true);
  closer.join();
}

TEST(above_the_memory_limit_callers_write_themselves) {
  const Folder folder;
  LogKeeper& keeper = LogKeeper::instance();
  const size_t limit = keeper.memory_limit();
  keeper.set_memory_limit(1000);
  const auto log = EventLog::open(patient(folder.logs()));
  for (int64_t step = 0; step < 200; ++step) CHECK(!log->add_scalar("x", 0, step, 0));
  log->add_summary(std::string(5000, '\0'), 200, 0);  // larger than the limit: taken all the same
  CHECK(fs::file_size(path_of(*log)) > 1000);
  keeper.set_memory_limit(limit);
  log->flush();
  CHECK_EQ(whole_file(path_of(*log)).size(), 201u);
  CHECK(memory_is_free());
}

TEST(large_entries_go_through_whole) {
  const Folder folder;
  const auto log = EventLog::open(options_for(folder.logs()));
  for (int64_t step = 0; step < 4; ++step) {
    log->add_scalar("x", 0, step, 0);
    std::string event;
    encode_event(event, 0, step, EventKind::graph_def, std::string(3 << 20, 'g'));
    log->add_event(event);
  }
  log->flush();
  const auto entries = whole_file(path_of(*log));
  CHECK_EQ(entries.size(), 8u);
  CHECK(steps_of(entries, "x") == range(4));
}

}  // namespace
}  // namespace aboard
