// SPDX-License-Identifier: Apache-2.0
#include "packed_logdir.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_set>
#include <utility>
#include <vector>

#include "crc32c.hpp"
#include "index_file.hpp"
#include "logdir_fields.hpp"
#include "logdir_state.hpp"
#include "packed_columns.hpp"
#include "posix_io.hpp"

namespace aboard {
namespace {

constexpr char kMagic[8] = {'a', 'b', 'o', 'a', 'r', 'd', 'p', 'k'};
constexpr uint32_t kVersion = 1;
constexpr size_t kFileBytes = 64;  // in the directory, at least
constexpr size_t kTagBytes = 16;
constexpr size_t kMediaColumns = 6;

struct Footer {
  uint64_t directory_bytes;
  uint32_t directory_checksum;
  uint32_t version;
  char magic[8];
};
static_assert(sizeof(Footer) == 24);

// The directory is written as it lies in memory.
constexpr bool kCanTravel = std::endian::native == std::endian::little;

struct ColumnPlace {
  uint64_t count, offset, length;
  uint32_t checksum, unused;
};

class PackedWriter {
 public:
  void put_rows(const Columns& columns) {
    const size_t begin = bytes.size();
    if (!columns.empty()) pack_columns(columns.steps(), columns.wall_times(), columns.values(), bytes);
    const auto packed = std::string_view(bytes).substr(begin);
    fields.put(ColumnPlace{columns.size(), begin, packed.size(), crc32c(packed), 0});
  }
  void put_rows(const MediaRows& rows) {
    std::vector<uint64_t> words[kMediaColumns];
    for (const MediaEntry& row : rows.first(rows.size())) {
      const uint64_t values[kMediaColumns] = {static_cast<uint64_t>(row.step),
                                              std::bit_cast<uint64_t>(row.wall_time),
                                              row.offset,
                                              row.length,
                                              row.file,
                                              row.value_index};
      for (size_t i = 0; i < kMediaColumns; ++i) words[i].push_back(values[i]);
    }
    std::string packed;
    for (const auto& column : words) pack_words(column, packed);
    fields.put(uint64_t{rows.size()});
    fields.put(std::string_view(packed));
  }
  template <typename Rows>
  void put_history(const History<Rows>& history) {
    put_rows(history.rows());
    put_rows(history.superseded());
    put_standing(fields, history.standing());
  }

  std::string bytes;
  IndexFields fields;
};

// The fewest bytes of an event file that a row comes from. A Summary.Value has a key and a length. A picture may follow
// with a key and a length of nothing, a number as a tensor of a type and no elements.
constexpr uint64_t kLeastMediaBytes = 4;
constexpr uint64_t kLeastScalarBytes = 6;

class PackedReader {
 public:
  // `event_bytes` is what the files are known to hold: all rows together need not be believed to come from more.
  PackedReader(IndexFieldReader& fields, const PackedPlace& place, size_t files, uint64_t event_bytes,
               uint64_t columns_end)
      : fields_(fields),
        path_(std::make_shared<const std::string>(place.path)),
        begin_(place.begin),
        files_(files),
        unclaimed_bytes_(event_bytes),
        columns_end_(columns_end) {}

  template <typename Rows>
  bool take_history(History<Rows>& history) {
    Rows rows, superseded;
    if (!take_rows(rows) || !take_rows(superseded)) return false;
    const auto standing = take_standing<Rows>(fields_);
    return fields_.ok() && history.resume(standing, std::move(rows), std::move(superseded));
  }

 private:
  bool claim(uint64_t rows, uint64_t bytes_of_each) {
    if (rows > unclaimed_bytes_ / bytes_of_each) return false;
    unclaimed_bytes_ -= rows * bytes_of_each;
    return true;
  }
  bool take_rows(Columns& rows) {
    const auto place = fields_.take<ColumnPlace>();
    const bool fits = fields_.ok() && place.offset <= columns_end_ && place.length <= columns_end_ - place.offset &&
                      place.count / kMostPointsPerByte <= place.length && (place.count > 0) == (place.length > 0) &&
                      claim(place.count, kLeastScalarBytes);
    if (!fits || place.count == 0) return fits;
    const auto count = static_cast<size_t>(place.count);
    const PackedColumns packed{path_, begin_ + place.offset, place.length, count, place.checksum};
    rows = Columns(std::make_shared<ColumnBlock>(packed), count);
    return true;
  }
  bool take_rows(MediaRows& rows) {
    const auto count = fields_.take<uint64_t>();
    std::string_view packed = fields_.take_text();
    if (!fields_.ok() || count / kMostPointsPerByte > packed.size() || !claim(count, kLeastMediaBytes)) return false;
    std::vector<uint64_t> words[kMediaColumns];
    for (auto& column : words) {
      column.resize(static_cast<size_t>(count));
      if (!unpack_words(packed, column.size(), column.data())) return false;
    }
    std::vector<MediaEntry> entries(static_cast<size_t>(count));
    for (size_t i = 0; i < entries.size(); ++i) {
      if (words[4][i] >= files_ || words[5][i] > UINT32_MAX) return false;
      entries[i] = {static_cast<int64_t>(words[0][i]),  std::bit_cast<double>(words[1][i]), words[2][i], words[3][i],
                    static_cast<uint32_t>(words[4][i]), static_cast<uint32_t>(words[5][i])};
    }
    rows = MediaRows(entries);
    return packed.empty();
  }

