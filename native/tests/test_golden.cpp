// SPDX-License-Identifier: Apache-2.0
// Index files and packed logdirs keep their bytes: what an earlier version wrote is read, and the same is written.
//
// native/README.md describes both formats. What differs from machine to machine, the identity of the event file and its
// times, is zero in the golden bytes.
#include <sys/stat.h>

#include <cstring>

#include "crc32c.hpp"
#include "golden_files.hpp"
#include "logdir.hpp"
#include "reader_support.hpp"

namespace aboard::testing {
namespace {

constexpr std::string_view kEventFile = "events.out.tfevents.1.golden";
constexpr size_t kStateBytes = 28;            // attempt, its first wall time, the last wall time, the number of files
constexpr size_t kIdentity = 0, kTimes = 80;  // of the fields of a file, behind its name: two numbers each

// One scalar, one that a restart cut off, one as a tensor with metadata, and one text.
std::string event_file() {
  const std::string tensor("\x08\x02\x12\x00\x32\x08\0\0\0\0\0\0\xf8\x3f", 14);
  return version_record(1) + scalar_record("loss", 0, 2, 0.5F) + scalar_record("loss", 1, 3, 0.25F) +
         scalar_record("loss", 2, 4, 0.125F) + start_record(2, 5) + scalar_record("loss", 2, 6, 0.0625F) +
         record_of(7, 3, EventKind::summary, summary_of({value_of("tensor", ValueKind::tensor, tensor, "scalars")})) +
         record_of(8, 4, EventKind::summary, summary_of({value_of("note", ValueKind::tensor, "\x08\x07", "text")}));
}

std::string bytes_of_hex(std::string_view hex) {
  std::string bytes;
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1])));
  return bytes;
}

std::string hex_of(std::string_view bytes) {
  std::string hex;
  for (const char byte : bytes) {
    hex.push_back("0123456789abcdef"[static_cast<unsigned char>(byte) >> 4]);
    hex.push_back("0123456789abcdef"[static_cast<unsigned char>(byte) & 15]);
  }
  return hex;
}

template <typename Value>
Value at(std::string_view bytes, size_t offset) {
  Value value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

template <typename Value>
void put(std::string& bytes, size_t offset, Value value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

// `fields` is where those of the file begin.
void set_identity(std::string& bytes, size_t fields, const struct stat& status) {
  const auto nanoseconds = [](const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; };
  put<uint64_t>(bytes, fields + kIdentity, status.st_dev);
  put<uint64_t>(bytes, fields + kIdentity + 8, status.st_ino);
  put<int64_t>(bytes, fields + kTimes, nanoseconds(status.st_mtim));
  put<int64_t>(bytes, fields + kTimes + 8, nanoseconds(status.st_ctim));
}

// An index with another identity of its file, and checksums that are right.
std::string index_with(std::string bytes, std::string_view logdir, const struct stat& status) {
  const auto directory = static_cast<size_t>(at<uint64_t>(bytes, 16));
  set_identity(bytes, directory + 8 + logdir.size() + kStateBytes + 8 + kEventFile.size(), status);
  put<uint32_t>(bytes, 12, crc32c(std::string_view(bytes).substr(directory)));
  put<uint32_t>(bytes, 44, crc32c(std::string_view(bytes).substr(0, 44)));
  return bytes;
}

std::string packed_with(std::string bytes, const struct stat& status) {
  const size_t footer = bytes.size() - 24;
  const size_t directory = footer - static_cast<size_t>(at<uint64_t>(bytes, footer));
  set_identity(bytes, directory + kStateBytes + 8 + kEventFile.size(), status);
  put<uint32_t>(bytes, footer + 8, crc32c(std::string_view(bytes).substr(directory, footer - directory)));
  return bytes;
}

// The index names its logdir, so that the path has to be the same everywhere: a relative one.
struct Place {
  Place() : before(fs::current_path()) {
    fs::current_path(folder.path());
    fs::create_directory("logs");
    append_to(fs::path("logs") / kEventFile, event_file());
    CHECK_EQ(::stat(("logs/" + std::string(kEventFile)).c_str(), &status), 0);
  }
  ~Place() { fs::current_path(before); }

  Folder folder;
  fs::path before;
  struct stat status{};
};

void check_points(const Logdir& logdir) {
  CHECK_EQ(shown(logdir, "loss"), (Points{{0, 2, 0.5}, {1, 3, 0.25}, {2, 6, 0.0625}}));
  CHECK_EQ(superseded(logdir, "loss"), (Points{{2, 4, 0.125}}));
  CHECK_EQ(shown(logdir, "tensor"), (Points{{3, 7, 1.5}}));
  CHECK_EQ(logdir.media(tag_number(logdir, "note")).size(), 1u);
}

TEST(an_index_keeps_its_bytes) {
  Place place;
  Logdir logdir("logs", "index");
  logdir.refresh({std::string(kEventFile)});
  check_points(logdir);
  CHECK_EQ(logdir.save_index(), 0);
  CHECK_EQ(hex_of(index_with(read_bytes("index"), "logs", {})), kGoldenIndex);
}

TEST(an_index_of_an_earlier_version_is_read) {
  Place place;
  append_to("index", index_with(bytes_of_hex(kGoldenIndex), "logs", place.status));
  Logdir logdir("logs", "index");
  logdir.refresh({std::string(kEventFile)});
  CHECK(logdir.saved_bytes() > 0 && logdir.unsaved_bytes() == 0);
  check_points(logdir);
}

TEST(a_packed_logdir_keeps_its_bytes) {
  Place place;
  Logdir logdir("logs");
  logdir.refresh({std::string(kEventFile)});
  const auto packed = logdir.pack();
  CHECK(packed.has_value());
  CHECK_EQ(hex_of(packed_with(*packed, {})), kGoldenPacked);
}

TEST(a_packed_logdir_of_an_earlier_version_is_read) {
  Place place;
  const std::string packed = bytes_of_hex(kGoldenPacked);
  append_to("packed", packed);
  Logdir logdir("logs", "", {"packed", 0, packed.size()});
  logdir.refresh({std::string(kEventFile)});
  CHECK(logdir.saved_bytes() > 0 && logdir.unsaved_bytes() == 0);
  check_points(logdir);
}

}  // namespace
}  // namespace aboard::testing
