// SPDX-License-Identifier: Apache-2.0
// What is kept of a logdir, field by field: the same in an index and in the packed form.
#pragma once

#include <cstdint>

#include "event_file.hpp"
#include "history.hpp"
#include "index_file.hpp"
#include "logdir.hpp"

namespace aboard {

inline void put_reading(IndexFields& fields, const ReadingState& state) {
  for (const uint64_t number :
       {state.device, state.inode, state.size, state.offset, state.proven_head_bytes, state.search.searched,
        state.search.wasted, state.damage.bad_records, state.damage.skipped_bytes, state.damage.first_offset}) {
    fields.put(number);
  }
  fields.put(state.modified_ns);
  fields.put(state.changed_ns);
  fields.put(state.head_proof);
  fields.put(state.tail_proof);
  fields.put(uint8_t{state.search.is_active});
  fields.put(uint64_t{state.search.waiting.size()});
  for (const uint64_t position : state.search.waiting) fields.put(position);
}

inline ReadingState take_reading(IndexFieldReader& fields) {
  ReadingState state;
  for (uint64_t* number :
       {&state.device, &state.inode, &state.size, &state.offset, &state.proven_head_bytes, &state.search.searched,
        &state.search.wasted, &state.damage.bad_records, &state.damage.skipped_bytes, &state.damage.first_offset}) {
    *number = fields.take<uint64_t>();
  }
  state.modified_ns = fields.take<int64_t>();
  state.changed_ns = fields.take<int64_t>();
  state.head_proof = fields.take<uint32_t>();
  state.tail_proof = fields.take<uint32_t>();
  state.search.is_active = fields.take_flag();
  state.search.waiting.resize(fields.take_count(sizeof(uint64_t)));
  for (uint64_t& position : state.search.waiting) position = fields.take<uint64_t>();
  return state;
}

template <typename Standing>
void put_standing(IndexFields& fields, const Standing& standing) {
  fields.put(standing.attempt_begin);
  fields.put(standing.first_fall);
  fields.put(standing.first_step);
  fields.put(standing.attempt);
  fields.put(standing.file);
  fields.put(uint8_t{standing.begun});
  fields.put(uint8_t{standing.mixed});
  fields.put(standing.last_step);
  fields.put(standing.last_wall_time);
  fields.put(uint64_t{standing.other_files.size()});
  for (const uint32_t file : standing.other_files) fields.put(file);
}

template <typename Rows>
typename History<Rows>::Standing take_standing(IndexFieldReader& fields) {
  typename History<Rows>::Standing standing;
  standing.attempt_begin = fields.take<uint64_t>();
  standing.first_fall = fields.take<uint64_t>();
  standing.first_step = fields.take<int64_t>();
  standing.attempt = fields.take<uint32_t>();
  standing.file = fields.take<uint32_t>();
  standing.begun = fields.take_flag();
  standing.mixed = fields.take_flag();
  standing.last_step = fields.take<int64_t>();
  standing.last_wall_time = fields.take<double>();
  standing.other_files.resize(fields.take_count(sizeof(uint32_t)));
  for (uint32_t& file : standing.other_files) file = fields.take<uint32_t>();
  return standing;
}

inline void put_info(IndexFields& fields, const TagInfo& info) {
  fields.put(std::string_view(info.name));
  fields.put(std::string_view(info.metadata));
  fields.put(static_cast<uint8_t>(info.source));
  fields.put(static_cast<uint8_t>(info.kind));
  // One byte, as before there were other kinds: files of then are still read.
  fields.put(static_cast<uint8_t>(uint8_t{info.is_scalar} | static_cast<uint8_t>(info.other_kind) << 1));
}

inline TagInfo take_info(IndexFieldReader& fields) {
  TagInfo info;
  info.name = fields.take_text();
  info.metadata = fields.take_text();
  info.source =
      fields.take_one_of({TagSource::summary, TagSource::graph, TagSource::meta_graph, TagSource::run_metadata});
  static constexpr std::initializer_list<ValueKind> kKinds = {ValueKind::nothing, ValueKind::simple_value,
                                                              ValueKind::image,   ValueKind::histogram,
                                                              ValueKind::audio,   ValueKind::tensor};
  info.kind = fields.take_one_of(kKinds);
  const auto packed = fields.take<uint8_t>();
  info.is_scalar = (packed & 1) != 0;
  info.other_kind = fields.one_of(static_cast<uint8_t>(packed >> 1), kKinds);
  info.present = true;
  return info;
}

}  // namespace aboard
