// SPDX-License-Identifier: Apache-2.0
#include "step_order.hpp"

namespace aboard {

void StepOrder::add(std::string_view name, int64_t step, uint64_t offset, ValueKind kind) {
  const uint64_t hash = keyed_hash(name, 0);
  const uint32_t number = numbers_.find(hash, [&](uint32_t candidate) { return tags_[candidate].hash == hash; });
  if (number == TagTable::kNone) {
    if (tags_.size() == kMostTags) {
      all_followed_ = false;
      return;
    }
    numbers_.add(hash, static_cast<uint32_t>(tags_.size()));
    tags_.push_back({hash, step, session_, kNotFallen, kind});
    return;
  }
  Tag& tag = tags_[number];
  note_kind(tag, name, kind, offset);
  if (step < tag.last_step && tag.session == session_) note_fall(tag, name, step, offset);
  tag.last_step = step;
  tag.session = session_;
}

void StepOrder::note_kind(Tag& tag, std::string_view name, ValueKind kind, uint64_t offset) {
  if (kind == tag.kind || kind == ValueKind::nothing || tag.clashes) return;
  if (tag.kind == ValueKind::nothing) {
    tag.kind = kind;
    return;
  }
  tag.clashes = true;
  if (clashing_tags_++ < most_falls_) {
    clashes_.push_back({std::string(name.substr(0, kLongestTagKept)), offset, tag.kind, kind});
  }
}

void StepOrder::note_fall(Tag& tag, std::string_view name, int64_t step, uint64_t offset) {
  ++total_falls_;
  if (tag.fall == kNotFallen) {
    ++fallen_tags_;
    tag.fall = static_cast<uint32_t>(falls_.size());
    if (falls_.size() == most_falls_) return;
    falls_.push_back({std::string(name.substr(0, kLongestTagKept)), offset, tag.last_step, step, 0});
  }
  if (tag.fall < falls_.size()) ++falls_[tag.fall].count;
}

}  // namespace aboard
