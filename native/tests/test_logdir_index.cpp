// SPDX-License-Identifier: Apache-2.0
// What was decoded is found again by another Logdir, and never believed when it does not fit.
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <random>
#include <thread>

#include "check.hpp"
#include "crc32c.hpp"
#include "logdir.hpp"
#include "reader_support.hpp"
#include "scenarios.hpp"

namespace {

std::atomic<bool> is_old_kernel{false};

}  // namespace

// In the place of the system's: before Linux 5.14 it knew nothing of MADV_POPULATE_READ.
extern "C" int madvise(void* begin, size_t bytes, int advice) noexcept {
#ifdef MADV_POPULATE_READ
  if (is_old_kernel && advice == MADV_POPULATE_READ) {
    errno = EINVAL;
    return -1;
  }
#endif
  return static_cast<int>(::syscall(SYS_madvise, begin, bytes, advice));
}

namespace aboard::testing {
namespace {

// A folder with event files, one for the index, and logdirs that come and go as processes do.
struct Case {
  Folder folder;
  Folder cache;
  fs::path index = cache.path() / "index";

  fs::path file(std::string_view name) const { return folder.path() / name; }
  std::unique_ptr<Logdir> open() const {
    auto logdir = std::make_unique<Logdir>(folder.path().string(), index.string());
    logdir->refresh(names_in(folder.path()));
    return logdir;
  }
  // Reads everything and keeps it.
  void save() const { CHECK_EQ(open()->save_index(), 0); }
};

std::string long_file(double wall_time, int64_t count) {
  std::string bytes = version_record(wall_time);
  for (int64_t step = 0; step < count; ++step) {
    bytes += scalar_record("loss", step, wall_time + 1 + static_cast<double>(step), static_cast<float>(step));
  }
  return bytes;
}

TEST(a_second_opening_reads_only_what_is_new) {
  Case c;
  const std::string first = long_file(100, 1000);
  write_file(c.file("a"), first);
  c.save();
  CHECK_EQ(c.open()->bytes_read(), 0u);
  CHECK_EQ(c.open()->unsaved_bytes(), 0u);
  const std::string more = scalar_record("loss", 1000, 2000, 7) + scalar_record("other", 3, 2001, 8);
  append_to(c.file("a"), more);
  const auto logdir = c.open();
  CHECK_EQ(logdir->bytes_read(), more.size());
  CHECK_EQ(logdir->unsaved_bytes(), more.size());
  CHECK_EQ(shown(*logdir, "loss").size(), 1001u);
  CHECK_EQ(shown(*logdir, "loss").back(), (Point{1000, 2000, 7}));
  CHECK_EQ(shown(*logdir, "other").size(), 1u);
  CHECK_EQ(logdir->files()[0].records, 1003u);
  CHECK_EQ(logdir->first_wall_time(), std::optional(100.0));
  CHECK_EQ(logdir->save_index(), 0);
  CHECK_EQ(logdir->unsaved_bytes(), 0u);
  CHECK_EQ(c.open()->bytes_read(), 0u);
}

TEST(media_tags_and_damage_are_found_again) {
  Case c;
  std::string bytes = version_record(100);
  bytes += record_of(101, 5, EventKind::graph_def, "graph");
  bytes += record_of(102, 6, EventKind::summary, summary_of({value_of("picture", ValueKind::image, "pixels")}));
  std::string damaged = scalar_record("loss", 1, 103, 1);
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  bytes += damaged + scalar_record("loss", 2, 104, 2);
  write_file(c.file("a"), bytes);
  c.save();
  const auto logdir = c.open();
  CHECK_EQ(logdir->bytes_read(), 0u);
  const size_t picture = tag_number(*logdir, "picture");
  REQUIRE(logdir->media(picture).size() == 1);
  const auto content = logdir->read_media(picture, logdir->media(picture)[0]);
  REQUIRE(content.has_value());
  CHECK(content->find("pixels") != std::string::npos);
  CHECK_EQ(logdir->media(tag_number(*logdir, "__run_graph__")).size(), 1u);
  CHECK_EQ(logdir->files()[0].damage.bad_records, 1u);
  CHECK_EQ(steps_of(shown(*logdir, "loss")), std::vector<int64_t>{2});
}

TEST(whenever_it_is_kept_the_history_goes_on_by_the_rules) {
  for (const uint64_t seed : random_seeds(80)) {
    std::mt19937_64 random(seed);
    const Files files = random_files(random);
    Case c;
    Files written;
    auto logdir = c.open();
    bool good = true;
    while (good && written != files) {
      auto next = files.begin();
      std::advance(next, static_cast<std::ptrdiff_t>(random() % files.size()));
      const auto& [name, bytes] = *next;
      std::string& so_far = written[name];
      const std::string more = bytes.substr(so_far.size(), random() % 3 == 0 ? bytes.size() : random() % 200);
      append_to(c.file(name), more);
      so_far += more;
      if (random() % 3 == 0) continue;
      logdir->refresh(names_in(c.folder.path()));
      if (random() % 2 == 0) {
        CHECK_EQ(logdir->save_index(), 0);
        if (random() % 2 == 0) logdir = c.open();
      }
      good = same_as_reference(*logdir, written);
    }
    good = good && same_as_reference(*c.open(), files);
    if (!good) {
      check::fail(__FILE__, __LINE__, "seed " + std::to_string(seed));
      break;
    }
  }
}

TEST(what_does_not_fit_is_dropped) {
  Case c;
  const std::string bytes = long_file(100, 50);
  const auto reads_all_again = [&](const char* why) {
    const bool dropped = !fs::exists(c.index) || c.open()->bytes_read() > 0;
    if (!dropped) check::fail(__FILE__, __LINE__, why);
    CHECK(!fs::exists(c.index));
  };
  write_file(c.file("a"), bytes);
  c.save();
  fs::remove(c.file("a"));
  write_file(c.file("b"), bytes);
  CHECK_EQ(c.open()->bytes_read(), bytes.size());
  reads_all_again("the file is gone");

  c.save();
  fs::resize_file(c.file("b"), bytes.size() - 1);
  CHECK_EQ(shown(*c.open(), "loss").size(), 49u);
  reads_all_again("the file is shorter");

  write_file(c.file("b"), bytes);
  c.save();
  std::string other = bytes;
  other[bytes.size() - 20] = static_cast<char>(other[bytes.size() - 20] ^ 1);
  write_file(c.file("b"), other);  // the same inode and size
  CHECK_EQ(shown(*c.open(), "loss").size(), 49u);
  reads_all_again("other bytes before the end");

  fs::remove(c.file("b"));
  write_file(c.file("b"), bytes);
  c.save();
  fs::rename(c.index, c.cache.path() / "other");
  Folder elsewhere;
  write_file(elsewhere.path() / "b", bytes);
  Logdir moved(elsewhere.path().string(), (c.cache.path() / "other").string());
  moved.refresh({"b"});
  CHECK_EQ(moved.bytes_read(), bytes.size());
}

TEST(damage_of_the_index_is_noticed_wherever_it_is) {
  Case c;
  std::string bytes = long_file(100, 40);
  bytes += record_of(200, 6, EventKind::summary, summary_of({value_of("picture", ValueKind::image, "pixels")}));
  write_file(c.file("a"), bytes);
  c.save();
  const Points points = shown(*c.open(), "loss");
  const std::string whole = read_bytes(c.index);
  for (size_t at = 0; at < whole.size(); at += every(7)) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
    write_file(c.index, damaged);
    const auto logdir = c.open();
    // Columns are believed when they are looked at, not before.
    CHECK_EQ(shown(*logdir, "loss"), points);
    CHECK_EQ(logdir->superseded_scalars(tag_number(*logdir, "loss")).size, 0u);
    if (logdir->bytes_read() != bytes.size()) check::fail(__FILE__, __LINE__, "byte " + std::to_string(at));
  }
  for (size_t size = 0; size < whole.size(); size += every(37)) {
    write_file(c.index, whole.substr(0, size));
    CHECK_EQ(c.open()->bytes_read(), bytes.size());
  }
  write_file(c.index, whole);
  CHECK_EQ(c.open()->bytes_read(), 0u);
}

// Turns over a bit in the middle of the columns, which come first in the file.
void damage_columns(const fs::path& index) {
  std::string bytes = read_bytes(index);
  bytes[200] = static_cast<char>(bytes[200] ^ 16);
  write_file(index, bytes);
}

TEST(statuses_are_known_without_a_look_at_the_columns) {
  Case c;
  write_file(c.file("a"), long_file(100, 500));
  c.save();
  damage_columns(c.index);
  const auto logdir = c.open();
  const auto status = logdir->tag_status(tag_number(*logdir, "loss"));
  REQUIRE(status.has_value());
  CHECK_EQ(status->count, 500u);
  CHECK_EQ(status->last_step, 499);
  CHECK_EQ(status->last_wall_time, 600.0);
  CHECK_EQ(logdir->bytes_read(), 0u);
}

TEST(points_that_come_behind_damaged_columns_are_found_among_what_is_read_again) {
  Case c;
  write_file(c.file("a"), long_file(100, 500));
  const auto all = [&] {
    Logdir fresh(c.folder.path().string());
    fresh.refresh(names_in(c.folder.path()));
    return shown(fresh, "loss");
  };
  for (const std::string& more : {scalar_record("loss", 500, 900, 7), start_record(100, 900),
                                  start_record(100, 900) + scalar_record("loss", 100, 901, 7)}) {
    c.save();
    damage_columns(c.index);
    append_to(c.file("a"), more);
    const auto logdir = c.open();
    CHECK_EQ(shown(*logdir, "loss"), all());
    CHECK(logdir->bytes_read() > long_file(100, 500).size());
    fs::remove(c.index);
  }
}

TEST(damaged_columns_are_not_kept_again) {
  Case c;
  write_file(c.file("a"), long_file(100, 500));
  c.save();
  damage_columns(c.index);
  append_to(c.file("a"), scalar_record("other", 500, 900, 7));  // nobody looks at the damaged ones
  auto logdir = c.open();
  CHECK_EQ(logdir->save_index(), 0);
  logdir = c.open();
  CHECK_EQ(logdir->bytes_read(), 0u);
  CHECK_EQ(shown(*logdir, "loss").size(), 500u);
  CHECK_EQ(logdir->bytes_read(), 0u);
  CHECK_EQ(shown(*logdir, "loss")[9], (Point{9, 110, 9}));
}

TEST(many_who_find_the_same_damage_have_it_read_again_once) {
  Case c;
  const std::string bytes = long_file(100, 3000);
  write_file(c.file("a"), bytes);
  c.save();
  damage_columns(c.index);
  const auto logdir = c.open();
  const size_t tag = tag_number(*logdir, "loss");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { CHECK_EQ(points_of(logdir->scalars(tag, true)).size(), 3000u); });
  }
  for (auto& thread : threads) thread.join();
  CHECK_EQ(logdir->bytes_read(), bytes.size());
  CHECK_EQ(logdir->save_index(), 0);
  CHECK_EQ(c.open()->bytes_read(), 0u);
}

