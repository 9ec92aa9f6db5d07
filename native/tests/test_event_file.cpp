// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include "event_file.hpp"
#include "reader_support.hpp"
#include "record.hpp"
#include "record_search.hpp"

namespace aboard::testing {
namespace {

// What a reader has given out so far.
struct Read {
  std::vector<std::pair<std::string, uint64_t>> records;  // payload and offset
  uint64_t bad_records = 0, skipped_bytes = 0, offset = 0;
  friend bool operator==(const Read&, const Read&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Read& read) {
    return out << read.records.size() << " records, " << read.bad_records << " bad, " << read.skipped_bytes
               << " skipped, at " << read.offset;
  }
};

struct Case {
  Folder folder;
  fs::path path = folder.path() / "events";
  EventFile file{path.string()};
  Read read;

  FileChange step() {
    const FileChange change = file.look();
    if (change == FileChange::grown) read_more();
    return change;
  }
  bool read_more() {
    const bool good = file.read([&](std::string_view payload, uint64_t offset) {
      read.records.emplace_back(payload, offset);
      return true;
    });
    read.bad_records = file.damage().bad_records;
    read.skipped_bytes = file.damage().skipped_bytes;
    read.offset = file.offset();
    return good;
  }
};

// The same from a RecordReader that is fed what the file gets.
struct Fed {
  RecordReader reader;
  Read read;

