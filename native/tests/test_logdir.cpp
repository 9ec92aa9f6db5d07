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
  CHECK(within(30, [&] {
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
  file += scalar_record("image", 4, 105, 1);  // not what the tag began as, but kept
  write_file(c.file("a"), file);
  c.refresh();
  const auto content = [&](size_t tag, size_t at) {
    const auto entries = c.logdir.media(tag);
    return at < entries.size() ? c.logdir.read_media(tag, entries[at]) : std::nullopt;
  };
  CHECK_EQ(c.logdir.tags().size(), 5u);
  CHECK_EQ(content(tag_number(c.logdir, "text"), 0).value_or(""), text);
  CHECK_EQ(content(tag_number(c.logdir, "image"), 0).value_or(""), image);
  CHECK_EQ(c.logdir.media(tag_number(c.logdir, "image")).size(), 2u);
  CHECK(content(tag_number(c.logdir, "image"), 1).has_value());
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

// Random runs: writers that start, overlap, stop, go back and start sessions again.
struct Scenario {
  std::map<std::string, std::string> files;
};

Scenario random_scenario(std::mt19937_64& random) {
  const auto below = [&](uint64_t end) { return static_cast<int64_t>(random() % end); };
  Scenario scenario;
  double clock = 100;
  const auto tick = [&] { return clock += 0.001 + static_cast<double>(random() % 1000) / 997.0; };
  int number = 0;
  for (int64_t attempt = 1 + below(3); attempt > 0; --attempt) {
    struct Writer {
      std::string bytes;
      int64_t step;
    };
    std::vector<Writer> writers(static_cast<size_t>(1 + below(3)));
    const int64_t start = below(8);
    for (auto& writer : writers) {
      writer.step = start + below(3);
      if (below(8) > 0) writer.bytes += version_record(tick());
      if (below(4) == 0) writer.bytes += start_record(writer.step, tick());
    }
    for (int64_t events = 2 + below(25); events > 0; --events) {
      auto& writer = writers[static_cast<size_t>(below(writers.size()))];
      if (below(20) == 0) writer.bytes += start_record(writer.step = below(10), tick());
      if (below(15) == 0) writer.step = below(10);
      const std::string tag(1, static_cast<char>('a' + below(3)));
      writer.bytes += scalar_record(tag, writer.step, tick(), static_cast<float>(below(1000)));
      if (below(2) == 0) ++writer.step;
    }
    for (auto& writer : writers) {
      scenario.files[std::to_string(below(10)) + "-" + std::to_string(number++)] = writer.bytes;
    }
  }
  return scenario;
}

bool same_as_reference(const Logdir& logdir, const std::map<std::string, std::string>& files) {
  bool good = true;
  const auto expected = reference(files);
  size_t present = 0;
  for (const TagInfo& tag : logdir.tags()) present += tag.present ? 1 : 0;
  good = CHECK_EQ(present, expected.size()) && good;
  for (const auto& [name, tag] : expected) {
    if (!CHECK(has_tag(logdir, name))) return false;
    good = CHECK_EQ(shown(logdir, name), tag.shown) && good;
    Points aside = superseded(logdir, name), aside_expected = tag.superseded;
    std::sort(aside.begin(), aside.end());
    std::sort(aside_expected.begin(), aside_expected.end());
    good = CHECK_EQ(aside, aside_expected) && good;
    std::map<int64_t, Point> newest;
    for (const Point& point : tag.shown) newest[point.step] = point;
    Points sorted;
    for (const auto& [step, point] : newest) sorted.push_back(point);
    good = CHECK_EQ(unique(logdir, name), sorted) && good;
  }
  return good;
}

TEST(whatever_is_read_when_the_history_is_that_of_the_rules) {
  const int rounds = kSanitized ? 150 : 600;
  for (int seed = 0; seed < rounds; ++seed) {
    std::mt19937_64 random(static_cast<uint64_t>(seed));
    const Scenario scenario = random_scenario(random);
    Case c;
    std::map<std::string, std::string> written;
    bool good = true;
    while (good) {
      std::vector<std::string> unfinished;
      for (const auto& [name, bytes] : scenario.files) {
        if (!written.contains(name) || written[name].size() < bytes.size()) unfinished.push_back(name);
      }
      if (unfinished.empty()) break;
      const std::string& name = unfinished[random() % unfinished.size()];
      const std::string& bytes = scenario.files.at(name);
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
    good = good && same_as_reference(c.logdir, scenario.files);
    Logdir fresh(c.folder.path().string());
    fresh.refresh(names_in(c.folder.path()));
    good = good && same_as_reference(fresh, scenario.files);
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
  const int attempts = kSanitized ? 4 : 12;
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

TEST(very_many_tags_files_and_sessions_take_no_more_than_their_number) {
  const auto seconds = [](const auto& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const int scale = kSanitized ? 10 : 1;
  {
    Case c;
    std::string file = version_record(100);
    for (int tag = 0; tag < 300'000 / scale; ++tag) file += scalar_record("tag" + std::to_string(tag), 1, 101, 1);
    write_file(c.file("a"), file);
    CHECK(seconds([&] { c.refresh(); }) < 10);
    append_to(c.file("a"), scalar_record("tag7", 2, 102, 1));
    CHECK(seconds([&] { c.refresh(); }) < 0.5);
    CHECK_EQ(shown(c.logdir, "tag7").size(), 2u);
  }
  {
    Case c;
    for (int file = 0; file < 5'000 / scale; ++file) {
      write_file(c.file(std::to_string(file)), file_of(100 + 10 * file, "loss", {file, file + 1}, 1));
    }
    CHECK(seconds([&] { c.refresh(); }) < 10);
    CHECK(seconds([&] { c.refresh(); }) < 1);
    CHECK_EQ(shown(c.logdir, "loss").size(), static_cast<size_t>(5'000 / scale + 1));
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
    CHECK(seconds([&] { c.refresh(); }) < 10);
    CHECK_EQ(superseded(c.logdir, "loss").size(), static_cast<size_t>(count));
  }
  {
    // Starts alone, over many tags.
    Case c;
    std::string file = version_record(100);
    for (int tag = 0; tag < 2'000; ++tag) file += scalar_record("tag" + std::to_string(tag), 1, 101, 1);
    for (int i = 0; i < 200'000 / scale; ++i) file += start_record(2, 101);
    write_file(c.file("a"), file);
    CHECK(seconds([&] { c.refresh(); }) < 10);
  }
  {
    // Many writers at the same time.
    Case c;
    const int64_t count = 2'000 / scale;
    for (int writer = 0; writer < 200; ++writer) {
      std::string file = version_record(100);
      for (int64_t step = 0; step < count; ++step) {
        file += scalar_record("loss", step, 101.0 + static_cast<double>(step) + writer * 0.001, 1);
      }
      write_file(c.file(std::to_string(writer)), file);
    }
    CHECK(seconds([&] { c.refresh(); }) < 10);
    CHECK_EQ(shown(c.logdir, "loss").size(), static_cast<size_t>(200 * count));
    CHECK_EQ(unique(c.logdir, "loss").size(), static_cast<size_t>(count));
  }
}

}  // namespace
}  // namespace aboard::testing