TEST(what_was_kept_leaves_the_memory_and_can_still_be_looked_at_and_added_to) {
  Case c;
  write_file(c.file("a"), long_file(100, 2000));
  const auto logdir = c.open();
  const size_t tag = tag_number(*logdir, "loss");
  const ColumnView before = logdir->scalars(tag, true);
  CHECK_EQ(logdir->save_index(), 0);
  const ColumnView after = logdir->scalars(tag, true);
  CHECK(after.block != before.block);
  CHECK_EQ(points_of(after), points_of(before));
  fs::remove(c.index);  // as when the cache is cleaned
  append_to(c.file("a"), scalar_record("loss", 2000, 9000, 7) + scalar_record("loss", 1000, 9001, 8));
  logdir->refresh(names_in(c.folder.path()));
  CHECK_EQ(logdir->bytes_read(), fs::file_size(c.file("a")));
  CHECK_EQ(logdir->scalars(tag, false).size, 2002u);
  CHECK_EQ(logdir->scalars(tag, true).size, 2001u);
  CHECK_EQ(points_of(after), points_of(before));
  CHECK_EQ(logdir->save_index(), 0);
  CHECK_EQ(c.open()->bytes_read(), 0u);
  CHECK_EQ(shown(*c.open(), "loss").size(), 2002u);
}

