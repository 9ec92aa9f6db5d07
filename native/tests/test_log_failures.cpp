// SPDX-License-Identifier: Apache-2.0
// Event logs on a disk that is full, gone or forbidden.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "event_log.hpp"
#include "log_keeper.hpp"
#include "log_support.hpp"

namespace aboard {
namespace {

using namespace testing;

// Every scalar "x" in all files of a folder, also while they are being written.
std::vector<int64_t> steps_so_far(const fs::path& directory) {
  std::vector<int64_t> steps;
  for (const auto& file : files_in(directory)) {
    for (const int64_t step : steps_of(read_file(file).entries, "x")) steps.push_back(step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

// The same when writing is over, and that each file is sound: a file that could not be written to its end may be cut
// off there, nothing else.
std::vector<int64_t> all_steps(const fs::path& directory) {
  for (const auto& file : files_in(directory)) {
    const FileContent content = read_file(file);
    CHECK(!content.damaged);
    size_t versions = 0;
    for (const auto& entry : content.entries) versions += entry.kind == EventKind::file_version;
    CHECK_EQ(versions, 1u);
    if (!content.entries.empty()) CHECK_EQ(content.entries[0].kind, EventKind::file_version);
  }
  return steps_so_far(directory);
}

size_t purges_in(const fs::path& directory) {
  size_t purges = 0;
  for (const auto& file : files_in(directory)) {
    for (const auto& entry : read_file(file).entries) purges += entry.kind == EventKind::session_log;
  }
  return purges;
}

// Writes when it is flushed, and tries again what failed soon after.
EventLogOptions persistent(const std::string& directory) {
  EventLogOptions options = patient(directory);
  options.retry_seconds = 0.02;
  return options;
}

void limit_file_size(rlim_t bytes) {
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = bytes;
  CHECK_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
}

TEST(a_removed_folder_is_said_once_and_logging_goes_on) {
  const Folder folder;
  const auto log = EventLog::open(patient(folder.logs()));
  log->add_scalar("x", 0, 0, 0);
  log->flush();
  const fs::path first = path_of(*log);
  fs::remove_all(folder.logs());
  log->add_scalar("x", 0, 1, 0);
  CHECK(log->flush());
  const auto reports = reports_of(*log);
  REQUIRE(reports.size() == 1);
  CHECK(reports[0].failure);
  CHECK(reports[0].text.find(first.string()) != std::string::npos);
  CHECK(reports[0].text.find(path_of(*log)) != std::string::npos);
  log->add_scalar("x", 0, 2, 0);
  CHECK(!log->flush());
  CHECK(path_of(*log) != first.string());
  const auto entries = whole_file(path_of(*log));
  CHECK(steps_of(entries, "x") == (std::vector<int64_t>{1, 2}));
  CHECK_EQ(files_in(folder.logs()).size(), 1u);
}

TEST(a_file_removed_before_its_first_entry_is_replaced_by_a_sound_one) {
  const Folder folder;
  const auto log = EventLog::open(patient(folder.logs()));
  log->close();
  // The header of the second file and the entry are written together, and both must come again, once.
  for (int64_t step = 0; step < 3; ++step) {
    log->add_scalar("x", 0, step, 0);
    log->flush();
    fs::remove(path_of(*log));
  }
  log->add_scalar("x", 0, 3, 0);
  log->flush();
  CHECK(steps_of(whole_file(path_of(*log)), "x") == std::vector<int64_t>{3});
}

TEST(a_removed_folder_that_cannot_be_made_again) {
  const Folder folder;
  const auto log = EventLog::open(persistent(folder.logs()));
  log->add_scalar("x", 0, 0, 0);
  log->flush();
  fs::remove_all(folder.logs());
  write_file(folder.logs(), "in the way");
  log->add_scalar("x", 0, 1, 0);
  CHECK(log->flush());
  log->flush();
  auto reports = reports_of(*log);
  REQUIRE(reports.size() == 1);
  CHECK(reports[0].failure);
  CHECK(reports[0].text.find("cannot create") != std::string::npos);
  fs::remove(folder.logs());
  // By itself, with nobody calling.
  CHECK(eventually([&] { return steps_so_far(folder.logs()) == std::vector<int64_t>{1}; }));
  CHECK(eventually([&] { return log->flush(); }));
  reports = reports_of(*log);
  REQUIRE(reports.size() == 2);
  CHECK(reports[0].failure && reports[0].text.find("was removed") != std::string::npos);  // entry 0 is gone
  CHECK(reports[1].text.find("can be written again") != std::string::npos);
}

TEST(a_largest_file_size_is_gone_round) {
  const Folder folder;
  in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);  // as Python does
    limit_file_size(8000);
    EventLogOptions options = persistent(folder.logs());
    options.flush_seconds = 0.01;
    options.purge_step = 5;
    auto log = EventLog::open(options);
    for (int64_t step = 0; step < 500; ++step) log->add_scalar("x", 0, step, 0);  // 20 KB
    CHECK(eventually([&] { return steps_so_far(folder.logs()).size() == 500; }));
    CHECK(all_steps(folder.logs()) == range(500));
    CHECK_EQ(purges_in(folder.logs()), 1u);
    CHECK(files_in(folder.logs()).size() >= 3);
    const auto reports = reports_of(*log);
    CHECK(!reports.empty() && reports[0].failure);
  });
}

TEST(no_file_can_be_written_at_all_for_a_while) {
  const Folder folder;
  in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    EventLogOptions options = patient(folder.logs());
    options.purge_step = 5;
    limit_file_size(0);
    auto log = EventLog::open(options);
    for (int64_t step = 0; step < 50; ++step) {
      log->add_scalar("x", 0, step, 0);
      CHECK(log->flush() || step > 0);
    }
    auto reports = reports_of(*log);
    REQUIRE(reports.size() == 1);  // once, not once per try
    CHECK(reports[0].failure);
    // Each try takes its file with it: a night of trying must not fill the folder.
    CHECK(files_in(folder.logs()).size() <= 1);
    limit_file_size(20);  // now a part of the header
    for (int i = 0; i < 5; ++i) log->flush();
    CHECK(files_in(folder.logs()).size() <= 1);
    limit_file_size(50);  // the file version, but not all of the purge step
    for (int i = 0; i < 5; ++i) log->flush();
    limit_file_size(RLIM_INFINITY);
    log->flush();
    CHECK(all_steps(folder.logs()) == range(50));
    CHECK_EQ(purges_in(folder.logs()), 1u);
    reports = reports_of(*log);
    REQUIRE(reports.size() == 1);
    CHECK(!reports[0].failure);
    CHECK(memory_is_free());
  });
}

