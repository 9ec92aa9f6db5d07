// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <random>
#include <string>

#include "check.hpp"
#include "record.hpp"
#include "record_boundary.hpp"

namespace aboard {
namespace {

std::string records(size_t count, size_t payload = 20) {
  std::string out;
  for (size_t i = 0; i < count; ++i) append_record(out, std::string(payload, static_cast<char>('a' + i % 26)));
  return out;
}

RecordBoundary boundary_in(const std::string& bytes, uint64_t start, uint64_t limit) {
  std::FILE* file = std::tmpfile();
  CHECK(file != nullptr);
  CHECK_EQ(std::fwrite(bytes.data(), 1, bytes.size(), file), bytes.size());
  std::fflush(file);
  const RecordBoundary found = find_boundary(::fileno(file), start, limit, bytes.size());
  std::fclose(file);
  return found;
}

constexpr uint64_t kFar = uint64_t{1} << 40;
constexpr uint64_t kEach = 36;  // bytes of a record with 20 bytes of payload

TEST(everything_whole) {
  const RecordBoundary found = boundary_in(records(50'000), 0, kFar);
  CHECK_EQ(found.end, 50'000 * kEach);
  CHECK(!found.damaged);
}

TEST(nothing_there) {
  CHECK_EQ(boundary_in("", 0, kFar).end, 0u);
  CHECK_EQ(boundary_in(records(3), 3 * kEach, kFar).end, 3 * kEach);
}

TEST(a_record_that_is_being_written_is_left_out) {
  for (size_t cut = 1; cut < kEach; ++cut) {
    const std::string bytes = records(4);
    const RecordBoundary found = boundary_in(bytes.substr(0, bytes.size() - cut), kEach, kFar);
    CHECK_EQ(found.end, 3 * kEach);
    CHECK(!found.damaged);
  }
}

TEST(the_limit_is_kept_where_records_allow_it) {
  CHECK_EQ(boundary_in(records(10), 0, 5 * kEach).end, 5 * kEach);
  CHECK_EQ(boundary_in(records(10), 0, 5 * kEach + 1).end, 5 * kEach);
  CHECK_EQ(boundary_in(records(10), 0, 6 * kEach - 1).end, 5 * kEach);
  CHECK_EQ(boundary_in(records(10), 2 * kEach, 2 * kEach + 1).end, 3 * kEach);  // one record at least
}

TEST(damage_between_records_goes_with_the_next) {
  std::string bytes = records(3);
  const size_t damage = bytes.size();
  bytes += "this is no record, and it is long enough to hold a header" + records(2);
  const RecordBoundary found = boundary_in(bytes, 0, kFar);
  CHECK_EQ(found.end, bytes.size());
  CHECK(!found.damaged);
  CHECK_EQ(boundary_in(bytes, damage, damage + 1).end, bytes.size() - kEach);
}

TEST(damage_at_the_end_is_told) {
  const std::string bytes = records(3) + "this is no record, and it is long enough to hold a header";
  const RecordBoundary found = boundary_in(bytes, 0, kFar);
  CHECK_EQ(found.end, 3 * kEach);
  CHECK(found.damaged);
}

TEST(a_search_ends_after_four_megabytes) {
  std::mt19937 random(7);
  std::string noise(9 << 20, '\0');
  for (char& c : noise) c = static_cast<char>(random() & 0xff);
  const RecordBoundary found = boundary_in(noise + records(2), 0, kFar);
  CHECK_EQ(found.end, 0u);
  CHECK(found.damaged);
}

TEST(damage_across_windows_is_passed) {
  std::mt19937 random(8);
  std::string noise(1 << 20, '\0');
  for (char& c : noise) c = static_cast<char>(random() & 0xff);
  const std::string bytes = records(5) + noise + records(5, 600'000);
  CHECK_EQ(boundary_in(bytes, 0, kFar).end, bytes.size());
}

TEST(a_bad_payload_is_still_framed) {
  std::string bytes = records(3);
  bytes[kEach + 14] = '!';
  CHECK_EQ(boundary_in(bytes, 0, kFar).end, bytes.size());
}

TEST(a_length_beyond_everything_is_waited_for) {
  std::string bytes = records(2);
  std::string huge;
  append_record(huge, std::string(300, 'x'));
  bytes += huge.substr(0, 200);
  const RecordBoundary found = boundary_in(bytes, 0, kFar);
  CHECK_EQ(found.end, 2 * kEach);
  CHECK(!found.damaged);
}

TEST(a_file_that_shrank_meanwhile_is_no_error) {
  std::FILE* file = std::tmpfile();
  CHECK(file != nullptr);
  const std::string bytes = records(2);
  CHECK_EQ(std::fwrite(bytes.data(), 1, bytes.size(), file), bytes.size());
  std::fflush(file);
  const RecordBoundary found = find_boundary(::fileno(file), 0, kFar, 1000);
  CHECK_EQ(found.end, 2 * kEach);
  CHECK_EQ(found.error, 0);
  std::fclose(file);
}

TEST(an_unreadable_file_is_told) { CHECK_EQ(find_boundary(-1, 0, 100, 100).error, EBADF); }

}  // namespace
}  // namespace aboard
