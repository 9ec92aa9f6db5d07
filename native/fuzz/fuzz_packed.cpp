// SPDX-License-Identifier: Apache-2.0
// Any bytes as an event file that is packed and unpacked, as packed columns, and damage in what was packed.
//
// Checksums keep nearly all damage away from the code behind them, so that they are made right again here.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "crc32c.hpp"
#include "fuzz.hpp"
#include "logdir.hpp"
#include "packed_columns.hpp"
#include "scratch_folder.hpp"

namespace aboard {
namespace {

constexpr size_t kFooterBytes = 24;
constexpr size_t kMostPoints = 1 << 16;

void write(const std::string& path, std::string_view bytes) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  FUZZ_CHECK(file != nullptr);
  FUZZ_CHECK(bytes.empty() || std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size());
  std::fclose(file);
}

void unpack(std::string_view bytes, size_t count) {
  std::vector<int64_t> steps(count);
  std::vector<double> wall_times(count), values(count);
  if (!unpack_columns(bytes, count, steps.data(), wall_times.data(), values.data())) return;
  std::string again;
  pack_columns(steps, wall_times, values, again);
  std::vector<int64_t> same_steps(count);
  std::vector<double> same_times(count), same_values(count);
  FUZZ_CHECK(unpack_columns(again, count, same_steps.data(), same_times.data(), same_values.data()));
  FUZZ_CHECK(steps == same_steps);
  FUZZ_CHECK(std::memcmp(wall_times.data(), same_times.data(), count * sizeof(double)) == 0);
  FUZZ_CHECK(std::memcmp(values.data(), same_values.data(), count * sizeof(double)) == 0);
}

bool same(const ColumnView& a, const ColumnView& b) {
  return std::ranges::equal(a.steps(), b.steps()) &&
         std::ranges::equal(std::as_bytes(a.wall_times()), std::as_bytes(b.wall_times())) &&
         std::ranges::equal(std::as_bytes(a.values()), std::as_bytes(b.values()));
}

void compare(const Logdir& read, const Logdir& unpacked) {
  const auto tags = read.tags(), others = unpacked.tags();
  FUZZ_CHECK(tags.size() == others.size());
  for (size_t tag = 0; tag < tags.size(); ++tag) {
    FUZZ_CHECK(tags[tag].name == others[tag].name && tags[tag].metadata == others[tag].metadata);
    FUZZ_CHECK(same(read.scalars(tag, false), unpacked.scalars(tag, false)));
    FUZZ_CHECK(same(read.superseded_scalars(tag), unpacked.superseded_scalars(tag)));
    const auto media = read.media(tag), other_media = unpacked.media(tag);
    FUZZ_CHECK(media.size() == other_media.size());
    for (size_t i = 0; i < media.size(); ++i) {
      FUZZ_CHECK(std::memcmp(&media[i], &other_media[i], sizeof(MediaEntry)) == 0);
    }
  }
}

// Whatever it says, it can be asked.
void ask(const Logdir& logdir) {
  const size_t tags = logdir.tags().size();
  for (size_t tag = 0; tag < tags; ++tag) {
    logdir.scalars(tag, true);
    logdir.superseded_scalars(tag);
    for (const MediaEntry& entry : logdir.media(tag)) logdir.read_media(tag, entry);
  }
  logdir.first_wall_time();
  logdir.files();
}

void run(std::string_view input) {
  unpack(input, std::min(input.size() * 3, kMostPoints));
  if (!input.empty()) unpack(input.substr(1), static_cast<unsigned char>(input[0]));

  const std::string event_file = (folder() / "a").string(), packed = (folder() / "packed").string();
  write(event_file, input);
  Logdir read(folder().string());
  read.refresh({"a"});
  const auto bytes = read.pack();
  FUZZ_CHECK(bytes.has_value());
  write(packed, *bytes);
  Logdir unpacked(folder().string(), "", {packed, 0, bytes->size()});
  unpacked.refresh({"a"});
  FUZZ_CHECK(unpacked.bytes_read() == 0 || read.files().front().records == 0);
  compare(read, unpacked);

  std::mt19937_64 random(crc32c(input));
  std::string damaged = *bytes;
  const size_t body = damaged.size() - kFooterBytes;
  for (uint64_t changes = 1 + random() % 4; changes > 0 && body > 0; --changes) {
    damaged[random() % body] = static_cast<char>(random() % 3 == 0 ? 0xff : random());
  }
  uint64_t directory = 0;
  std::memcpy(&directory, damaged.data() + body, sizeof directory);
  const uint32_t checksum = crc32c(std::string_view(damaged).substr(body - static_cast<size_t>(directory), directory));
  std::memcpy(damaged.data() + body + sizeof directory, &checksum, sizeof checksum);
  write(packed, damaged);
  Logdir doubtful(folder().string(), "", {packed, 0, damaged.size()});
  doubtful.refresh({"a"});
  ask(doubtful);
}

}  // namespace
}  // namespace aboard

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  aboard::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
