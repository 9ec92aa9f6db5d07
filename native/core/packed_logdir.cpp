// SPDX-License-Identifier: Apache-2.0
#include "packed_logdir.hpp"

#include <sys/stat.h>

#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "crc32c.hpp"
#include "logdir_fields.hpp"
#include "logdir_state.hpp"
#include "packed_columns.hpp"
#include "posix_io.hpp"

namespace aboard {
namespace {

constexpr char kMagic[8] = {'a', 'b', 'o', 'a', 'r', 'd', 'p', 'k'};
constexpr uint32_t kVersion = 1;
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

class PackedRowsWriter final : public RowsWriter {
 public:
  void put(DirectoryWriter& fields, const Columns& columns) override {
    const size_t begin = bytes.size();
    if (!columns.empty()) pack_columns(columns.steps(), columns.wall_times(), columns.values(), bytes);
    const auto packed = std::string_view(bytes).substr(begin);
    fields.numbers(ColumnPlace{columns.size(), begin, packed.size(), crc32c(packed), 0});
  }
  void put(DirectoryWriter& fields, const MediaRows& rows) override {
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
    fields.numbers(uint64_t{rows.size()});
    fields.text(packed);
  }

  std::string bytes;
};

// The fewest bytes of an event file that a row comes from. A Summary.Value has a key and a length. A picture may follow
// with a key and a length of nothing, a number as a tensor of a type and no elements.
constexpr uint64_t kLeastMediaBytes = 4;
constexpr uint64_t kLeastScalarBytes = 6;

class PackedRowsReader final : public RowsReader {
 public:
  // `event_bytes` is what the files are known to hold: all rows together need not be believed to come from more.
  PackedRowsReader(const PackedPlace& place, uint64_t event_bytes, uint64_t columns_end)
      : path_(std::make_shared<const std::string>(place.path)),
        begin_(place.begin),
        unclaimed_bytes_(event_bytes),
        columns_end_(columns_end) {}

  bool take(DirectoryReader& fields, size_t, Columns& rows) override {
    const auto place = fields.take<ColumnPlace>();
    const bool fits = fields.ok() && place.offset <= columns_end_ && place.length <= columns_end_ - place.offset &&
                      place.count / kMostPointsPerByte <= place.length && (place.count > 0) == (place.length > 0) &&
                      claim(place.count, kLeastScalarBytes);
    if (!fits || place.count == 0) return fits;
    const auto count = static_cast<size_t>(place.count);
    const PackedColumns packed{path_, begin_ + place.offset, place.length, count, place.checksum};
    rows = Columns(std::make_shared<ColumnBlock>(packed), count);
    return true;
  }

  bool take(DirectoryReader& fields, size_t files, MediaRows& rows) override {
    const auto count = fields.take<uint64_t>();
    std::string_view packed = fields.take_text();
    if (!fields.ok() || count / kMostPointsPerByte > packed.size() || !claim(count, kLeastMediaBytes)) return false;
    std::vector<uint64_t> words[kMediaColumns];
    for (auto& column : words) {
      column.resize(static_cast<size_t>(count));
      if (!unpack_words(packed, column.size(), column.data())) return false;
    }
    std::vector<MediaEntry> entries(static_cast<size_t>(count));
    for (size_t i = 0; i < entries.size(); ++i) {
      if (words[4][i] >= files || words[5][i] > UINT32_MAX) return false;
      entries[i] = {static_cast<int64_t>(words[0][i]),  std::bit_cast<double>(words[1][i]), words[2][i], words[3][i],
                    static_cast<uint32_t>(words[4][i]), static_cast<uint32_t>(words[5][i])};
    }
    rows = MediaRows(entries);
    return packed.empty();
  }

 private:
  bool claim(uint64_t rows, uint64_t bytes_of_each) {
    if (rows > unclaimed_bytes_ / bytes_of_each) return false;
    unclaimed_bytes_ -= rows * bytes_of_each;
    return true;
  }

  std::shared_ptr<const std::string> path_;
  uint64_t begin_;
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
  DirectoryWriter fields;
  PackedRowsWriter rows;
  Fields::put(fields, state, rows);
  Footer footer{fields.bytes().size(), crc32c(fields.bytes()), kVersion, {}};
  std::memcpy(footer.magic, kMagic, sizeof kMagic);
  rows.bytes.append(fields.bytes());
  rows.bytes.append(reinterpret_cast<const char*>(&footer), sizeof footer);
  return std::move(rows.bytes);
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

  DirectoryReader fields(*directory);
  auto state = Fields::take_files(fields, logdir, adopt_identity);
  if (state == nullptr) return nullptr;
  uint64_t event_bytes = 0;
  for (const auto& file : state->files) event_bytes += file->file.offset();
  PackedRowsReader rows(place, event_bytes, directory_at - place.begin);
  return Fields::take_tags(fields, *state, rows) ? state : nullptr;
}

}  // namespace aboard
