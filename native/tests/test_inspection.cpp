// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <fstream>
#include <limits>
#include <random>
#include <thread>

#include "inspection.hpp"
#include "reader_support.hpp"
#include "record.hpp"

namespace aboard::testing {
namespace {

constexpr double kNow = 1'700'000'000;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::string framed(std::string_view payload) {
  std::string record;
  append_record(record, payload);
  return record;
}

struct Case {
  Folder folder;
  fs::path path = folder.path() / "events";
  fs::path copied = folder.path() / "copy";

  explicit Case(std::string_view bytes) { write_file(path, bytes); }

  FileReport inspect(size_t most_places = 10) { return Inspection(path.string(), most_places).run(); }

  FileReport copy(const fs::path& from) {
    const int file = ::open(copied.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    REQUIRE(file >= 0);
    const FileReport report = Inspection(from.string(), 10).run(file);
    ::close(file);
    return report;
  }
};

const DamageSum& of(const FileReport& report, DamageKind kind) { return report.damage[static_cast<size_t>(kind)]; }

uint64_t all_damage(const FileReport& report) {
  uint64_t count = 0;
  for (const DamageSum& sum : report.damage) count += sum.count;
  return count;
}

void check_place(const DamageSum& sum, size_t index, uint64_t begin, uint64_t end) {
  REQUIRE(index < sum.places.size());
  CHECK_EQ(sum.places[index].begin, begin);
  CHECK_EQ(sum.places[index].end, end);
}

TEST(a_good_file) {
  Case c(file_of(kNow, "loss", {3, 4, 5}, 0.5f));
  const FileReport report = c.inspect();
  CHECK_EQ(report.error, 0);
  CHECK_EQ(report.records, 4u);
  CHECK_EQ(report.size, fs::file_size(c.path));
  CHECK_EQ(report.read_to, report.size);
  CHECK_EQ(all_damage(report), 0u);
  CHECK(!report.tail);
  CHECK(report.begins_with_version);
  CHECK_EQ(report.first_wall_time, kNow);
  CHECK_EQ(report.last_wall_time, kNow + 3);
  CHECK_EQ(report.lowest_step.value_or(-1), 3);
  CHECK_EQ(report.highest_step.value_or(-1), 5);
  CHECK_EQ(report.steps.total_falls(), 0u);
  CHECK_EQ(report.back.count + report.ahead.count, 0u);
}

TEST(every_kind_of_damage_is_told_with_its_place) {
  const std::string version = version_record(kNow);
  std::string bad = scalar_record("a", 1, kNow, 1);
  bad[14] = static_cast<char>(bad[14] ^ 1);
  const std::string good = scalar_record("a", 2, kNow, 1);
  const std::string no_event = framed("\x0a\xff");
  std::string lost = scalar_record("a", 3, kNow, 1);
  lost[9] = static_cast<char>(lost[9] ^ 1);
  const std::string last = scalar_record("a", 4, kNow, 1);
  Case c(version + bad + good + no_event + lost + last);
  const FileReport report = c.inspect();
  CHECK_EQ(report.records, 3u);
  uint64_t at = version.size();
  CHECK_EQ(of(report, DamageKind::bad_payload).count, 1u);
  CHECK_EQ(of(report, DamageKind::bad_payload).bytes, bad.size());
  check_place(of(report, DamageKind::bad_payload), 0, at, at + bad.size());
  at += bad.size() + good.size();
  CHECK_EQ(of(report, DamageKind::no_event).count, 1u);
  check_place(of(report, DamageKind::no_event), 0, at, at + no_event.size());
  at += no_event.size();
  CHECK_EQ(of(report, DamageKind::bad_header).count, 1u);
  CHECK_EQ(of(report, DamageKind::bad_header).bytes, lost.size());
  check_place(of(report, DamageKind::bad_header), 0, at, at + lost.size());
  CHECK(!report.tail);
}

TEST(a_record_beyond_the_limit_is_passed_over) {
  const std::string version = version_record(kNow);
  std::string header;
  append_record(header, "");
  const uint64_t length = kLongestRecord + 5;
  for (size_t i = 0; i < 8; ++i) header[i] = static_cast<char>((length >> (8 * i)) & 0xff);
  std::string crc;
  append_record(crc, std::string_view(header).substr(0, 8));  // its footer is the checksum of these eight bytes
  header = header.substr(0, 8) + crc.substr(crc.size() - 4);
  Case c(version + header);
  const uint64_t end = version.size() + length + kRecordOverheadBytes;
  fs::resize_file(c.path, end);
  append_to(c.path, scalar_record("a", 1, kNow, 1));
  const FileReport report = c.inspect();
  CHECK_EQ(report.records, 2u);
  CHECK_EQ(of(report, DamageKind::too_long).count, 1u);
  check_place(of(report, DamageKind::too_long), 0, version.size(), end);
}

TEST(a_tail_that_was_cut_off) {
  const std::string good = file_of(kNow, "loss", {1, 2}, 1);
  const std::string next = scalar_record("loss", 3, kNow, 1);
  for (const size_t kept : {size_t{1}, size_t{11}, size_t{12}, size_t{20}, next.size() - 1}) {
    Case c(good + next.substr(0, kept));
    const FileReport report = c.inspect();
    CHECK_EQ(all_damage(report), 0u);
    REQUIRE(report.tail.has_value());
    CHECK_EQ(report.tail->offset, good.size());
    CHECK_EQ(report.tail->bytes, kept);
    CHECK_EQ(report.tail->missing.has_value(), kept >= 12);
    if (report.tail->missing) CHECK_EQ(*report.tail->missing, next.size() - kept);
    CHECK_EQ(report.records, 3u);
  }
}

TEST(damage_up_to_the_end_is_no_tail) {
  const std::string good = file_of(kNow, "loss", {1, 2}, 1);
  for (const size_t size : {12u, 13u, 40u, 1000u}) {
    Case c(good + std::string(size, 'x'));
    const FileReport report = c.inspect();
    CHECK(!report.tail);
    CHECK_EQ(of(report, DamageKind::bad_header).count, 1u);
    CHECK_EQ(of(report, DamageKind::bad_header).bytes, size);
    check_place(of(report, DamageKind::bad_header), 0, good.size(), good.size() + size);
  }
}

TEST(a_record_cut_off_behind_damage_is_a_tail) {
  const std::string good = version_record(kNow);
  const std::string next = scalar_record("loss", 3, kNow, 1);
  Case c(good + std::string(30, 'x') + next.substr(0, 20));
  const FileReport report = c.inspect();
  check_place(of(report, DamageKind::bad_header), 0, good.size(), good.size() + 30);
  REQUIRE(report.tail.has_value());
  CHECK_EQ(report.tail->offset, good.size() + 30);
  CHECK_EQ(report.tail->missing.value_or(0), next.size() - 20);
}

TEST(of_much_damage_the_first_places_are_listed) {
  std::string bytes = version_record(kNow);
  for (int i = 0; i < 1000; ++i) {
    std::string bad = scalar_record("a", i, kNow, 1);
    bad[16] = static_cast<char>(bad[16] ^ 1);
    bytes += bad;
  }
  Case c(bytes);
  const FileReport report = c.inspect(7);
  CHECK_EQ(of(report, DamageKind::bad_payload).count, 1000u);
  CHECK_EQ(of(report, DamageKind::bad_payload).places.size(), 7u);
  CHECK_EQ(c.inspect(0).damage[0].places.size(), 0u);
}

TEST(steps_that_go_back_in_scalars_and_in_other_values) {
  const std::string image = summary_of({value_of("picture", ValueKind::image, "x")});
  const std::string start = version_record(kNow);
  const std::string first = record_of(kNow, 5, EventKind::summary, image);
  Case c(start + first + record_of(kNow, 4, EventKind::summary, image) + scalar_record("a", 7, kNow, 1) +
         scalar_record("a", 6, kNow, 1) + start_record(2, kNow) + scalar_record("a", 2, kNow, 1));
  const FileReport report = c.inspect();
  CHECK_EQ(report.steps.total_falls(), 2u);
  REQUIRE(report.steps.falls().size() == 2);
  CHECK_EQ(report.steps.falls()[0].tag, "picture");
  CHECK_EQ(report.steps.falls()[0].offset, start.size() + first.size());
  CHECK_EQ(report.steps.falls()[1].tag, "a");
  CHECK_EQ(report.restarts, 1u);
}

TEST(a_session_that_starts_first_is_no_restart) {
  Case c(version_record(kNow) + start_record(0, kNow) + scalar_record("a", 1, kNow, 1));
  CHECK_EQ(c.inspect().restarts, 0u);
}

TEST(the_clock_jumps) {
  const std::string first = version_record(kNow) + scalar_record("a", 1, kNow + 5, 1);
  const std::string back = scalar_record("a", 2, kNow + 3.9, 1);
  Case c(first + back + scalar_record("a", 3, kNow + 3, 1) + scalar_record("a", 4, kNow + 90'000, 1) +
         scalar_record("a", 5, kNow + 100'000, 1));
  const FileReport report = c.inspect();
  CHECK_EQ(report.back.count, 1u);
  REQUIRE(report.back.places.size() == 1);
  CHECK_EQ(report.back.places[0].offset, first.size());
  CHECK_EQ(report.back.places[0].from, kNow + 5);
  CHECK_EQ(report.back.places[0].to, kNow + 3.9);
  CHECK_EQ(report.ahead.count, 1u);
  CHECK_EQ(report.ahead.places.at(0).to, kNow + 90'000);
  CHECK_EQ(report.last_wall_time, kNow + 100'000);
}

TEST(a_header_is_no_point_in_time) {
  Case c(version_record(kNow) + scalar_record("a", 1, 1000, 1) + scalar_record("a", 2, 1001, 1));
  const FileReport report = c.inspect();
  CHECK_EQ(report.back.count + report.ahead.count, 0u);
  CHECK_EQ(report.first_wall_time, kNow);
  CHECK_EQ(report.last_wall_time, kNow);
}

TEST(times_that_are_none_are_counted_and_compared_with_nothing) {
  const std::string first = version_record(kNow);
  Case c(first + scalar_record("a", 1, kNan, 1) + scalar_record("a", 2, INFINITY, 1) +
         scalar_record("a", 3, kNow + 1, 1));
  const FileReport report = c.inspect();
  CHECK_EQ(report.events_without_time, 2u);
  CHECK_EQ(report.first_without_time, first.size());
  CHECK_EQ(report.back.count + report.ahead.count, 0u);
  CHECK_EQ(report.last_wall_time, kNow + 1);
}

TEST(numbers_that_are_none_are_counted) {
  const std::string tensor("\x08\x01\x2a\x04\x00\x00\xc0\x7f", 8);  // DT_FLOAT, float_val: NaN
  const std::string summary = summary_of({value_of("t", ValueKind::tensor, tensor, "scalars")});
  Case c(version_record(kNow) + scalar_record("a", 1, kNow, std::numeric_limits<float>::quiet_NaN()) +
         scalar_record("a", 2, kNow, std::numeric_limits<float>::infinity()) +
         record_of(kNow, 1, EventKind::summary, summary));
  const FileReport report = c.inspect();
  CHECK_EQ(report.nan_values, 2u);
  CHECK_EQ(report.infinite_values, 1u);
}

TEST(a_value_that_cannot_be_decoded_is_counted_and_its_record_kept) {
  const std::string first = version_record(kNow);
  Case c(first + record_of(kNow, 1, EventKind::summary, summary_of({"\x0a\xff", value_of("a", ValueKind::image, "")})));
  const FileReport report = c.inspect();
  CHECK_EQ(report.records, 2u);
  CHECK_EQ(report.bad_values, 1u);
  CHECK_EQ(report.first_bad_value, first.size());
}

TEST(what_cannot_be_read_says_why) {
  Case c("");
  CHECK_EQ(Inspection((c.folder.path() / "missing").string(), 5).run().error, ENOENT);
  CHECK_EQ(Inspection(c.folder.path().string(), 5).run().error, EISDIR);
  const fs::path pipe = c.folder.path() / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_EQ(Inspection(pipe.string(), 5).run().error, ESPIPE);
  const fs::path loop = c.folder.path() / "loop";
  fs::create_symlink(loop, loop);
  CHECK_EQ(Inspection(loop.string(), 5).run().error, ELOOP);
  const FileReport empty = c.inspect();
  CHECK_EQ(empty.error, 0);
  CHECK_EQ(empty.size, 0u);
  CHECK(!empty.begins_with_version);
  CHECK(!empty.lowest_step);
}

TEST(a_copy_of_a_good_file_is_the_same) {
  const std::string bytes = file_of(kNow, "loss", range(20'000), 0.5f);
  Case c(bytes);
  const FileReport report = c.copy(c.path);
  CHECK_EQ(report.copied_bytes, bytes.size());
  CHECK(read_bytes(c.copied) == bytes);
}

TEST(a_copy_of_a_damaged_file_has_every_whole_record_and_is_clean) {
  for (const uint64_t seed : random_seeds(50)) {
    std::mt19937_64 random(seed);
    std::string bytes, expected;
    for (int i = 0; i < 40; ++i) {
      std::string record = scalar_record("tag", i, kNow + i, 1);
      const bool hurt = random() % 3 == 0;
      if (hurt) {
        const size_t at = random() % record.size();
        record[at] = static_cast<char>(record[at] ^ (1 << random() % 8));
      }
      bytes += record;
      if (!hurt) expected += record;
    }
    if (random() % 2 == 0) bytes += scalar_record("tag", 99, kNow, 1).substr(0, 1 + random() % 30);
    Case c(bytes);
    const FileReport report = c.copy(c.path);
    if (!CHECK(read_bytes(c.copied) == expected)) check::fail(__FILE__, __LINE__, "seed " + std::to_string(seed));
    uint64_t dropped = report.tail ? report.tail->bytes : 0;
    for (const DamageSum& sum : report.damage) dropped += sum.bytes;
    CHECK_EQ(dropped + report.copied_bytes, bytes.size());
    const FileReport again = Inspection(c.copied.string(), 5).run();
    CHECK_EQ(all_damage(again), 0u);
    CHECK(!again.tail);
    CHECK_EQ(again.records, report.records);
  }
}

TEST(a_copy_that_cannot_be_written_says_why) {
  Case c(file_of(kNow, "loss", range(100), 0.5f));
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  REQUIRE(full >= 0);
  CHECK_EQ(Inspection(c.path.string(), 5).run(full).copy_error, ENOSPC);
  ::close(full);
}

TEST(an_inspection_can_be_cancelled_and_tells_how_far_it_is) {
  Case c(file_of(kNow, "loss", range(5'000), 0.5f));
  Inspection finished(c.path.string(), 5);
  finished.run();
  CHECK_EQ(finished.bytes_read(), fs::file_size(c.path));
  Inspection inspection(c.path.string(), 5);
  std::thread other([&] { inspection.cancel(); });
  other.join();
  CHECK(inspection.run().cancelled);
}

TEST(a_search_through_garbage_can_be_cancelled) {
  Case c(std::string(3'000'000, 'x'));
  Inspection inspection(c.path.string(), 5);
  inspection.cancel();
  CHECK(inspection.run().cancelled);
}

}  // namespace
}  // namespace aboard::testing