TEST(memory_is_bounded_while_the_disk_fails) {
  const Folder folder;
  in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    auto log = EventLog::open(patient(folder.logs()));
    LogKeeper& keeper = LogKeeper::instance();
    keeper.set_memory_limit(100 << 10);
    limit_file_size(0);
    log->add_scalar("x", 0, 0, 0);
    CHECK(log->flush());
    CHECK_EQ(reports_of(*log).size(), 1u);
    int64_t told = 0;
    const int64_t steps = 200000;  // refusing is not waiting: a millisecond each would end the child
    for (int64_t step = 1; step < steps; ++step) {
      if (log->add_scalar("x", 0, step, 0)) told += static_cast<int64_t>(reports_of(*log).size());
    }
    CHECK_EQ(told, 1);
    CHECK(keeper.fits(0));
    CHECK(!keeper.fits(100 << 10));
    // A report waits only when there is one, also when an entry was refused.
    CHECK(!log->add_scalar("x", 0, steps, 0));
    CHECK(!log->add_summary(std::string(200 << 10, 's'), 0, 0));
    limit_file_size(RLIM_INFINITY);
    CHECK(log->flush());
    const auto reports = reports_of(*log);
    REQUIRE(reports.size() == 1);
    CHECK(reports[0].failure);
    const auto kept = all_steps(folder.logs());
    CHECK(kept == range(static_cast<int64_t>(kept.size())));  // the first ones, none twice
    const int64_t lost = steps - static_cast<int64_t>(kept.size()) + 2;
    CHECK(reports[0].text.find(std::string(" ").append(std::to_string(lost)).append(" entries were dropped")) !=
          std::string::npos);
    // All is well again, and a second failure is told anew.
    CHECK(!log->add_scalar("x", 0, 1, 0));
    CHECK(!log->flush());
    CHECK(keeper.fits(100 << 10));
  });
}

