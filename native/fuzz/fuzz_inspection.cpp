// SPDX-License-Identifier: Apache-2.0
// Any bytes as an event file that is inspected and copied: every byte is accounted for, and the copy is clean.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "fuzz.hpp"
#include "inspection.hpp"
#include "record.hpp"
#include "scratch_folder.hpp"

namespace aboard {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostPlaces = 4;

std::string content(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

FileReport copy_records(const fs::path& from, const fs::path& to) {
  const int file = ::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  FUZZ_CHECK(file >= 0);
  FileReport report = Inspection(from.string(), kMostPlaces).run(file);
  ::close(file);
  FUZZ_CHECK(report.error == 0 && report.copy_error == 0 && !report.cancelled);
  return report;
}

uint64_t check_damage(const FileReport& report) {
  uint64_t bytes = 0;
  for (const DamageSum& sum : report.damage) {
    bytes += sum.bytes;
    FUZZ_CHECK(sum.places.size() == std::min<uint64_t>(sum.count, kMostPlaces));
    uint64_t listed = 0, before = 0;
    for (const Place& place : sum.places) {
      FUZZ_CHECK(place.begin >= before && place.begin < place.end && place.end <= report.size);
      before = place.end;
      listed += place.end - place.begin;
    }
    FUZZ_CHECK(listed <= sum.bytes && (sum.count > kMostPlaces || listed == sum.bytes));
  }
  return bytes;
}

void run(std::string_view input) {
  const fs::path file = folder() / "file", first = folder() / "first", second = folder() / "second";
  std::ofstream(file, std::ios::binary | std::ios::trunc) << input;

  const FileReport report = copy_records(file, first);
  FUZZ_CHECK(report.size == input.size());
  const uint64_t tail = report.tail ? report.tail->bytes : 0;
  FUZZ_CHECK(check_damage(report) + tail + report.copied_bytes == input.size());
  if (report.tail) FUZZ_CHECK(report.tail->offset + tail == input.size());
  FUZZ_CHECK(report.steps.falls().size() <= kMostPlaces);
  FUZZ_CHECK(report.lowest_step.value_or(0) <= report.highest_step.value_or(0));

  const FileReport clean = copy_records(first, second);
  FUZZ_CHECK(check_damage(clean) == 0 && !clean.tail);
  FUZZ_CHECK(clean.records == report.records);
  FUZZ_CHECK(content(first) == content(second));
  if (tail == 0 && report.copied_bytes == input.size()) FUZZ_CHECK(content(first) == input);
}

}  // namespace
}  // namespace aboard

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  aboard::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
