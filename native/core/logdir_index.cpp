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

// What a file, a tag and a history take at least in the directory.
constexpr size_t kFileBytes = 64;
constexpr size_t kTagBytes = 16;

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

ColumnArrays put_rows(IndexWriter& writer, IndexFields& fields, const Columns& columns) {
  const ColumnArrays arrays{writer.append(columns.steps()), writer.append(columns.wall_times()),
                            writer.append(columns.values())};
  fields.put(arrays);
  return arrays;
}

IndexArray put_rows(IndexWriter& writer, IndexFields& fields, const MediaRows& rows) {
  const IndexArray array = writer.append(rows.first(rows.size()));
  fields.put(array);
  return array;
}

std::optional<Columns> take_rows(IndexFieldReader& fields, const std::shared_ptr<const IndexImage>& image, size_t,
                                 const Columns*) {
  return columns_of(fields.take<ColumnArrays>(), image);
}

std::optional<MediaRows> take_rows(IndexFieldReader& fields, const std::shared_ptr<const IndexImage>& image,
                                   size_t files, const MediaRows*) {
  const auto rows = image->array<MediaEntry>(fields.take<IndexArray>());
  if (!fields.ok() || !rows) return std::nullopt;
  const bool fits = std::all_of(rows->begin(), rows->end(), [&](const MediaEntry& row) { return row.file < files; });
  return fits ? std::optional(MediaRows(*rows)) : std::nullopt;
}

// Where the rows are now, and those that were superseded.
template <typename Rows>
auto put_history(IndexWriter& writer, IndexFields& fields, const History<Rows>& history) {
  const auto standing = history.standing();
  const auto rows = put_rows(writer, fields, history.rows());
  const auto superseded = put_rows(writer, fields, history.superseded());
  put_standing(fields, standing);
  return std::pair(rows, superseded);
}

template <typename Rows>
bool take_history(IndexFieldReader& fields, const std::shared_ptr<const IndexImage>& image, size_t files,
                  History<Rows>& history) {
  auto rows = take_rows(fields, image, files, static_cast<const Rows*>(nullptr));
  auto superseded = take_rows(fields, image, files, static_cast<const Rows*>(nullptr));
  const auto standing = take_standing<Rows>(fields);
  return fields.ok() && rows && superseded && history.resume(standing, std::move(*rows), std::move(*superseded));
}

}  // namespace

int Logdir::Index::save(const State& state, const std::string& logdir, const std::string& index,
                        std::vector<Moved>& moved) {
  IndexWriter writer(index);
  IndexFields fields;
  fields.put(std::string_view(logdir));
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
  const auto present = std::count_if(state.tags.begin(), state.tags.end(), [](const Tag& t) { return t.info.present; });
  fields.put(static_cast<uint64_t>(present));
  struct Place {
    size_t tag;
    ColumnArrays rows, superseded;
  };
  std::vector<Place> places;
  for (size_t number = 0; number < state.tags.size(); ++number) {
    const Tag& tag = state.tags[number];
    if (!tag.info.present) continue;
    put_info(fields, tag.info);
    fields.put(uint8_t{tag.media != nullptr});
    if (tag.media) {
      put_history(writer, fields, *tag.media);
    } else {
      const auto [rows, superseded] = put_history(writer, fields, tag.scalars);
      if (!tag.scalars.rows().empty()) places.push_back({number, rows, superseded});
    }
  }
  const int error = writer.commit(fields.bytes());
  const auto image = error == 0 ? writer.image() : nullptr;
  if (image == nullptr) return error;
  for (const Place& place : places) {
    auto rows = columns_of(place.rows, image);
    auto superseded = columns_of(place.superseded, image);
    if (rows && superseded) moved.push_back({place.tag, std::move(*rows), std::move(*superseded)});
  }
  return 0;
}

std::shared_ptr<Logdir::State> Logdir::Index::load(const ReadPath& logdir, const std::string& index) {
  const auto image = IndexImage::open(index);
  if (image == nullptr) return nullptr;
  const auto take_state = [&]() -> std::shared_ptr<State> {
    IndexFieldReader fields(image->directory());
    auto state = std::make_shared<State>();
    if (fields.take_text() != logdir.text()) return nullptr;
    state->attempt = fields.take<uint32_t>();
    state->attempt_begin = fields.take<double>();
    state->last_wall_time = fields.take<double>();
    for (size_t left = fields.take_count(kFileBytes); left > 0; --left) {
      const std::string_view name = fields.take_text();
      EventFile event_file(logdir.child(name), take_reading(fields));
      if (!fields.ok() || !event_file.still_holds()) return nullptr;
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
    for (size_t left = fields.take_count(kTagBytes); left > 0; --left) {
      Tag& tag = state->tags.emplace_back();
      tag.info = take_info(fields);
      bool fits;
      if (fields.take_flag()) {
        tag.media = std::make_unique<History<MediaRows>>();
        fits = take_history(fields, image, state->files.size(), *tag.media);
      } else {
        fits = take_history(fields, image, state->files.size(), tag.scalars);
      }
      if (!fits || (tag.media && tag.info.is_scalar)) return nullptr;
      state->numbers.add(keyed_hash(tag.info.name, static_cast<uint64_t>(tag.info.source)),
                         static_cast<uint32_t>(state->tags.size() - 1));
    }
    return fields.at_end() ? state : nullptr;
  };
  auto state = take_state();
  if (state == nullptr) ::unlink(index.c_str());
  return state;
}

}  // namespace aboard