TEST(a_log_destroyed_while_the_disk_fails_gives_its_memory_back) {
  const Folder folder;
  in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    // What the destructor says on stderr is expected and would only confuse.
    const int nowhere = ::open("/dev/null", O_WRONLY);
    auto log = EventLog::open(persistent(folder.logs()));
    auto later = EventLog::open(persistent((folder.path() / "later").string()));
    limit_file_size(0);
    for (int64_t step = 0; step < 5000; ++step) log->add_scalar("x", 0, step, 0);
    log->flush();
    log->add_scalar("x", 0, 5000, 0);
    const int before = ::dup(STDERR_FILENO);
    ::dup2(nowhere, STDERR_FILENO);
    log.reset();
    ::dup2(before, STDERR_FILENO);
    CHECK(memory_is_free());
    // The schedule knows it no more: its retry would be due before the one of another log.
    later->add_scalar("x", 0, 0, 0);
    CHECK(later->flush());
    limit_file_size(RLIM_INFINITY);
    CHECK(eventually([&] { return steps_so_far(folder.path() / "later") == range(1); }));
  });
}

TEST(without_a_thread_callers_write_themselves) {
#if ABOARD_SANITIZED
  check::skip("the sanitizers' own memory leaves no room for a limit on address space");
#else
  const Folder folder;
  in_child([&] {
    // A stack larger than what may be mapped: no thread can start.
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, size_t{8} << 30);
    CHECK_EQ(::pthread_setattr_default_np(&attributes), 0);
    rlimit limit{};
    ::getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = rlim_t{2} << 30;
    CHECK_EQ(::setrlimit(RLIMIT_AS, &limit), 0);
    auto log = EventLog::open(patient(folder.logs()));
    log->add_scalar("x", 0, 0, 0);
    CHECK_EQ(whole_file(path_of(*log)).size(), 1u);
    log->add_scalar("x", 0, 1, 0);
    CHECK_EQ(whole_file(path_of(*log)).size(), 2u);
    log.reset();
  });
#endif
}

// Runs `work` with a file system of 64 KB at `place`, in a mount namespace that ends with the child.
void on_a_small_disk(const fs::path& place, const std::function<void()>& work) {
  if (::geteuid() != 0) {
    check::skip("a full disk (ENOSPC): mounting a small tmpfs needs root");
    return;
  }
  fs::create_directories(place);
  // Tried first in a child of its own, so that the parent can say why.
  const pid_t probe = ::fork();
  if (probe == 0) ::_exit(::unshare(CLONE_NEWNS) == 0 ? 0 : errno);
  int status = 0;
  ::waitpid(probe, &status, 0);
  if (WEXITSTATUS(status) != 0) {
    check::skip(std::string("a full disk (ENOSPC): unshare: ") + std::strerror(WEXITSTATUS(status)));
    return;
  }
  in_child([&] {
    REQUIRE(::unshare(CLONE_NEWNS) == 0);
    REQUIRE(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0);
    REQUIRE(::mount("tmpfs", place.c_str(), "tmpfs", 0, "size=64k") == 0);
    work();
  });
}

