// SPDX-License-Identifier: Apache-2.0
#include "logdir_index.hpp"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "index_file.hpp"
#include "logdir_fields.hpp"
#include "logdir_state.hpp"

namespace aboard {
namespace {

struct ColumnArrays {
  IndexArray steps, wall_times, values;
};

// The columns where they lie in the index: they are compared with their checksums when somebody looks at them.
std::optional<Columns> columns_of(const ColumnArrays& arrays, const std::shared_ptr<const IndexImage>& image) {
  const auto steps = image->place_of<int64_t>(arrays.steps);
  const auto wall_times = image->place_of<double>(arrays.wall_times);
  const auto values = image->place_of<double>(arrays.values);
  if (!steps || !wall_times || !values) return std::nullopt;
  if (wall_times->size() != steps->size() || values->size() != steps->size()) return std::nullopt;
  if (steps->empty()) return Columns();
  const ForeignColumns columns{steps->data(),
                               wall_times->data(),
                               values->data(),
                               steps->size(),
                               {arrays.steps.checksum, arrays.wall_times.checksum, arrays.values.checksum}};
  return Columns(std::make_shared<ColumnBlock>(columns, image), steps->size());
}

// Remembers where it put columns.
class IndexRowsWriter final : public RowsWriter {
 public:
  explicit IndexRowsWriter(IndexWriter& writer) : writer_(writer) {}

  void put(DirectoryWriter& fields, const Columns& rows) override {
    columns_.push_back(
        {writer_.append(rows.steps()), writer_.append(rows.wall_times()), writer_.append(rows.values())});
    fields.numbers(columns_.back());
  }
  void put(DirectoryWriter& fields, const MediaRows& rows) override {
    fields.numbers(writer_.append(rows.first(rows.size())));
  }
  const std::vector<ColumnArrays>& columns() const noexcept { return columns_; }

 private:
  IndexWriter& writer_;
  std::vector<ColumnArrays> columns_;
};

class IndexRowsReader final : public RowsReader {
 public:
  explicit IndexRowsReader(std::shared_ptr<const IndexImage> image) : image_(std::move(image)) {}

  bool take(DirectoryReader& fields, size_t, Columns& rows) override {
    auto columns = columns_of(fields.take<ColumnArrays>(), image_);
    if (columns) rows = std::move(*columns);
    return columns.has_value();
  }
  bool take(DirectoryReader& fields, size_t files, MediaRows& rows) override {
    const auto entries = image_->array<MediaEntry>(fields.take<IndexArray>());
    if (!fields.ok() || !entries) return false;
    if (std::ranges::any_of(*entries, [&](const MediaEntry& row) { return row.file >= files; })) return false;
    rows = MediaRows(*entries);
    return true;
  }

 private:
  std::shared_ptr<const IndexImage> image_;
};

}  // namespace

int Logdir::Index::save(const State& state, const std::string& logdir, const std::string& index,
                        std::vector<Moved>& moved) {
  IndexWriter writer(index);
  DirectoryWriter fields;
  IndexRowsWriter rows(writer);
  fields.text(logdir);
  Fields::put(fields, state, rows);
  const int error = writer.commit(fields.bytes());
  const auto image = error == 0 ? writer.image() : nullptr;
  if (image == nullptr) return error;
  size_t next = 0;  // of the columns, of which a scalar tag has put two
  for (size_t number = 0; number < state.tags.size(); ++number) {
    const Tag& tag = state.tags[number];
    if (!tag.info.present || tag.media) continue;
    auto shown = columns_of(rows.columns()[next++], image);
    auto superseded = columns_of(rows.columns()[next++], image);
    if (tag.scalars.rows().empty()) continue;
    if (shown && superseded) moved.push_back({number, std::move(*shown), std::move(*superseded)});
  }
  return 0;
}

std::shared_ptr<Logdir::State> Logdir::Index::load(const ReadPath& logdir, const std::string& index) {
  const auto image = IndexImage::open(index);
  if (image == nullptr) return nullptr;
  DirectoryReader fields(image->directory());
  std::shared_ptr<State> state;
  if (fields.take_text() == logdir.text()) {
    state = Fields::take_files(fields, logdir, [](const ReadPath&, ReadingState&) { return true; });
  }
  IndexRowsReader rows(image);
  if (state != nullptr && !Fields::take_tags(fields, *state, rows)) state = nullptr;
  if (state == nullptr) ::unlink(index.c_str());
  return state;
}

}  // namespace aboard
