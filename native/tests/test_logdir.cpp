// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <random>
#include <thread>

#include "logdir.hpp"
#include "reader_support.hpp"
#include "record.hpp"
#include "wire.hpp"

namespace aboard::testing {
namespace {

std::vector<int64_t> steps(int64_t begin, int64_t end) {
  std::vector<int64_t> result;
  for (int64_t step = begin; step < end; ++step) result.push_back(step);
  return result;
}

// A folder and the logdir over it.
struct Case {
  Folder folder;
  Logdir logdir{folder.path().string()};

  fs::path file(std::string_view name) const { return folder.path() / name; }
  bool refresh() { return logdir.refresh(names_in(folder.path())); }
};

TEST(a_growing_file_shows_each_point_when_its_last_byte_is_there) {
  Case c;
  std::string all = version_record(100);
  std::vector<size_t> ends;
  for (int64_t step = 0; step < 5; ++step) {
    all += scalar_record("loss", step, 101.0 + static_cast<double>(step), static_cast<float>(step));
    ends.push_back(all.size());
  }
  for (size_t size = 0; size < all.size(); ++size) {
    append_to(c.file("a"), std::string_view(all).substr(size, 1));
    c.refresh();
    const auto expected = std::count_if(ends.begin(), ends.end(), [&](size_t end) { return end <= size + 1; });
    if (expected == 0) {
      CHECK(!has_tag(c.logdir, "loss"));
    } else {
      CHECK_EQ(shown(c.logdir, "loss").size(), static_cast<size_t>(expected));
    }
  }
  CHECK_EQ(steps_of(shown(c.logdir, "loss")), steps(0, 5));
  CHECK_EQ(c.logdir.generation(), 0u);
  CHECK_EQ(c.logdir.bytes_read(), all.size());
  CHECK(!c.refresh());
  const auto files = c.logdir.files();
  CHECK_EQ(files.size(), 1u);
  CHECK_EQ(files[0].records, 6u);
  CHECK_EQ(files[0].bytes_read, all.size());
  CHECK_EQ(files[0].first_wall_time, 100.0);
  CHECK_EQ(files[0].last_wall_time, 105.0);
  CHECK_EQ(c.logdir.first_wall_time(), std::optional(100.0));
}

TEST(a_restart_supersedes_what_it_does_again) {
  Case c;
  write_file(c.file("a"), file_of(100, "loss", steps(0, 15), 1));
  c.refresh();
  write_file(c.file("b"), file_of(200, "loss", steps(10, 20), 2));
  c.refresh();
  const Points points = shown(c.logdir, "loss");
  CHECK_EQ(steps_of(points), steps(0, 20));
  CHECK_EQ(points[9].value, 1.0);
  CHECK_EQ(points[10].value, 2.0);
  CHECK_EQ(steps_of(superseded(c.logdir, "loss")), steps(10, 15));
  CHECK_EQ(unique(c.logdir, "loss"), points);
  CHECK_EQ(c.logdir.generation(), 0u);
  CHECK_EQ(c.logdir.files()[1].attempt, 1u);
}

TEST(tags_that_are_not_logged_again_are_superseded_by_a_session_start_only) {
  for (const bool with_start : {false, true}) {
    Case c;
    write_file(c.file("a"), file_of(100, "other", steps(0, 10), 1));
    write_file(c.file("b"),
               version_record(200) + (with_start ? start_record(5, 200) : "") + scalar_record("loss", 5, 201, 1));
    c.refresh();
    CHECK_EQ(steps_of(shown(c.logdir, "other")), with_start ? steps(0, 5) : steps(0, 10));
    CHECK_EQ(superseded(c.logdir, "other").size(), with_start ? 5u : 0u);
  }
}

TEST(files_that_write_at_the_same_time_merge) {
  Case c;
  std::string a = version_record(100), b = version_record(100.5);
  for (int64_t step = 0; step < 10; ++step) {
    const auto time = 101.0 + static_cast<double>(step);
    a += scalar_record("loss", step, time, 1);
    b += scalar_record("loss", step, time + 0.25, 2);
  }
  write_file(c.file("a"), a);
  write_file(c.file("b"), b);
  c.refresh();
  CHECK_EQ(shown(c.logdir, "loss").size(), 20u);
  CHECK_EQ(superseded(c.logdir, "loss").size(), 0u);
  const Points newest = unique(c.logdir, "loss");
  CHECK_EQ(steps_of(newest), steps(0, 10));
  for (const Point& point : newest) CHECK_EQ(point.value, 2.0);
  CHECK_EQ(c.logdir.files()[1].attempt, 0u);
}

TEST(a_file_that_goes_on_after_another_began_was_no_earlier_attempt) {
  Case c;
  write_file(c.file("a"), file_of(100, "loss", {0, 1, 2}, 1));
  c.refresh();
  write_file(c.file("b"), file_of(110, "loss", {0, 1}, 2));
  c.refresh();
  CHECK_EQ(superseded(c.logdir, "loss").size(), 3u);
  append_to(c.file("a"), scalar_record("loss", 3, 120, 1));
  CHECK(c.refresh());
  CHECK_EQ(superseded(c.logdir, "loss").size(), 0u);
  CHECK_EQ(steps_of(shown(c.logdir, "loss")), (std::vector<int64_t>{0, 0, 1, 1, 2, 3}));
  CHECK_EQ(c.logdir.generation(), 1u);
  // And once they are one attempt, nothing is read again.
  const uint64_t read = c.logdir.bytes_read();
  append_to(c.file("a"), scalar_record("loss", 4, 130, 1));
  append_to(c.file("b"), scalar_record("loss", 4, 131, 2));
  c.refresh();
  CHECK_EQ(c.logdir.generation(), 1u);
  CHECK_EQ(c.logdir.bytes_read() - read, 2 * scalar_record("loss", 4, 130, 1).size());
  CHECK_EQ(steps_of(unique(c.logdir, "loss")), steps(0, 5));
}

// Two writers at the same time, one of them with a clock an hour ahead.
TEST(clocks_that_disagree_do_not_make_everything_be_read_again_and_again) {
  Case c;
  std::string early = version_record(100);
  const int64_t count = 100'000, refreshes = 40;
  for (int64_t step = 0; step < count; ++step) early += scalar_record("a", step, 101, 1);
  write_file(c.file("a"), early);
  write_file(c.file("b"), file_of(3700, "b", steps(0, 10), 2));
  c.refresh();
  for (int64_t i = 0; i < refreshes; ++i) {
    append_to(c.file("a"), scalar_record("a", count + i, 102, 1));
    append_to(c.file("b"), scalar_record("b", 10 + i, 3800, 1));
    c.refresh();
    CHECK_EQ(shown(c.logdir, "b").size(), static_cast<size_t>(11 + i));
  }
  CHECK(c.logdir.generation() >= 1u);
  CHECK(c.logdir.generation() < static_cast<uint64_t>(refreshes / 2));
  // What is late is shown in the end, even when nothing comes any more.
  CHECK(eventually([&] {
    c.refresh();
    return shown(c.logdir, "a").size() == static_cast<size_t>(count + refreshes);
  }));
}

TEST(a_torn_byte_behind_an_earlier_attempt_changes_nothing) {
  Case c;
  write_file(c.file("a"), file_of(100, "loss", {0, 1, 2}, 1));
  write_file(c.file("b"), file_of(200, "loss", {2, 3}, 2));
  c.refresh();
  append_to(c.file("a"), scalar_record("loss", 3, 104, 1).substr(0, 20));
  c.refresh();
  CHECK_EQ(c.logdir.generation(), 0u);
  CHECK_EQ(steps_of(shown(c.logdir, "loss")), steps(0, 4));
}

TEST(a_file_without_events_belongs_to_no_attempt) {
  Case c;
  write_file(c.file("a"), "");
  write_file(c.file("b"), file_of(100, "loss", steps(0, 10), 1));
  c.refresh();
  CHECK(!c.refresh());
  write_file(c.file("c"), file_of(200, "loss", steps(5, 10), 2));
  c.refresh();
  // The empty one gets its header late, after everything.
  append_to(c.file("a"), file_of(300, "loss", steps(7, 9), 3));
  c.refresh();
  CHECK_EQ(steps_of(shown(c.logdir, "loss")), steps(0, 9));
  CHECK_EQ(shown(c.logdir, "loss").back().value, 3.0);
  CHECK_EQ(c.logdir.generation(), 0u);
  for (const FileStatus& file : c.logdir.files()) {
    CHECK_EQ(file.attempt, file.name == "a" ? 2u : file.name == "b" ? 0u : 1u);
  }
}

TEST(empty_files_come_and_go_without_reading_anything_again) {
  Case c;
  write_file(c.file("a"), file_of(100, "loss", steps(0, 10), 1));
  write_file(c.file("empty"), "");
  c.refresh();
  CHECK_EQ(c.logdir.files().size(), 2u);
  fs::remove(c.file("empty"));
  CHECK(c.refresh());
  CHECK_EQ(c.logdir.files().size(), 1u);
  CHECK(!c.refresh());
  CHECK_EQ(c.logdir.generation(), 0u);
  CHECK_EQ(shown(c.logdir, "loss").size(), 10u);
  // Listed, but gone by the time it is looked at.
  CHECK(c.logdir.refresh({"a", "vanished"}));
  CHECK(!c.logdir.refresh({"a", "vanished"}));
  CHECK(c.logdir.refresh({"a"}));
  CHECK_EQ(c.logdir.generation(), 0u);
}

TEST(an_older_file_that_appears_late_is_put_in_front) {
  Case c;
  write_file(c.file("b"), file_of(200, "loss", steps(5, 10), 2));
  c.refresh();
  write_file(c.file("a"), file_of(100, "loss", steps(0, 8), 1));
  c.refresh();
  CHECK_EQ(steps_of(shown(c.logdir, "loss")), steps(0, 10));
  CHECK_EQ(steps_of(superseded(c.logdir, "loss")), steps(5, 8));
}

TEST(a_damaged_first_record_does_not_make_a_file_the_newest) {
  for (const size_t broken : {size_t{3}, size_t{20}}) {  // length, payload
    Case c;
    std::string a = file_of(100, "loss", steps(0, 8), 1);
    a[broken] = static_cast<char>(a[broken] ^ 1);
    write_file(c.file("a"), a);
    write_file(c.file("b"), file_of(200, "loss", steps(5, 10), 2));
    c.refresh();
    CHECK_EQ(steps_of(shown(c.logdir, "loss")), steps(0, 10));
    CHECK_EQ(shown(c.logdir, "loss")[6].value, 2.0);
    const Damage damage = c.logdir.files()[0].damage;
    CHECK_EQ(damage.bad_records + (damage.skipped_bytes > 0 ? 1 : 0), 1u);
  }
}

TEST(changed_and_deleted_files_are_read_anew) {
  Case c;
  write_file(c.file("a"), file_of(100, "loss", steps(0, 10), 1));
  write_file(c.file("b"), file_of(200, "other", steps(0, 10), 1));
  c.refresh();
  const size_t loss = tag_number(c.logdir, "loss"), other = tag_number(c.logdir, "other");

  write_file(c.file("new"), file_of(100, "loss", steps(0, 10), 7));  // as long, renamed over it
  fs::rename(c.file("new"), c.file("a"));
  CHECK(c.refresh());
  CHECK_EQ(shown(c.logdir, "loss")[3].value, 7.0);

  write_file(c.file("a"), file_of(100, "loss", steps(0, 10), 8));  // in place
  CHECK(c.refresh());
  CHECK_EQ(shown(c.logdir, "loss")[3].value, 8.0);

  fs::resize_file(c.file("a"), file_of(100, "loss", steps(0, 4), 8).size());
  CHECK(c.refresh());
  CHECK_EQ(shown(c.logdir, "loss").size(), 4u);

  const uint64_t generation = c.logdir.generation();
  fs::remove(c.file("b"));
  CHECK(c.refresh());
  CHECK(c.logdir.generation() > generation);
  CHECK(!has_tag(c.logdir, "other"));
  CHECK_EQ(tag_number(c.logdir, "loss"), loss);
  CHECK_EQ(points_of(c.logdir.scalars(other, true)), Points{});

  write_file(c.file("b"), file_of(200, "other", steps(0, 3), 1));  // back again, under its old number
  const uint64_t before = c.logdir.generation();
  CHECK(c.refresh());
  CHECK_EQ(tag_number(c.logdir, "other"), other);
  CHECK(c.logdir.generation() > before);
}

TEST(numbers_of_tags_keep_their_meaning_when_a_folder_is_read_anew) {
  Case c;
  write_file(c.file("a"), file_of(100, "first", steps(0, 2), 1));
  write_file(c.file("b"), file_of(200, "second", steps(0, 3), 1));
  c.refresh();
  const size_t second = tag_number(c.logdir, "second");
  fs::remove(c.file("a"));
  c.refresh();
  CHECK_EQ(c.logdir.scalars(second, true).size, 3u);
  CHECK_EQ(c.logdir.tags()[second].name, std::string("second"));
}

TEST(a_folder_that_always_has_other_tags_does_not_collect_them) {
  Case c;
  for (int round = 0; round < 12; ++round) {
    std::string bytes = version_record(100);
    for (int tag = 0; tag < 3000; ++tag) bytes += scalar_record(std::to_string(round * 3000 + tag), 0, 101, 1);
    write_file(c.file("new"), bytes);
    fs::rename(c.file("new"), c.file("a"));
    c.refresh();
    CHECK(c.logdir.tags().size() <= 20000);
  }
}

TEST(a_touched_file_is_not_read_again) {
  Case c;
  write_file(c.file("a"), file_of(100, "loss", steps(0, 100), 1));
  c.refresh();
  const uint64_t read = c.logdir.bytes_read();
  const timespec times[2] = {{1, 0}, {1, 0}};
  CHECK_EQ(::utimensat(AT_FDCWD, c.file("a").c_str(), times, 0), 0);
  CHECK(!c.refresh());
  write_file(c.file("a"), file_of(100, "loss", steps(0, 100), 1));  // the same bytes
  c.refresh();
  CHECK_EQ(c.logdir.bytes_read(), read);
  CHECK_EQ(c.logdir.generation(), 0u);
}

TEST(what_cannot_be_read_is_tried_again_without_being_news) {
  Case c;
  write_file(c.file("a"), file_of(100, "loss", steps(0, 10), 1));
  fs::create_symlink("loop", c.file("loop"));
  REQUIRE(::mkfifo(c.file("pipe").c_str(), 0600) == 0);
  CHECK(c.refresh());
  const uint64_t version = c.logdir.version();
  for (int i = 0; i < 3; ++i) CHECK(!c.refresh());
  CHECK_EQ(c.logdir.version(), version);
  for (const FileStatus& file : c.logdir.files()) CHECK_EQ(file.error != 0, file.name != "a");
  fs::remove(c.file("loop"));
  write_file(c.file("loop"), file_of(200, "loss", steps(10, 12), 1));
  CHECK(c.refresh());
  CHECK_EQ(shown(c.logdir, "loss").size(), 12u);
}

TEST(damage_is_skipped_and_counted) {
  Case c;
  const std::string header = version_record(100);
  const std::string point = scalar_record("loss", 1, 101, 1);
  std::string file = header;
  for (int64_t step = 0; step < 6; ++step) file += scalar_record("loss", step, 101, 1);
  const size_t second = header.size() + point.size() - 2;  // step 0 takes two bytes less
  file[second + 20] = '!';                                 // the payload of step 1
  file[second + 3 * point.size()] = '!';                   // the length of step 4
  write_file(c.file("a"), file);
  c.refresh();
  CHECK_EQ(steps_of(shown(c.logdir, "loss")), (std::vector<int64_t>{0, 2, 3, 5}));
  const Damage damage = c.logdir.files()[0].damage;
  CHECK_EQ(damage.bad_records, 1u);
  CHECK_EQ(damage.skipped_bytes, point.size());
  CHECK_EQ(damage.first_offset, second);
}

TEST(valid_records_that_are_no_events_are_counted) {
  Case c;
  std::string file = version_record(100);
  append_record(file, "\xff\xff\xff");
  file += record_of(101, 1, EventKind::summary, "\x0a\xff");
  file += scalar_record("loss", 1, 102, 1);
  write_file(c.file("a"), file);
  c.refresh();
  CHECK_EQ(c.logdir.files()[0].damage.bad_records, 2u);
  CHECK_EQ(shown(c.logdir, "loss").size(), 1u);
}

TEST(wall_times_that_are_no_times_do_no_harm) {
  Case c;
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  int number = 0;
  for (const double time : {nan, -inf, inf, 100.0, nan, 1e300, 0.0}) {
    write_file(c.file(std::to_string(number)), version_record(time) + scalar_record("loss", number, time, 1) +
                                                   scalar_record("loss", number + 1, inf, 1));
    c.refresh();
    ++number;
  }
  Logdir fresh(c.folder.path().string());
  fresh.refresh(names_in(c.folder.path()));
  CHECK_EQ(steps_of(unique(fresh, "loss")), steps_of(unique(c.logdir, "loss")));
  CHECK_EQ(steps_of(unique(fresh, "loss")).back(), 6);
}

TEST(one_point_far_in_the_future_is_no_attempt_for_ever) {
  Case c;
  write_file(c.file("a"), file_of(100, "loss", steps(0, 5), 1) +
                              scalar_record("loss", 5, std::numeric_limits<double>::infinity(), 1));
  c.refresh();
  write_file(c.file("b"), file_of(200, "loss", steps(3, 8), 2));
  c.refresh();
  CHECK_EQ(superseded(c.logdir, "loss").size(), 3u);
  CHECK_EQ(steps_of(shown(c.logdir, "loss")), steps(0, 8));
}

TEST(sessions_that_start_again_within_a_file) {
  Case c;
  std::string file = file_of(100, "loss", {0, 1, 2, 3, 4}, 1);
  file += start_record(2, 110) + start_record(3, 111);
  write_file(c.file("a"), file);
  c.refresh();
  CHECK_EQ(steps_of(shown(c.logdir, "loss")), steps(0, 2));
  append_to(c.file("a"), scalar_record("loss", 2, 112, 2) + scalar_record("loss", 3, 113, 2));
  c.refresh();
  CHECK_EQ(steps_of(shown(c.logdir, "loss")), steps(0, 4));
  CHECK_EQ(superseded(c.logdir, "loss").size(), 3u);
  // Without a start, going back hides nothing; the newest of a step is shown.
  append_to(c.file("a"), scalar_record("loss", 1, 114, 9));
  c.refresh();
  CHECK_EQ(shown(c.logdir, "loss").size(), 5u);
  CHECK_EQ(steps_of(unique(c.logdir, "loss")), steps(0, 4));
  CHECK_EQ(unique(c.logdir, "loss")[1].value, 9.0);
}

TEST(a_session_start_of_one_writer_leaves_a_concurrent_one_alone) {
  Case c;
  // Both ranks of a resumed run say where they resume; the second is slower to come up.
  write_file(c.file("old"), file_of(100, "loss", steps(0, 20), 1));
  std::string a = version_record(200) + start_record(10, 200), b = version_record(203) + start_record(10, 203);
  for (int64_t step = 10; step < 15; ++step) a += scalar_record("loss", step, 191.0 + static_cast<double>(step), 2);
  for (int64_t step = 10; step < 15; ++step) b += scalar_record("b", step, 194.0 + static_cast<double>(step), 3);
  write_file(c.file("a"), a);
  write_file(c.file("b"), b);
  c.refresh();
  CHECK_EQ(steps_of(shown(c.logdir, "loss")), steps(0, 15));
  CHECK_EQ(steps_of(shown(c.logdir, "b")), steps(10, 15));
}

// The sorted form of a series is kept; it must not be taken for that of other points of the same number.
TEST(sorted_points_are_those_of_now) {
  Case c;
  std::string file = version_record(100);
  for (const int64_t step : {0, 1, 5, 3, 4}) file += scalar_record("loss", step, 101, 1);
  write_file(c.file("a"), file);
  c.refresh();
  CHECK_EQ(steps_of(unique(c.logdir, "loss")), (std::vector<int64_t>{0, 1, 3, 4, 5}));
  file = start_record(4, 102);
  for (const int64_t step : {3, 2}) file += scalar_record("loss", step, 103, 2);
  append_to(c.file("a"), file);
  c.refresh();
  CHECK_EQ(shown(c.logdir, "loss").size(), 5u);
  CHECK_EQ(steps_of(unique(c.logdir, "loss")), (std::vector<int64_t>{0, 1, 2, 3}));
}

TEST(media_are_found_again_where_they_lie) {
  Case c;
  const std::string image = value_of("image", ValueKind::image, "picture");
  const std::string text = value_of("text", ValueKind::tensor, "words", "text");
  std::string file = version_record(100);
  file += record_of(101, 3, EventKind::summary, summary_of({text, image}));
  file += record_of(102, 0, EventKind::graph_def, "a graph");
  file += record_of(103, 0, EventKind::meta_graph_def, "a meta graph");
  std::string run_metadata;
  wire::Encoder(run_metadata).bytes(1, "step7");
  wire::Encoder(run_metadata).bytes(2, "times");
  file += record_of(104, 7, EventKind::tagged_run_metadata, run_metadata);
  file += scalar_record("image", 4, 105, 1);  // not what the tag began as: left out, and reported
  write_file(c.file("a"), file);
  c.refresh();
  const auto content = [&](size_t tag, size_t at) {
    const auto entries = c.logdir.media(tag);
    return at < entries.size() ? c.logdir.read_media(tag, entries[at]) : std::nullopt;
  };
  CHECK_EQ(c.logdir.tags().size(), 5u);
  CHECK_EQ(content(tag_number(c.logdir, "text"), 0).value_or(""), text);
  CHECK_EQ(content(tag_number(c.logdir, "image"), 0).value_or(""), image);
  CHECK_EQ(c.logdir.media(tag_number(c.logdir, "image")).size(), 1u);
  const auto others = c.logdir.other_kinds();
  CHECK_EQ(others.size(), 1u);
  CHECK_EQ(others[0].first, tag_number(c.logdir, "image"));
  CHECK(others[0].second == ValueKind::simple_value);
  CHECK_EQ(content(2, 0).value_or(""), std::string("a graph"));
  CHECK_EQ(content(3, 0).value_or(""), std::string("a meta graph"));
  CHECK_EQ(content(tag_number(c.logdir, "step7"), 0).value_or(""), std::string("times"));

  // Another file under the same name, with valid records at the same places, is not taken for what was read.
  const size_t number = tag_number(c.logdir, "image");
  auto entry = c.logdir.media(number)[0];
  std::string other = version_record(100);
  other += record_of(101, 3, EventKind::summary, summary_of({text, value_of("imagf", ValueKind::image, "picture")}));
  write_file(c.file("a"), other);
  CHECK(!c.logdir.read_media(number, entry));
  entry.offset = std::numeric_limits<uint64_t>::max() - 5;
  CHECK(!c.logdir.read_media(number, entry));
  entry = {3, 101, 20, std::numeric_limits<uint64_t>::max() - 10, 0, 0};
  CHECK(!c.logdir.read_media(number, entry));
  entry.file = 77;
  CHECK(!c.logdir.read_media(number, entry));
  CHECK(!c.logdir.read_media(99, entry));
}

TEST(values_without_content_count_when_they_have_metadata) {
  Case c;
  std::string hparams, nothing;
  wire::Encoder(hparams).bytes(1, "_hparams_/session_start_info");
  wire::Encoder(hparams).bytes(9, "metadata");
  wire::Encoder(nothing).bytes(1, "nothing");
  write_file(c.file("a"),
             version_record(100) + record_of(101, 0, EventKind::summary, summary_of({nothing, hparams, nothing})));
  c.refresh();
  CHECK_EQ(c.logdir.tags().size(), 1u);
  const auto entries = c.logdir.media(0);
  REQUIRE(entries.size() == 1);
  CHECK_EQ(entries[0].value_index, 1u);
  CHECK_EQ(c.logdir.read_media(0, entries[0]).value_or(""), hparams);
  CHECK_EQ(c.logdir.tags()[0].metadata, std::string("metadata"));
}

TEST(tensors_with_one_number_are_scalars) {
  Case c;
  std::string tensor;
  wire::Encoder encoder(tensor);
  encoder.varint(1, 1);
  encoder.bytes(2, "");
  encoder.float32(5, 2.5f);
  write_file(
      c.file("a"),
      version_record(100) +
          record_of(101, 3, EventKind::summary, summary_of({value_of("loss", ValueKind::tensor, tensor, "scalars")})) +
          record_of(102, 4, EventKind::summary, summary_of({value_of("loss", ValueKind::tensor, tensor)})) +
          record_of(103, 5, EventKind::summary, summary_of({value_of("loss", ValueKind::image, "no number")})));
  c.refresh();
  CHECK_EQ(shown(c.logdir, "loss"), (Points{{3, 101, 2.5}, {4, 102, 2.5}}));
  CHECK(c.logdir.tags()[0].is_scalar);
}

TEST(unknown_numbers_have_nothing) {
  Logdir logdir("/nowhere");
  CHECK_EQ(logdir.scalars(0, true).size, 0u);
  CHECK_EQ(logdir.superseded_scalars(3).size, 0u);
  CHECK(logdir.media(1).empty());
  CHECK(!logdir.tag_status(0));
  CHECK(!logdir.first_wall_time());
  CHECK(logdir.refresh({"not-there"}));
  CHECK_EQ(logdir.files().size(), 1u);
}

}  // namespace
}  // namespace aboard::testing