TEST(a_full_disk_is_said_once_and_nothing_is_lost) {
  const Folder folder;
  const fs::path place = folder.path() / "disk";
  on_a_small_disk(place, [&] {
    auto log = EventLog::open(persistent(place / "logs"));
    const fs::path path = path_of(*log);
    write_file(place / "ballast", std::string(40 << 10, 'b'));
    for (int64_t step = 0; step < 800; ++step) log->add_scalar("x", 0, step, 0);  // 32 KB: more than is left
    CHECK(log->flush());
    for (int64_t step = 800; step < 1000; ++step) log->add_scalar("x", 0, step, 0);
    log->flush();
    log->close();  // goes on trying
    auto reports = reports_of(*log);
    REQUIRE(reports.size() == 1);
    CHECK(reports[0].failure);
    CHECK(reports[0].text.find("No space left") != std::string::npos);
    CHECK(!read_file(path).damaged);
    fs::remove(place / "ballast");
    CHECK(eventually([&] { return read_file(path).entries.size() == 1001; }));
    CHECK(steps_of(whole_file(path), "x") == range(1000));
    CHECK(eventually([&] { return log->flush(); }));
    reports = reports_of(*log);
    REQUIRE(reports.size() == 1);
    CHECK(!reports[0].failure);
    CHECK_EQ(files_in(place / "logs").size(), 1u);
    log->add_scalar("x", 0, 1000, 0);
    CHECK(!log->close());
    CHECK(steps_of(whole_file(path), "x") == range(1001));
  });
}

TEST(a_disk_that_is_full_from_the_start) {
  const Folder folder;
  const fs::path place = folder.path() / "disk";
  on_a_small_disk(place, [&] {
    fs::create_directories(place / "logs");
    write_file(place / "ballast", std::string(80 << 10, 'b'));
    EventLogOptions options = patient(place / "logs");
    options.purge_step = 1;
    auto log = EventLog::open(options);
    log->add_scalar("x", 0, 0, 0);
    CHECK(log->flush());
    CHECK_EQ(reports_of(*log).size(), 1u);
    fs::remove(place / "ballast");
    log->flush();
    CHECK(all_steps(place / "logs") == range(1));
    CHECK_EQ(purges_in(place / "logs"), 1u);
    CHECK_EQ(files_in(place / "logs").size(), 1u);
  });
}

TEST(room_made_by_deleting_the_very_file) {
  // An open file keeps its blocks when it is deleted: the log must let go of it, or the disk stays full for ever.
  const Folder folder;
  const fs::path place = folder.path() / "disk";
  on_a_small_disk(place, [&] {
    auto log = EventLog::open(patient(place / "logs"));
    const fs::path path = path_of(*log);
    int64_t step = 0;
    while (!log->flush()) {
      for (int i = 0; i < 200; ++i) log->add_scalar("x", 0, step++, 0);
    }
    CHECK_EQ(reports_of(*log).size(), 1u);
    fs::remove(path);
    CHECK(eventually([&] {
      log->flush();
      return !path_of(*log).empty() && path_of(*log) != path.string();
    }));
    log->add_scalar("x", 0, step++, 0);
    log->flush();
    const auto steps = steps_of(whole_file(path_of(*log)), "x");
    REQUIRE(!steps.empty());
    CHECK_EQ(steps.back(), step - 1);
    CHECK_EQ(static_cast<size_t>(steps.back() - steps.front()) + 1, steps.size());
    bool removal_said = false;
    for (const auto& report : reports_of(*log)) {
      removal_said |= report.failure && report.text.find("was removed") != std::string::npos;
    }
    CHECK(removal_said);
  });
}

TEST(a_disk_that_is_full_again_and_again) {
  const Folder folder;
  const fs::path place = folder.path() / "disk";
  on_a_small_disk(place, [&] {
    EventLogOptions options = options_for(place / "logs");
    options.flush_seconds = 0.001;
    auto log = EventLog::open(options);
    const fs::path path = path_of(*log);
    int64_t step = 0;
    for (int round = 0; round < 4; ++round) {
      write_file(place / "ballast", std::string(80 << 10, 'b'));         // all that is left
      for (int i = 0; i < 250; ++i) log->add_scalar("x", 0, step++, 0);  // 10 KB
      CHECK(log->flush() || round > 0);
      CHECK(!read_file(path).damaged);
      fs::remove(place / "ballast");
      log->flush();
      CHECK(steps_of(whole_file(path), "x") == range(step));
    }
  });
}

}  // namespace
}  // namespace aboard