// The offsets of fields in the header of index_file.cpp.
constexpr size_t kDirectoryChecksum = 12, kDirectoryOffset = 16, kHeaderChecksum = 44;

template <typename Value>
void patch(std::string& bytes, size_t at, Value value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

TEST(a_directory_that_was_made_to_deceive_does_no_harm) {
  Case c;
  std::string bytes = long_file(100, 40);
  bytes += record_of(200, 6, EventKind::summary, summary_of({value_of("picture", ValueKind::image, "pixels")}));
  write_file(c.file("a"), bytes);
  write_file(c.file("b"), long_file(110, 20));
  write_file(c.file("c"), long_file(900, 20));
  c.save();
  const std::string whole = read_bytes(c.index);
  uint64_t directory;
  std::memcpy(&directory, whole.data() + kDirectoryOffset, sizeof directory);
  size_t believed = 0;
  std::mt19937_64 random(1);
  for (size_t at = static_cast<size_t>(directory); at < whole.size(); at += every(5)) {
    std::string changed = whole;
    changed[at] = static_cast<char>(at % 3 == 0 ? random() : changed[at] + (at % 3 == 1 ? 1 : -1));
    patch(changed, kDirectoryChecksum, crc32c(std::string_view(changed).substr(static_cast<size_t>(directory))));
    patch(changed, kHeaderChecksum, crc32c(std::string_view(changed).substr(0, kHeaderChecksum)));
    write_file(c.index, changed);
    auto logdir = c.open();
    believed += logdir->bytes_read() < bytes.size();
    // Every question, and more points: what was believed must still be safe to work with.
    for (int round = 0; round < 2; ++round) {
      for (size_t tag = 0; tag < logdir->tags().size(); ++tag) {
        points_of(logdir->scalars(tag, true));
        points_of(logdir->superseded_scalars(tag));
        for (const MediaEntry& entry : logdir->media(tag)) logdir->read_media(tag, entry);
      }
      logdir->tag_statuses();
      if (at % 16 != 0) break;
      append_to(c.file("b"), scalar_record("loss", 3, 120, 1) + start_record(2, 121));
      append_to(c.file("c"), scalar_record("loss", 3, 950, 1) + start_record(2, 951));
      logdir->refresh(names_in(c.folder.path()));
    }
    write_file(c.file("b"), long_file(110, 20));
    write_file(c.file("c"), long_file(900, 20));
  }
  CHECK(believed > 0);
}

TEST(columns_that_were_given_out_stay_when_the_run_goes_on_and_the_index_is_gone) {
  Case c;
  write_file(c.file("a"), long_file(100, 100));
  c.save();
  auto logdir = c.open();
  const ColumnView view = logdir->scalars(tag_number(*logdir, "loss"), true);
  const Points before = points_of(view);
  append_to(c.file("a"), scalar_record("loss", 100, 300, 1) + scalar_record("loss", 50, 301, 2));
  logdir->refresh(names_in(c.folder.path()));
  fs::remove(c.index);
  CHECK_EQ(points_of(logdir->scalars(tag_number(*logdir, "loss"), false)).size(), 102u);
  logdir.reset();
  CHECK_EQ(points_of(view), before);
}

TEST(failure_to_keep_leaves_the_old_index_and_nothing_beside_it) {
  Case c;
  write_file(c.file("a"), long_file(100, 10));
  c.save();
  append_to(c.file("a"), scalar_record("loss", 10, 300, 1));
  const auto logdir = c.open();
  fs::remove(c.index);
  fs::create_directory(c.index);  // cannot be replaced by a file
  CHECK_EQ(logdir->save_index(), EISDIR);
  CHECK(logdir->unsaved_bytes() > 0);
  CHECK_EQ(names_in(c.cache.path()).size(), 1u);
  Logdir nowhere(c.folder.path().string(), "/nowhere/at/all");
  nowhere.refresh({"a"});
  CHECK_EQ(nowhere.save_index(), ENOENT);
  CHECK_EQ(shown(nowhere, "loss").size(), 11u);
}

// What is mapped and no longer in the file ends the process that touches it.
TEST(an_index_that_is_cut_off_under_a_reader_ends_nobody) {
  for (const bool old_kernel : {false, true}) {
    Case c;
    write_file(c.file("a"), long_file(100, 5000));
    c.save();
    const auto check = [&](bool keeps_it_open) {
      is_old_kernel = old_kernel;
      auto logdir = c.open();
      if (keeps_it_open) {
        append_to(c.file("a"), scalar_record("loss", 5000, 6000, 1));
        logdir->refresh(names_in(c.folder.path()));
        CHECK_EQ(logdir->save_index(), 0);
      }
      fs::resize_file(c.index, 4096);
      const Points points = shown(*logdir, "loss");
      CHECK_EQ(points.size(), keeps_it_open ? 5001u : 5000u);
      CHECK_EQ(points[4999], (Point{4999, 5100, 4999}));
    };
    in_child([&] { check(false); });
    c.save();
    in_child([&] { check(true); });
  }
}

TEST(many_may_read_and_keep_at_once) {
  Case c;
  const std::string bytes = long_file(100, 2000);
  write_file(c.file("a"), bytes);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < repeats(10); ++round) {
        const auto logdir = c.open();
        CHECK_EQ(shown(*logdir, "loss").size(), 2000u);
        if (logdir->unsaved_bytes() > 0) CHECK_EQ(logdir->save_index(), 0);
        if (round % 5 == 0) fs::remove(c.index);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  fs::remove(c.index);
  CHECK_EQ(names_in(c.cache.path()).size(), 0u);
}

// What lies between the beginning and the end was given back, as the cache of a store does it.
std::string hollow(std::string bytes) {
  std::fill(bytes.begin() + 4096, bytes.end() - 4096, '\0');
  return bytes;
}

TEST(parts_that_are_absent_are_never_read) {
  Case c;
  const std::string whole = long_file(100, 1000);
  write_file(c.file("a"), whole);
  c.save();
  write_file(c.file("a"), hollow(whole));
  const auto refreshed = [&](Logdir& logdir) { return logdir.refresh(names_in(c.folder.path())); };
  {
    Logdir known(c.folder.path().string(), c.index.string());
    known.set_absent({{.name = "a", .end = whole.size() - 4096}});
    refreshed(known);
    CHECK(!known.wants_absent());
    CHECK_EQ(shown(known, "loss").size(), 1000u);
    const std::string more = scalar_record("loss", 1000, 2000, 7);
    append_to(c.file("a"), more);
    CHECK(refreshed(known));
    CHECK_EQ(shown(known, "loss").size(), 1001u);
    // A file that belongs in front of it has everything read anew.
    write_file(c.file("b"), version_record(1) + scalar_record("loss", 5, 2, 3));
    refreshed(known);
    CHECK(known.wants_absent());
    CHECK_EQ(shown(known, "loss").size(), 1001u);
    write_file(c.file("a"), whole + more);
    known.set_absent({});
    CHECK(refreshed(known));
    CHECK_EQ(known.files().size(), 2u);
    CHECK_EQ(known.files()[1].damage.bad_records, 0u);
  }
  write_file(c.file("a"), hollow(whole));
  Logdir unknown(c.folder.path().string());
  unknown.set_absent({{.name = "a", .end = whole.size() - 4096}});
  CHECK(!refreshed(unknown));
  CHECK(unknown.wants_absent());
  CHECK(unknown.files().empty());
}

TEST(hollow_records_are_read_without_their_checksum) {
  Case c;
  const std::string before = version_record(100) + scalar_record("loss", 1, 101, 1);
  std::string large = scalar_record(std::string(9000, 't'), 2, 102, 2);
  std::fill(large.begin() + 4000, large.begin() + 5000, 'u');  // within the tag, which says nothing about the rest
  write_file(c.file("a"), before + large + scalar_record("loss", 3, 103, 3));
  Logdir strict(c.folder.path().string());
  strict.refresh(names_in(c.folder.path()));
  CHECK_EQ(strict.files()[0].damage.bad_records, 1u);
  Logdir trusting(c.folder.path().string());
  trusting.set_absent({{.name = "a", .hollow = {before.size()}}});
  trusting.refresh(names_in(c.folder.path()));
  CHECK(!trusting.wants_absent());
  CHECK_EQ(trusting.files()[0].damage.bad_records, 0u);
  CHECK_EQ(trusting.tags().size(), 2u);
  CHECK_EQ(shown(trusting, "loss").size(), 2u);
}

}  // namespace
}  // namespace aboard::testing
