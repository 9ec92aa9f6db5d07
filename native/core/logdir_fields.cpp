// SPDX-License-Identifier: Apache-2.0
#include "logdir_fields.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "event_file.hpp"
#include "history.hpp"
#include "logdir_state.hpp"

namespace aboard {
namespace {

// What a file and a tag take at least in the directory.
constexpr size_t kFileBytes = 64;
constexpr size_t kTagBytes = 16;

constexpr std::initializer_list<TagSource> kSources = {TagSource::summary, TagSource::graph, TagSource::meta_graph,
                                                       TagSource::run_metadata};
constexpr std::initializer_list<ValueKind> kKinds = {ValueKind::nothing,   ValueKind::simple_value, ValueKind::image,
                                                     ValueKind::histogram, ValueKind::audio,        ValueKind::tensor};

// Each of these is called with a writer and with a reader. The order of fields is the format: native/README.md.

template <typename Fields, typename State>
void visit_attempt(Fields& fields, State& state) {
  fields.numbers(state.attempt, state.attempt_begin, state.last_wall_time);
}

template <typename Fields, typename Reading>
void visit_reading(Fields& fields, Reading& state) {
  fields.numbers(state.device, state.inode, state.size, state.offset, state.proven_head_bytes);
  fields.numbers(state.search.searched, state.search.wasted);
  fields.numbers(state.damage.bad_records, state.damage.skipped_bytes, state.damage.first_offset);
  fields.numbers(state.modified_ns, state.changed_ns, state.head_proof, state.tail_proof);
  fields.flag(state.search.is_active);
  fields.list(state.search.waiting);
}

template <typename Fields, typename File>
void visit_file(Fields& fields, File& file) {
  fields.numbers(file.records, file.first_wall_time, file.last_wall_time, file.attempt);
  fields.flag(file.is_late);
}

template <typename Fields, typename Info>
void visit_info(Fields& fields, Info& info) {
  fields.text(info.name);
  fields.text(info.metadata);
  fields.one_of(kSources, info.source);
  fields.one_of(kKinds, info.kind);
  // One byte, as before there were other kinds: files of then are still read.
  fields.flag_and_one_of(info.is_scalar, kKinds, info.other_kind);
}

template <typename Fields, typename Standing>
void visit_standing(Fields& fields, Standing& standing) {
  fields.numbers(standing.attempt_begin, standing.first_fall, standing.first_step, standing.attempt, standing.file);
  fields.flag(standing.begun);
  fields.flag(standing.mixed);
  fields.numbers(standing.last_step, standing.last_wall_time);
  fields.list(standing.other_files);
}

template <typename Rows>
void put_history(DirectoryWriter& fields, const History<Rows>& history, RowsWriter& rows) {
  rows.put(fields, history.rows());
  rows.put(fields, history.superseded());
  const auto standing = history.standing();
  visit_standing(fields, standing);
}

template <typename Rows>
bool take_history(DirectoryReader& fields, size_t files, RowsReader& reader, History<Rows>& history) {
  Rows rows, superseded;
  if (!reader.take(fields, files, rows) || !reader.take(fields, files, superseded)) return false;
  typename History<Rows>::Standing standing;
  visit_standing(fields, standing);
  return fields.ok() && history.resume(standing, std::move(rows), std::move(superseded));
}

}  // namespace

void Logdir::Fields::put(DirectoryWriter& fields, const State& state, RowsWriter& rows) {
  visit_attempt(fields, state);
  fields.numbers(uint64_t{state.files.size()});
  for (const auto& file : state.files) {
    fields.text(file->name);
    visit_reading(fields, file->file.state());
    visit_file(fields, *file);
  }
  const auto present = std::ranges::count_if(state.tags, [](const Tag& tag) { return tag.info.present; });
  fields.numbers(static_cast<uint64_t>(present));
  for (const Tag& tag : state.tags) {
    if (!tag.info.present) continue;
    visit_info(fields, tag.info);
    fields.flag(tag.media != nullptr);
    if (tag.media) {
      put_history(fields, *tag.media, rows);
    } else {
      put_history(fields, tag.scalars, rows);
    }
  }
}

std::shared_ptr<Logdir::State> Logdir::Fields::take_files(DirectoryReader& fields, const ReadPath& logdir,
                                                          const Prepare& prepare) {
  auto state = std::make_shared<State>();
  visit_attempt(fields, *state);
  std::unordered_set<std::string_view> names;
  for (size_t left = fields.take_count(kFileBytes); left > 0; --left) {
    const std::string_view name = fields.take_text();
    ReadingState reading;
    visit_reading(fields, reading);
    if (!fields.ok() || name.find('/') != name.npos || !names.insert(name).second) return nullptr;
    ReadPath path = logdir.child(name);
    if (!prepare(path, reading)) return nullptr;
    EventFile event_file(std::move(path), std::move(reading));
    if (!event_file.still_holds()) return nullptr;
    auto file = std::make_unique<File>(std::move(event_file), name);
    visit_file(fields, *file);
    file->publish();
    const Segments* segments = state->segments_beside(*file);
    if (segments != nullptr && segment_of(name)->number <= segments->last_number) return nullptr;
    state->take(std::move(file));
  }
  return fields.ok() ? state : nullptr;
}

bool Logdir::Fields::take_tags(DirectoryReader& fields, State& state, RowsReader& rows) {
  const size_t files = state.files.size();
  for (size_t left = fields.take_count(kTagBytes); left > 0; --left) {
    Tag& tag = state.tags.emplace_back();
    visit_info(fields, tag.info);
    tag.info.present = true;
    bool is_media = false;
    fields.flag(is_media);
    if (is_media) tag.media = std::make_unique<History<MediaRows>>();
    const bool fits =
        is_media ? take_history(fields, files, rows, *tag.media) : take_history(fields, files, rows, tag.scalars);
    if (!fits || (is_media && tag.info.is_scalar)) return false;
    state.numbers.add(keyed_hash(tag.info.name, static_cast<uint64_t>(tag.info.source)),
                      static_cast<uint32_t>(state.tags.size() - 1));
  }
  return fields.at_end();
}

}  // namespace aboard
