// SPDX-License-Identifier: Apache-2.0
// Event files that were shipped in segments show what the whole files would, however the segments arrive.
#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <tuple>

#include "check.hpp"
#include "file_names.hpp"
#include "logdir.hpp"
#include "reader_support.hpp"
#include "record.hpp"
#include "scenarios.hpp"

namespace aboard::testing {
namespace {

std::string segment_name(std::string_view file, uint32_t number) {
  const std::string digits = std::to_string(number);
  return std::string(file) + "." + std::string(8 - digits.size(), '0') + digits;
}

// Where the records of a file end.
std::vector<size_t> record_ends(std::string_view bytes) {
  std::vector<size_t> ends;
  for (size_t at = 0; at < bytes.size();) {
    uint64_t length = 0;
    for (size_t i = 0; i < 8; ++i) length |= uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
    ends.push_back(at += length + kRecordOverheadBytes);
  }
  return ends;
}

// The parts of a file by their numbers, of which some are left out.
std::map<uint32_t, std::string> cut(std::string_view bytes, std::mt19937_64& random) {
  std::map<uint32_t, std::string> parts;
  uint32_t number = static_cast<uint32_t>(random() % 2);
  size_t begin = 0;
  for (const size_t end : record_ends(bytes)) {
    if (end != bytes.size() && random() % 4 > 0) continue;
    parts[number] = bytes.substr(begin, end - begin);
    begin = end;
    number += 1 + static_cast<uint32_t>(random() % 5 == 0 ? random() % 100 : 0);
  }
  return parts;
}

// A folder, one for the index, and logdirs that come and go as processes do.
struct Case {
  Folder folder, cache;
  std::unique_ptr<Logdir> logdir = open();