  IndexFieldReader& fields_;
  std::shared_ptr<const std::string> path_;
  uint64_t begin_;
  size_t files_;
  uint64_t unclaimed_bytes_;
  uint64_t columns_end_;
};

// Where it was read it was another file; what it holds is proven by its first and last bytes.
bool adopt_identity(const ReadPath& path, ReadingState& state) {
  struct stat status;
  if (path.status(&status) != 0) return false;
  state.device = status.st_dev;
  state.inode = status.st_ino;
  state.size = state.offset;
  state.modified_ns = state.changed_ns = 0;
  return true;
}

}  // namespace

std::optional<std::string> Logdir::Packed::save(const State& state) {
  if (!kCanTravel) return std::nullopt;
  PackedWriter writer;
  IndexFields& fields = writer.fields;
  fields.put(state.attempt);
  fields.put(state.attempt_begin);
  fields.put(state.last_wall_time);
  fields.put(uint64_t{state.files.size()});
  for (const auto& file : state.files) {
    fields.put(std::string_view(file->name));
    put_reading(fields, file->file.state());
    fields.put(file->records);
    fields.put(file->first_wall_time);
    fields.put(file->last_wall_time);
    fields.put(file->attempt);
    fields.put(uint8_t{file->is_late});
  }
  const auto present = std::ranges::count_if(state.tags, [](const Tag& tag) { return tag.info.present; });
  fields.put(static_cast<uint64_t>(present));
  for (const Tag& tag : state.tags) {
    if (!tag.info.present) continue;
    put_info(fields, tag.info);
    fields.put(uint8_t{tag.media != nullptr});
    if (tag.media) {
      writer.put_history(*tag.media);
    } else {
      writer.put_history(tag.scalars);
    }
  }
  Footer footer{fields.bytes().size(), crc32c(fields.bytes()), kVersion, {}};
  std::memcpy(footer.magic, kMagic, sizeof kMagic);
  writer.bytes.append(fields.bytes());
  writer.bytes.append(reinterpret_cast<const char*>(&footer), sizeof footer);
  return std::move(writer.bytes);
}

std::shared_ptr<Logdir::State> Logdir::Packed::load(const ReadPath& logdir, const PackedPlace& place) {
  if (!kCanTravel || place.end < place.begin || place.end - place.begin < sizeof(Footer)) return nullptr;
  const uint64_t footer_at = place.end - sizeof(Footer);
  const auto last = read_file_range(place.path, footer_at, sizeof(Footer));
  if (!last) return nullptr;
  Footer footer;
  std::memcpy(&footer, last->data(), sizeof footer);
  if (std::memcmp(footer.magic, kMagic, sizeof kMagic) != 0 || footer.version != kVersion) return nullptr;
  if (footer.directory_bytes > footer_at - place.begin) return nullptr;
  const uint64_t directory_at = footer_at - footer.directory_bytes;
  const auto directory = read_file_range(place.path, directory_at, footer.directory_bytes);
  if (!directory || crc32c(*directory) != footer.directory_checksum) return nullptr;

  IndexFieldReader fields(*directory);
  auto state = std::make_shared<State>();
  state->attempt = fields.take<uint32_t>();
  state->attempt_begin = fields.take<double>();
  state->last_wall_time = fields.take<double>();
  std::unordered_set<std::string_view> names;
  uint64_t event_bytes = 0;
  for (size_t left = fields.take_count(kFileBytes); left > 0; --left) {
    const std::string_view name = fields.take_text();
    const ReadPath path = logdir.child(name);
    ReadingState reading = take_reading(fields);
    if (!fields.ok() || name.find('/') != name.npos || !names.insert(name).second) return nullptr;
    if (!adopt_identity(path, reading)) return nullptr;
    EventFile event_file(path, std::move(reading));
    if (!event_file.still_holds()) return nullptr;  // so that the file is that long
    event_bytes += event_file.offset();
    auto file = std::make_unique<File>(std::move(event_file), name);
    file->records = fields.take<uint64_t>();
    file->first_wall_time = fields.take<double>();
    file->last_wall_time = fields.take<double>();
    file->attempt = fields.take<uint32_t>();
    file->is_late = fields.take_flag();
    file->publish();
    const Segments* segments = state->segments_beside(*file);
    if (segments != nullptr && segment_of(name)->number <= segments->last_number) return nullptr;
    state->take(std::move(file));
  }
  PackedReader reader(fields, place, state->files.size(), event_bytes, directory_at - place.begin);
  for (size_t left = fields.take_count(kTagBytes); left > 0; --left) {
    Tag& tag = state->tags.emplace_back();
    tag.info = take_info(fields);
    if (fields.take_flag()) tag.media = std::make_unique<History<MediaRows>>();
    const bool fits = tag.media ? reader.take_history(*tag.media) : reader.take_history(tag.scalars);
    if (!fits || (tag.media && tag.info.is_scalar)) return nullptr;
    state->numbers.add(keyed_hash(tag.info.name, static_cast<uint64_t>(tag.info.source)),
                       static_cast<uint32_t>(state->tags.size() - 1));
  }
  return fields.at_end() ? state : nullptr;
}

}  // namespace aboard
