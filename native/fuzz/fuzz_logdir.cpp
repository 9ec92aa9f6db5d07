// SPDX-License-Identifier: Apache-2.0
// Any bytes as the files of a logdir, which grow, are cut off, replaced and deleted while it is refreshed.
//
// The first bytes say what happens: each is one step with a file and a number of bytes; behind a zero follow the files,
// whose content is taken from the rest in turn.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz.hpp"
#include "logdir.hpp"
#include "points_json.hpp"
#include "reading_crew.hpp"
#include "record.hpp"
#include "record_search.hpp"
#include "reduce.hpp"
#include "scratch_folder.hpp"

namespace aboard {
namespace {

namespace fs = std::filesystem;

constexpr size_t kFiles = 3;

fs::path path_of(size_t file) { return folder() / std::to_string(file); }

void append(const fs::path& path, std::string_view bytes) {
  std::FILE* file = std::fopen(path.c_str(), "ab");
  FUZZ_CHECK(file != nullptr);
  FUZZ_CHECK(bytes.empty() || std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size());
  std::fclose(file);
}

std::vector<std::string> names() {
  std::vector<std::string> found;
  for (size_t i = 0; i < kFiles; ++i) {
    if (fs::exists(path_of(i))) found.push_back(std::to_string(i));
  }
  return found;
}

void check_columns(const ColumnView& all, const ColumnView& unique) {
  FUZZ_CHECK(unique.size <= all.size);
  FUZZ_CHECK((unique.size == 0) == (all.size == 0));
  const auto steps = unique.steps();
  for (size_t i = 1; i < steps.size(); ++i) FUZZ_CHECK(steps[i - 1] < steps[i]);
  for (const size_t budget : {0u, 3u, 7u, 100u}) {
    const auto kept = reduce(unique, budget);
    FUZZ_CHECK(kept.size() <= budget || kept.size() == unique.size);
    FUZZ_CHECK(kept.empty() || kept.back() == unique.size - 1);
  }
  if (!steps.empty()) FUZZ_CHECK(window(unique, steps.front(), steps.back()).size == unique.size);
  for (const PointsForm form : {PointsForm::triples, PointsForm::objects}) {
    FUZZ_CHECK(points_json(all, form).size() <= longest_points_json(all.size));
  }
}

// Every question that can be asked. Returns the number of points and entries, superseded ones too. `as_read`: the files
// are as they were when they were read, for certain.
size_t ask(const Logdir& logdir, bool as_read) {
  const auto tags = logdir.tags();
  const auto statuses = logdir.tag_statuses();
  const auto files = logdir.files();
  FUZZ_CHECK(tags.size() == statuses.size());
  size_t total = 0;
  for (size_t tag = 0; tag < tags.size(); ++tag) {
    const ColumnView all = logdir.scalars(tag, false);
    check_columns(all, logdir.scalars(tag, true));
    const auto media = logdir.media(tag);
    const ColumnView superseded = logdir.superseded_scalars(tag);
    FUZZ_CHECK(tags[tag].is_scalar ? media.empty() : all.size == 0);
    FUZZ_CHECK(tags[tag].present || (media.empty() && all.size == 0 && superseded.size == 0));
    FUZZ_CHECK(statuses[tag].count == all.size + media.size());
    FUZZ_CHECK(logdir.tag_status(tag)->count == statuses[tag].count);
    for (const MediaEntry& entry : media) {
      FUZZ_CHECK(entry.file < files.size());
      FUZZ_CHECK(entry.offset + entry.length + kRecordFooterBytes <= files[entry.file].bytes);
      const bool there = logdir.read_media(tag, entry).has_value();
      FUZZ_CHECK(there || !as_read);
    }
    total += statuses[tag].count + statuses[tag].superseded;
  }
  logdir.first_wall_time();
  logdir.generation();
  return total;
}

// What a RecordReader says of each file.
void compare_files(const Logdir& logdir) {
  for (const FileStatus& status : logdir.files()) {
    std::ifstream stream(folder() / status.name, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    RecordReader reader;
    reader.feed(bytes);
    uint64_t events = 0, bad = 0, skipped = 0;
    bool lost = false;
    for (bool more = true; more;) {
      const uint64_t before = reader.offset();
      std::string_view payload;
      switch (reader.next(payload)) {
        case RecordState::complete:
          ++events;
          break;
        case RecordState::bad_data:
          ++bad;
          break;
        case RecordState::incomplete:
          more = false;
          break;
        case RecordState::bad_length:
          more = reader.resynchronise();
          lost = !more;
          skipped += reader.offset() - before;
          break;
      }
    }
    // A record that is no event is bad to a logdir; a file without any has no records yet.
    FUZZ_CHECK(status.bytes == bytes.size());
    // Behind damage a RecordReader waits for a record of any length, a logdir only for one that it would read.
    FUZZ_CHECK(status.bytes_read == reader.offset() || (lost && status.bytes_read > reader.offset()));
    FUZZ_CHECK(status.damage.skipped_bytes - skipped == status.bytes_read - reader.offset());
    FUZZ_CHECK(status.damage.bad_records >= bad && status.damage.bad_records <= bad + events);
    FUZZ_CHECK(status.records <= events);
    FUZZ_CHECK(status.records + (status.damage.bad_records - bad) >= events);
  }
}

// Two threads that share the files in small parts read the same.
void compare_with_two_threads(const Logdir& alone) {
  constexpr uint64_t kPartBytes = 100;
  Logdir shared(folder().string());
  ReadingCrew crew(2, kPartBytes);
  crew.run(1, [&](size_t) { shared.refresh(names(), &crew); });
  const auto statuses = alone.tag_statuses(), same = shared.tag_statuses();
  FUZZ_CHECK(statuses.size() == same.size());
  for (size_t tag = 0; tag < statuses.size(); ++tag) {
    FUZZ_CHECK(statuses[tag].count == same[tag].count && statuses[tag].superseded == same[tag].superseded);
    FUZZ_CHECK(alone.media(tag) == shared.media(tag));
    const ColumnView all = alone.scalars(tag, false), others = shared.scalars(tag, false);
    FUZZ_CHECK(std::ranges::equal(all.steps(), others.steps()));
    FUZZ_CHECK(std::ranges::equal(std::as_bytes(all.values()), std::as_bytes(others.values())));
  }
  compare_files(shared);
}

void run(std::string_view input) {
  const size_t end = std::min(input.find('\0'), input.size());
  const std::string_view script = input.substr(0, std::min<size_t>(end, 64));
  std::string_view rest = input.substr(std::min(end + 1, input.size()));
  for (size_t i = 0; i < kFiles; ++i) fs::remove(path_of(i));
  Logdir logdir(folder().string());
  bool only_grew = true;
  const auto take = [&](size_t size) {
    const std::string_view taken = rest.substr(0, size);
    rest.remove_prefix(taken.size());
    return taken;
  };
  uint64_t version = 0;
  for (const char letter : script) {
    const auto step = static_cast<unsigned char>(letter);
    const size_t file = step % kFiles;
    switch (step / kFiles % 8) {
      case 0:
        if (fs::exists(path_of(file))) {
          fs::resize_file(path_of(file), fs::file_size(path_of(file)) / 2);
          only_grew = false;
        }
        break;
      case 1:
        only_grew = !fs::remove(path_of(file)) && only_grew;
        break;
      case 2: {
        std::error_code failed;
        fs::rename(path_of(file), path_of((file + 1) % kFiles), failed);
        only_grew = only_grew && failed;
        break;
      }
      case 3:
        append(path_of(file), take(1 + step % 7));
        break;
      default:
        append(path_of(file), take(size_t{step} * 4));
    }
    if (step % 2 == 0) {
      logdir.refresh(names());
      ask(logdir, only_grew);
      FUZZ_CHECK(logdir.version() >= version);
      version = logdir.version();
    }
  }
  append(path_of(0), rest);
  logdir.refresh(names());
  const size_t total = ask(logdir, only_grew);
  if (!only_grew) return;  // bytes that come back within a tick of the clock can be missed
  FUZZ_CHECK(!logdir.refresh(names()));
  // All at once gives the same number as piece by piece, as long as no search was cut short by the end of the file.
  Logdir fresh(folder().string());
  fresh.refresh(names());
  bool damaged = false;
  for (const FileStatus& file : fresh.files()) damaged = damaged || file.damage.skipped_bytes > 0;
  for (const FileStatus& file : logdir.files()) damaged = damaged || file.damage.skipped_bytes > 0;
  if (!damaged) FUZZ_CHECK(ask(fresh, true) == total);
  compare_files(fresh);
  if (input.size() % 128 == 0) compare_with_two_threads(fresh);  // to begin a thread takes longer than all of the above
}

}  // namespace
}  // namespace aboard

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  aboard::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
