// SPDX-License-Identifier: Apache-2.0
// Logdirs under random histories, many threads and large numbers.
#include <atomic>
#include <random>
#include <thread>

#include "check.hpp"
#include "logdir.hpp"
#include "reader_support.hpp"
#include "scenarios.hpp"

namespace aboard::testing {
namespace {

// A folder and the logdir over it.
struct Case {
  Folder folder;
  Logdir logdir{folder.path().string()};

  fs::path file(std::string_view name) const { return folder.path() / name; }
  bool refresh() { return logdir.refresh(names_in(folder.path())); }
};

TEST(whatever_is_read_when_the_history_is_that_of_the_rules) {
  for (const uint64_t seed : random_seeds(150)) {
    std::mt19937_64 random(seed);
    const Files files = random_files(random);
    Case c;
    Files written;
    bool good = true;
    while (good) {
      std::vector<std::string> unfinished;
      for (const auto& [name, bytes] : files) {
        if (!written.contains(name) || written[name].size() < bytes.size()) unfinished.push_back(name);
      }
      if (unfinished.empty()) break;
      const std::string& name = unfinished[random() % unfinished.size()];
      const std::string& bytes = files.at(name);
      std::string& so_far = written[name];
      const size_t piece = random() % 3 == 0 ? bytes.size() : random() % 200;
      const std::string more = bytes.substr(so_far.size(), piece);
      append_to(c.file(name), more);
      so_far += more;
      if (random() % 3 == 0) continue;
      c.refresh();
      good = same_as_reference(c.logdir, written);
    }
    c.refresh();
    good = good && same_as_reference(c.logdir, files);
    Logdir fresh(c.folder.path().string());
    fresh.refresh(names_in(c.folder.path()));
    good = good && same_as_reference(fresh, files);
    if (!good) {
      check::fail(__FILE__, __LINE__, "seed " + std::to_string(seed));
      break;
    }
  }
}

TEST(readers_see_whole_and_unchanging_series_while_it_is_refreshed) {
  Case c;
  std::atomic<bool> done{false};
  std::atomic<size_t> reads{0};
  const auto read = [&] {
    uint64_t version = 0;
    while (!done) {
      const auto tags = c.logdir.tags();
      for (size_t tag = 0; tag < tags.size(); ++tag) {
        const ColumnView view = c.logdir.scalars(tag, tag % 2 == 0);
        const Points before = points_of(view);
        for (size_t i = 1; tag % 2 == 0 && i < before.size(); ++i) CHECK(before[i - 1].step < before[i].step);
        for (const Point& point : before) CHECK_EQ(point.value, static_cast<double>(point.step));
        c.logdir.superseded_scalars(tag);
        c.logdir.media(tag);
        c.logdir.tag_status(tag);
        CHECK_EQ(points_of(view), before);
        ++reads;
      }
      c.logdir.tag_statuses();
      c.logdir.files();
      c.logdir.first_wall_time();
      c.logdir.generation();
      CHECK(c.logdir.version() >= version);
      version = c.logdir.version();
    }
  };
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) readers.emplace_back(read);
  double clock = 100;
  const int attempts = repeats(4);
  for (int attempt = 0; attempt < attempts; ++attempt) {
    for (const std::string writer : {"a", "b"}) {
      append_to(c.file(std::to_string(attempt) + writer), version_record(clock += 1));
    }
    for (int64_t step = attempt * 20; step < attempt * 20 + 60; ++step) {
      for (const std::string writer : {"a", "b"}) {
        std::string bytes;
        for (const std::string_view tag : {"0", "1", "2", "3"}) {
          bytes += scalar_record(tag, step, clock += 0.01, static_cast<float>(step));
        }
        bytes += record_of(clock, step, EventKind::summary, summary_of({value_of("image", ValueKind::image, "x")}));
        append_to(c.file(std::to_string(attempt) + writer), bytes);
      }
      if (step % 4 == 0) c.refresh();
    }
    if (attempt % 3 == 2) fs::remove(c.file(std::to_string(attempt) + "a"));
    c.refresh();
    clock += 10;
  }
  // At least one look at what has come together.
  while (reads < 20) std::this_thread::yield();
  done = true;
  for (auto& reader : readers) reader.join();
}

TEST(a_large_file_is_shown_while_it_is_read) {
  Case c;
  std::string file = version_record(100);
  const int64_t count = 400'000;
  for (int64_t step = 0; step < count; ++step) file += scalar_record("loss", step, 101, 1);
  write_file(c.file("a"), file);
  std::atomic<bool> done{false};
  std::thread reader([&] {
    uint64_t version = 0;
    size_t seen = 0;
    while (!done) {
      if (c.logdir.version() == version) continue;
      version = c.logdir.version();
      const ColumnView view = c.logdir.scalars(0, true);
      CHECK(view.size >= seen);
      seen = view.size;
      for (size_t i = 0; i < view.size; ++i) {
        if (view.steps()[i] != static_cast<int64_t>(i)) check::fail(__FILE__, __LINE__, "not what was logged");
      }
    }
  });
  c.refresh();
  done = true;
  reader.join();
  CHECK(c.logdir.version() > 5);  // each part that could be seen is told
  CHECK_EQ(shown(c.logdir, "loss").size(), static_cast<size_t>(count));
}

// What would take quadratic time takes many minutes here: the time limit of the tests ends it.
TEST(very_many_tags_files_and_sessions_take_no_more_than_their_number) {
  const int scale = kSanitized ? 10 : 1;
  {
    Case c;
    std::string file = version_record(100);
    for (int tag = 0; tag < 300'000 / scale; ++tag) file += scalar_record("tag" + std::to_string(tag), 1, 101, 1);
    write_file(c.file("a"), file);
    c.refresh();
    append_to(c.file("a"), scalar_record("tag7", 2, 102, 1));
    const uint64_t before = bytes_read_so_far();
    c.refresh();
    CHECK(bytes_read_so_far() - before < 65'536);  // what came, and what proves that it is the same file
    CHECK_EQ(shown(c.logdir, "tag7").size(), 2u);
  }
  {
    Case c;
    for (int file = 0; file < 2'000 / scale; ++file) {
      write_file(c.file(std::to_string(file)), file_of(100 + 10 * file, "loss", {file, file + 1}, 1));
    }
    c.refresh();
    const uint64_t before = bytes_read_so_far();
    c.refresh();
    CHECK(bytes_read_so_far() - before < 65'536);
    CHECK_EQ(shown(c.logdir, "loss").size(), static_cast<size_t>(2'000 / scale + 1));
  }
  {
    // Each start supersedes one point at the front of a series that goes down, and a point in between keeps it busy.
    Case c;
    const int64_t count = 200'000 / scale;
    std::string file = version_record(100);
    for (int64_t step = count; step > 0; --step) file += scalar_record("loss", step, 101, 1);
    for (int64_t step = count; step > 0; --step) {
      file += start_record(step, 101) + scalar_record("loss", 0, 101, 1);
    }
    write_file(c.file("a"), file);
    c.refresh();
    CHECK_EQ(superseded(c.logdir, "loss").size(), static_cast<size_t>(count));
  }
  {
    // Starts alone, over many tags.
    Case c;
    std::string file = version_record(100);
    for (int tag = 0; tag < 2'000; ++tag) file += scalar_record("tag" + std::to_string(tag), 1, 101, 1);
    for (int i = 0; i < 200'000 / scale; ++i) file += start_record(2, 101);
    write_file(c.file("a"), file);
    c.refresh();
    CHECK_EQ(c.logdir.tags().size(), 2'000u);
  }
  {
    // Many writers at the same time.
    Case c;
    const int64_t count = 500 / scale;
    for (int writer = 0; writer < 200; ++writer) {
      std::string file = version_record(100);
      for (int64_t step = 0; step < count; ++step) {
        file += scalar_record("loss", step, 101.0 + static_cast<double>(step) + writer * 0.001, 1);
      }
      write_file(c.file(std::to_string(writer)), file);
    }
    c.refresh();
    CHECK_EQ(shown(c.logdir, "loss").size(), static_cast<size_t>(200 * count));
    CHECK_EQ(unique(c.logdir, "loss").size(), static_cast<size_t>(count));
  }
}
}  // namespace
}  // namespace aboard::testing