  void feed(std::string_view bytes) {
    reader.feed(bytes);
    while (true) {
      const uint64_t before = reader.offset();
      std::string_view payload;
      const RecordState state = reader.next(payload);
      if (state == RecordState::complete) {
        read.records.emplace_back(payload, before + kRecordHeaderBytes);
      } else if (state == RecordState::bad_data) {
        ++read.bad_records;
      } else if (state == RecordState::incomplete) {
        break;
      } else {
        const bool found = reader.resynchronise();
        read.skipped_bytes += reader.offset() - before;
        if (!found) break;
      }
    }
    read.offset = reader.offset();
  }
};

std::string some_file(std::mt19937_64& random, size_t records, bool damaged) {
  std::string bytes;
  for (size_t i = 0; i < records; ++i) {
    std::string payload(random() % 5 == 0 ? random() % 500 : random() % 40, 'p');
    for (char& c : payload) c = static_cast<char>(random());
    if (random() % 6 == 0) append_record(payload, "a record within a record");
    std::string record;
    append_record(record, payload);
    if (damaged && random() % 4 == 0) {
      const size_t at = random() % 3 == 0 ? random() % 12 : random() % record.size();
      record[at] = static_cast<char>(record[at] ^ (1 << random() % 8));
    }
    if (damaged && random() % 8 == 0) record.resize(random() % record.size());
    bytes += record;
  }
  return bytes;
}

TEST(a_file_that_grows_by_any_pieces_reads_as_a_record_reader_does) {
  for (const uint64_t seed : random_seeds(200)) {
    std::mt19937_64 random(seed);
    const std::string bytes = some_file(random, random() % 30, seed % 2 == 1);
    Case c;
    Fed fed;
    write_file(c.path, "");
    for (size_t at = 0; at < bytes.size();) {
      const size_t size = random() % 4 == 0 ? bytes.size() : 1 + random() % 100;
      const std::string piece = bytes.substr(at, size);
      at += piece.size();
      append_to(c.path, piece);
      fed.feed(piece);
      CHECK_EQ(c.step(), FileChange::grown);
      if (!CHECK_EQ(c.read, fed.read)) check::fail(__FILE__, __LINE__, "seed " + std::to_string(seed));
      CHECK_EQ(c.file.tail_bytes(), at - c.read.offset);
    }
    if (seed % 2 == 0) CHECK_EQ(c.read.offset, bytes.size());
  }
}

TEST(byte_by_byte) {
  std::mt19937_64 random(1);
  const std::string bytes = some_file(random, 12, true);
  Case c;
  Fed fed;
  for (const char byte : bytes) {
    append_to(c.path, {&byte, 1});
    fed.feed({&byte, 1});
    c.step();
    CHECK_EQ(c.read, fed.read);
  }
  CHECK(c.read.records.size() > 3);
}

TEST(records_longer_than_the_buffer) {
  Case c;
  std::string bytes;
  Fed fed;
  for (const size_t size : {10u, 300'000u, 1'000'000u, 262'144u - 16u, 5u, 6'000'000u, 0u}) {
    append_record(bytes, std::string(size, 'x'));
  }
  write_file(c.path, bytes);
  fed.feed(bytes);
  c.step();
  CHECK(c.read == fed.read);
  CHECK_EQ(c.read.records.size(), 7u);
}

TEST(nothing_new_is_no_change) {
  Case c;
  CHECK_EQ(c.file.look(), FileChange::gone);
  CHECK_EQ(c.file.error(), ENOENT);
  write_file(c.path, "");
  CHECK_EQ(c.step(), FileChange::none);
  CHECK_EQ(c.file.error(), 0);
  append_to(c.path, version_record(1));
  CHECK_EQ(c.step(), FileChange::grown);
  CHECK_EQ(c.step(), FileChange::none);
  append_to(c.path, "abc");
  CHECK_EQ(c.step(), FileChange::grown);
  CHECK_EQ(c.step(), FileChange::none);
  CHECK_EQ(c.file.tail_bytes(), 3u);
  CHECK(!c.file.has_more());
}

TEST(replaced_files_are_noticed) {
  const std::string one = file_of(100, "loss", {1, 2, 3}, 1), other = file_of(100, "loss", {1, 2, 3}, 2);
  const std::string longer = file_of(100, "loss", {1, 2, 3, 4, 5}, 2);
  const auto after = [&](const std::function<void(const fs::path&)>& change) {
    Case c;
    write_file(c.path, one);
    c.step();
    change(c.path);
    const FileChange seen = c.file.look();
    // A look does not make it known: it says so until it is read anew.
    if (seen == FileChange::replaced) CHECK_EQ(c.file.look(), FileChange::replaced);
    return seen;
  };
  const auto rename_over = [](const fs::path& path, const std::string& bytes) {
    write_file(path.string() + ".new", bytes);
    fs::rename(path.string() + ".new", path);
  };
  CHECK_EQ(after([&](const fs::path& path) { rename_over(path, one); }), FileChange::replaced);
  CHECK_EQ(after([&](const fs::path& path) { rename_over(path, longer); }), FileChange::replaced);
  CHECK_EQ(after([&](const fs::path& path) { write_file(path, other); }), FileChange::replaced);
  CHECK_EQ(after([&](const fs::path& path) { write_file(path, longer); }), FileChange::replaced);
  CHECK_EQ(after([&](const fs::path& path) { write_file(path, ""); }), FileChange::replaced);
  CHECK_EQ(after([&](const fs::path& path) { fs::resize_file(path, one.size() - 1); }), FileChange::replaced);
  CHECK_EQ(after([&](const fs::path& path) { fs::remove(path); }), FileChange::gone);
  CHECK_EQ(after([&](const fs::path& path) {
             fs::remove(path);
             write_file(path, longer);  // often gets the same inode
           }),
           FileChange::replaced);
  CHECK_EQ(after([&](const fs::path& path) { write_file(path, one); }), FileChange::none);
  CHECK_EQ(after([&](const fs::path& path) { write_file(path, one + longer); }), FileChange::grown);
}

TEST(other_bytes_at_the_start_of_a_long_file_are_noticed) {
  Case c;
  std::string bytes = file_of(100, "loss", std::vector<int64_t>(1000, 7), 1);
  write_file(c.path, bytes);
  c.step();
  bytes.replace(0, version_record(1).size(), version_record(99));  // same size and end, another first record
  write_file(c.path, bytes);
  CHECK_EQ(c.step(), FileChange::replaced);
}

// Writes until the times of the file show it: the clock of a file system ticks now and then.
void write_later(const fs::path& path, std::string_view bytes) {
  const auto before = fs::last_write_time(path);
  do write_file(path, bytes);
  while (fs::last_write_time(path) == before);
}

TEST(other_bytes_with_the_old_time_are_noticed) {
  Case c;
  write_file(c.path, file_of(100, "loss", {1, 2}, 1));
  struct stat status;
  REQUIRE(::stat(c.path.c_str(), &status) == 0);
  c.step();
  write_later(c.path, file_of(100, "loss", {1, 2}, 2));
  const timespec times[2] = {status.st_atim, status.st_mtim};  // as rsync --times does
  REQUIRE(::utimensat(AT_FDCWD, c.path.c_str(), times, 0) == 0);
  CHECK_EQ(c.step(), FileChange::replaced);
}

TEST(a_file_that_is_cut_within_its_unread_tail_is_the_same) {
  Case c;
  write_file(c.path, version_record(1) + std::string("half a rec"));
  c.step();
  fs::resize_file(c.path, version_record(1).size() + 2);
  CHECK(c.step() != FileChange::replaced);
  fs::resize_file(c.path, version_record(1).size());
  append_to(c.path, version_record(2));
  c.step();
  CHECK_EQ(c.read.records.size(), 2u);
  CHECK_EQ(c.file.damage().skipped_bytes, 0u);
}

// As a network file system shows it when the size is there before the bytes.
TEST(a_hole_that_is_filled_later) {
  Case c;
  const std::string header = version_record(1), rest = scalar_record("loss", 1, 2, 3) + scalar_record("loss", 2, 3, 4);
  write_file(c.path, header + std::string(rest.size(), '\0'));
  c.step();
  CHECK_EQ(c.read.records.size(), 1u);
  write_later(c.path, header + rest);
  CHECK_EQ(c.step(), FileChange::replaced);  // so that it is read anew, from the start
}

TEST(between_a_look_and_reading_a_file_is_replaced) {
  Case c;
  write_file(c.path, version_record(1));
  c.step();
  append_to(c.path, version_record(2));
  CHECK_EQ(c.file.look(), FileChange::grown);
  write_file(c.path.string() + ".new", std::string(1000, 'x'));
  fs::rename(c.path.string() + ".new", c.path);
  CHECK(!c.read_more());
  CHECK_EQ(c.file.error(), ESTALE);
  CHECK_EQ(c.read.records.size(), 1u);
  CHECK_EQ(c.file.look(), FileChange::replaced);
  CHECK_EQ(c.file.damage().skipped_bytes, 0u);
}

TEST(what_is_no_file_never_blocks) {
  Case c;
  REQUIRE(::mkfifo(c.path.c_str(), 0600) == 0);
  CHECK_EQ(c.file.look(), FileChange::unreadable);
  CHECK(!c.read_more());
  CHECK(!read_record_at(c.path.string(), 12, 5));
  fs::remove(c.path);
  fs::create_directory(c.path);
  CHECK_EQ(c.file.look(), FileChange::unreadable);
  CHECK_EQ(c.file.error(), EISDIR);
  fs::remove(c.path);
  fs::create_symlink(c.path, c.path);
  CHECK_EQ(c.file.look(), FileChange::unreadable);
  CHECK_EQ(c.file.error(), ELOOP);
  fs::remove(c.path);
  fs::create_symlink("/dev/zero", c.path);
  CHECK_EQ(c.file.look(), FileChange::unreadable);
  CHECK(!c.read_more());
}

TEST(a_file_without_permission_is_read_once_it_is_allowed) {
  if (::geteuid() == 0) {
    check::skip("permissions, which do not hold for root");
    return;
  }
  Case c;
  write_file(c.path, version_record(1));
  fs::permissions(c.path, fs::perms::none);
  c.step();
  CHECK_EQ(c.file.error(), EACCES);
  fs::permissions(c.path, fs::perms::owner_all);
  CHECK_EQ(c.step(), FileChange::grown);
  CHECK_EQ(c.read.records.size(), 1u);
}

TEST(the_next_wall_time_takes_nothing) {
  Case c;
  write_file(c.path, "");
  c.file.look();
  CHECK(!c.file.next_wall_time());
  const std::string bytes = file_of(100, "loss", {1, 2}, 1);
  append_to(c.path, bytes.substr(0, 20));
  c.file.look();
  CHECK(!c.file.next_wall_time());
  append_to(c.path, bytes.substr(20));
  CHECK_EQ(c.file.look(), FileChange::grown);
  CHECK_EQ(c.file.next_wall_time(), std::optional(100.0));
  CHECK_EQ(c.file.next_wall_time(), std::optional(100.0));
  c.read_more();
  CHECK_EQ(c.read.records.size(), 3u);
  CHECK(!c.file.next_wall_time());
}

TEST(the_next_wall_time_looks_behind_damage) {
  Case c;
  std::string bytes = std::string(100, '?');
  append_record(bytes, "\xff is no event");
  bytes += file_of(100, "loss", {1}, 1);
  write_file(c.path, bytes);
  c.file.look();
  CHECK_EQ(c.file.next_wall_time(), std::optional(100.0));
  CHECK_EQ(c.file.damage().skipped_bytes, 100u);
  CHECK_EQ(c.file.damage().bad_records, 1u);
  CHECK_EQ(c.file.damage().first_offset, 0u);
  c.read_more();
  CHECK_EQ(c.read.records.size(), 2u);
  CHECK_EQ(c.read.bad_records, 1u);
}

std::string header_of(uint64_t length) {
  std::string header(8, '\0');
  for (size_t i = 0; i < 8; ++i) header[i] = static_cast<char>(length >> (8 * i));
  std::string framed;
  append_record(framed, header);  // to get at the masked checksum of these bytes
  return header + framed.substr(12 + 8);
}

size_t peak_memory() {
  struct rusage usage;
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<size_t>(usage.ru_maxrss) << 10;
}

TEST(a_length_of_four_gigabytes_is_waited_for_without_holding_anything) {
  Case c;
  write_file(c.path, version_record(1) + header_of(uint64_t{4} << 30));
  fs::resize_file(c.path, uint64_t{1} << 30);  // sparse: a gigabyte of the payload is there
  const size_t before = peak_memory();
  const uint64_t read_before = bytes_read_so_far();
  for (int i = 0; i < 20; ++i) {
    c.step();
    fs::resize_file(c.path, (uint64_t{1} << 30) + static_cast<uint64_t>(i) + 1);
  }
  CHECK_EQ(c.read.records.size(), 1u);
  CHECK_EQ(c.read.offset, version_record(1).size());
  CHECK(bytes_read_so_far() - read_before < (16u << 20));
  CHECK(peak_memory() - before < (32u << 20));
}

TEST(a_record_that_is_too_long_is_passed_over) {
  Case c;
  const uint64_t length = kLongestRecord + 1;
  const std::string start = version_record(1) + header_of(length);
  write_file(c.path, start);
  fs::resize_file(c.path, version_record(1).size() + length + kRecordOverheadBytes);
  append_to(c.path, version_record(2));
  const size_t before = peak_memory();
  c.step();
  CHECK_EQ(c.read.records.size(), 2u);
  CHECK_EQ(c.read.bad_records, 1u);
  CHECK(peak_memory() - before < (32u << 20));
}

TEST(the_largest_lengths_do_not_overflow) {
  for (const uint64_t length : {~uint64_t{0}, ~uint64_t{0} - 15, uint64_t{1} << 63, kLongestRecord}) {
    Case c;
    write_file(c.path, version_record(1) + header_of(length) + std::string(100, 'x'));
    c.step();
    CHECK_EQ(c.read.records.size(), 1u);
    CHECK_EQ(c.read.skipped_bytes, 0u);
    // The same as a false header behind damage.
    Case d;
    write_file(d.path, std::string(20, '!') + header_of(length) + version_record(1));
    d.step();
    CHECK_EQ(d.read.records.size(), 1u);
  }
}

// What would take quadratic time takes hours here: the time limit of the tests ends it.
TEST(noise_takes_linear_time) {
  std::mt19937_64 random(9);
  Case c;
  std::string noise(kSanitized ? 2'000'000 : 20'000'000, '\0');
  for (size_t i = 0; i + 8 <= noise.size(); i += 8) {
    const uint64_t word = random();
    std::memcpy(noise.data() + i, &word, sizeof word);
  }
  write_file(c.path, version_record(1) + noise + version_record(2));
  c.step();
  CHECK_EQ(c.read.records.size(), 2u);
  CHECK_EQ(c.read.skipped_bytes, noise.size());
}

TEST(noise_that_grows_is_not_searched_again) {
  Case c;
  write_file(c.path, version_record(1) + std::string(4'000'000, '\0'));
  c.step();
  const uint64_t before = bytes_read_so_far();
  for (int i = 0; i < 500; ++i) {
    append_to(c.path, std::string(100, '\0'));
    c.step();
  }
  CHECK(bytes_read_so_far() - before < 16'000'000);  // 2 GB otherwise
  append_to(c.path, version_record(2));
  c.step();
  CHECK_EQ(c.read.records.size(), 2u);
}

// Headers that are valid and whose payloads are not, each claiming all the rest of the file; with a record behind each
// that ends the search, or without.
TEST(false_headers_take_linear_time) {
  for (const bool with_records : {false, true}) {
    const size_t count = kSanitized ? 2'000 : 20'000;
    const std::string record = with_records ? version_record(1) : "";
    const size_t part = 1 + kRecordHeaderBytes + record.size(), size = count * part + version_record(1).size();
    std::string bytes;
    for (size_t i = 0; i < count; ++i) {
      bytes += '!';
      bytes += header_of(size - bytes.size() - kRecordOverheadBytes) + record;
    }
    Case c;
    write_file(c.path, bytes + version_record(1));
    c.step();
    CHECK(c.file.state().search.wasted <=
          17 * size);  // bytes that were taken for payloads, once for each header otherwise
    CHECK_EQ(c.read.offset + c.read.skipped_bytes > 0, true);
    if (with_records) CHECK(!c.read.records.empty());
  }
}

TEST(a_file_may_be_read_while_another_one_is) {
  const Folder folder;
  const fs::path outer_path = folder.path() / "outer", inner_path = folder.path() / "inner";
  std::string outer_bytes, inner_bytes;
  for (int i = 0; i < 20; ++i) append_record(outer_bytes, "outer" + std::to_string(i));
  for (int i = 0; i < 20; ++i) append_record(inner_bytes, "inner" + std::string(100'000, 'x'));
  write_file(outer_path, outer_bytes);
  write_file(inner_path, inner_bytes);
  EventFile outer(outer_path.string());
  int records = 0;
  CHECK(outer.read([&](std::string_view payload, uint64_t) {
    EventFile inner(inner_path.string());
    int inside = 0;
    CHECK(inner.read([&](std::string_view found, uint64_t) {
      ++inside;
      return found.starts_with("inner");
    }));
    CHECK_EQ(inside, 20);
    CHECK_EQ(payload, "outer" + std::to_string(records));
    ++records;
    return true;
  }));
  CHECK_EQ(records, 20);
  CHECK_EQ(outer.damage().bad_records, 0u);
}

TEST(records_are_read_at_their_place) {
  Case c;
  std::string bytes = version_record(1);
  const uint64_t place = bytes.size() + kRecordHeaderBytes;
  append_record(bytes, "the payload");
  write_file(c.path, bytes);
  const auto at = [&](uint64_t offset, uint64_t length) { return read_record_at(c.path.string(), offset, length); };
  CHECK_EQ(at(place, 11).value_or(""), std::string("the payload"));
  CHECK(!at(place, 10) && !at(place, 12) && !at(place + 1, 11) && !at(0, 11) && !at(11, 0));
  CHECK(!at(~uint64_t{0}, 11) && !at(place, ~uint64_t{0}) && !at(place, ~uint64_t{0} - 15) &&
        !at(place, kLongestRecord));
  CHECK(!at(bytes.size(), 0) && !at(bytes.size() + 12, 0));
  CHECK(!read_record_at(c.path.string() + "x", place, 11));
  bytes[place] = 'T';
  write_file(c.path, bytes);
  CHECK(!at(place, 11));
}

}  // namespace
}  // namespace aboard::testing