  fs::path file(std::string_view name) const { return folder.path() / name; }
  std::unique_ptr<Logdir> open() const {
    return std::make_unique<Logdir>(folder.path().string(), (cache.path() / "index").string());
  }
  bool refresh() { return logdir->refresh(names_in(folder.path())); }
  void begin_anew() {
    CHECK_EQ(logdir->save_index(), 0);
    logdir = open();
    refresh();
  }
};

const std::string kFile = "events.out.tfevents.1700000000.host.7.0";

TEST(names_of_segments_end_with_eight_digits_behind_the_name_of_an_event_file) {
  const std::string name = kFile + ".00000012";
  const auto segment = segment_of(name);
  REQUIRE(segment.has_value());
  CHECK_EQ(segment->file, kFile);
  CHECK_EQ(segment->number, 12u);
  CHECK_EQ(segment_of(kFile + ".99999999")->number, 99'999'999u);
  for (const auto* end : {"", ".0000001", ".000000012", ".0000000a", "00000012", ".00000012.v2"}) {
    CHECK(!segment_of(kFile + end));
  }
  CHECK(!segment_of("model.00000001"));
  CHECK(!segment_of("tfevents/model.00000001"));
  CHECK(!segment_of("00000001"));
}

TEST(a_step_that_repeats_in_the_next_segment_hides_nothing) {
  Case c;
  write_file(c.file(segment_name(kFile, 0)), file_of(100, "loss", {0, 1, 2, 3}, 1));
  c.refresh();
  write_file(c.file(segment_name(kFile, 1)), scalar_record("loss", 3, 200, 2) + scalar_record("loss", 1, 201, 2));
  c.refresh();
  CHECK_EQ(steps_of(shown(*c.logdir, "loss")), (std::vector<int64_t>{0, 1, 2, 3, 3, 1}));
  CHECK_EQ(superseded(*c.logdir, "loss").size(), 0u);
  CHECK_EQ(c.logdir->files()[1].attempt, 0u);
  CHECK_EQ(c.logdir->generation(), 0u);
  // Another file that begins later is another attempt, as ever.
  write_file(c.file("events.out.tfevents.1700000300.host.8.0"), file_of(300, "loss", {2, 3}, 3));
  c.refresh();
  CHECK_EQ(steps_of(shown(*c.logdir, "loss")), (std::vector<int64_t>{0, 1, 1, 2, 3}));
  CHECK_EQ(c.logdir->files()[2].attempt, 1u);
}

TEST(segments_whose_clock_goes_back_stay_behind_the_first) {
  Case c;
  write_file(c.file(segment_name(kFile, 0)), file_of(100, "loss", {0, 1}, 1));
  write_file(c.file(segment_name(kFile, 1)), scalar_record("loss", 2, 50, 1));
  write_file(c.file("events.out.tfevents.80"), file_of(80, "loss", {0}, 2));
  c.refresh();
  CHECK_EQ(steps_of(shown(*c.logdir, "loss")), (std::vector<int64_t>{0, 1, 2}));
  CHECK_EQ(superseded(*c.logdir, "loss").size(), 1u);
  CHECK_EQ(c.logdir->first_wall_time(), std::optional(80.0));
}

TEST(pictures_are_read_from_their_segment) {
  Case c;
  const auto picture = [](int64_t step, std::string_view content) {
    return record_of(100 + static_cast<double>(step), step, EventKind::summary,
                     summary_of({value_of("picture", ValueKind::image, content)}));
  };
  write_file(c.file(segment_name(kFile, 0)), version_record(100) + picture(1, "first"));
  write_file(c.file(segment_name(kFile, 4)), picture(1, "second") + picture(2, "third"));
  c.refresh();
  for (int time = 0; time < 2; ++time) {
    const size_t tag = tag_number(*c.logdir, "picture");
    const auto entries = c.logdir->media(tag);
    REQUIRE(entries.size() == 3);
    CHECK_EQ(entries[0].file, 0u);
    CHECK_EQ(entries[1].file, 1u);
    const char* const expected[] = {"first", "second", "third"};
    for (size_t i = 0; i < entries.size(); ++i) {
      const auto content = c.logdir->read_media(tag, entries[i]);
      REQUIRE(content.has_value());
      CHECK(content->find(expected[i]) != std::string::npos);
    }
    c.begin_anew();
    CHECK_EQ(c.logdir->bytes_read(), 0u);
  }
}

TEST(the_whole_file_beside_its_segments_is_another_writer) {
  Case c;
  const std::string first = file_of(100, "loss", {0, 1}, 1),
                    second = start_record(1, 103) + file_of(104, "loss", {1}, 1);
  write_file(c.file(kFile), first + second);
  write_file(c.file(segment_name(kFile, 0)), first);
  write_file(c.file(segment_name(kFile, 1)), second);
  c.refresh();
  CHECK_EQ(steps_of(shown(*c.logdir, "loss")), (std::vector<int64_t>{0, 0, 1, 1}));
  CHECK_EQ(superseded(*c.logdir, "loss").size(), 2u);
  CHECK(!c.refresh());
}

// While reading all again has to rest, a late segment waits; then it comes to its place.
TEST(late_segments_do_not_make_everything_be_read_again_and_again) {
  Case c;
  std::string large = version_record(100);
  for (int64_t step = 0; step < 100'000; ++step) large += scalar_record("loss", step, 101, 1);
  write_file(c.file(segment_name(kFile, 100)), large);
  c.refresh();
  const uint32_t count = 40;
  for (uint32_t number = 0; number < count; ++number) {
    write_file(c.file(segment_name(kFile, 99 - number)), scalar_record("early", number, 102, 1));
    c.refresh();
  }
  CHECK(c.logdir->bytes_read() < large.size() * count / 2);
  CHECK_EQ(c.logdir->files().size(), count + 1);
  CHECK(eventually([&] {
    c.refresh();
    return has_tag(*c.logdir, "early") && shown(*c.logdir, "early").size() == count;
  }));
  const auto steps = steps_of(shown(*c.logdir, "early"));
  CHECK(std::is_sorted(steps.rbegin(), steps.rend()));
}

TEST(segments_in_any_order_show_what_whole_files_do) {
  for (const uint64_t seed : random_seeds(60)) {
    std::mt19937_64 random(seed);
    Case c;
    std::map<std::string, std::map<uint32_t, std::string>> there;
    std::vector<std::tuple<std::string, uint32_t, std::string>> to_come;
    const bool in_order = random() % 2 == 0;
    for (const auto& [name, bytes] : random_files(random)) {
      const std::string file = "tfevents." + name;
      for (auto& [number, part] : cut(bytes, random)) to_come.emplace_back(file, number, part);
    }
    if (!in_order) std::shuffle(to_come.begin(), to_come.end(), random);
    bool good = true;
    for (const auto& [file, number, part] : to_come) {
      write_file(c.file(segment_name(file, number)), part);
      auto& parts = there[file];
      parts[number] = part;
      if (random() % 6 == 0) {
        // Some become one, under the name of the first of them.
        auto first = std::next(parts.begin(), static_cast<std::ptrdiff_t>(random() % parts.size()));
        for (auto next = std::next(first); next != parts.end() && random() % 4 > 0; next = parts.erase(next)) {
          first->second += next->second;
          fs::remove(c.file(segment_name(file, next->first)));
        }
        fs::remove(c.file(segment_name(file, first->first)));
        write_file(c.file(segment_name(file, first->first)), first->second);
      }
      if (random() % 2 == 0) continue;
      c.refresh();
      if (random() % 4 == 0) c.begin_anew();
      Files whole;
      for (const auto& [name, segments] : there) {
        for (const auto& [_, bytes] : segments) whole[name] += bytes;
      }
      good = same_as_reference(*c.logdir, whole) && good;
    }
    if (!good) {
      check::fail(__FILE__, __LINE__, "seed " + std::to_string(seed));
      return;
    }
  }
}

}  // namespace
}  // namespace aboard::testing
