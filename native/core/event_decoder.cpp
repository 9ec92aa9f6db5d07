// SPDX-License-Identifier: Apache-2.0
#include "event_decoder.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "record.hpp"
#include "tensor_scalar.hpp"
#include "wire.hpp"

namespace aboard {
namespace {

constexpr uint64_t kPublishEvery = 1 << 16;  // records after which readers see what was decoded
constexpr size_t kRowsThatTell = 16;
constexpr double kForesight = 1.04;
constexpr uint64_t kWorthForesight = 64 << 10;  // bytes of a file behind others
constexpr double kBoldestForesight = 64;        // times the rows that were seen: the beginning of a file may deceive
constexpr uint64_t kLeastBytesOfARow = 32;      // in a file; hardly any record is shorter
constexpr std::string_view kGraphTag = "__run_graph__";
constexpr auto kSummarySalt = static_cast<uint64_t>(TagSource::summary);

bool is_scalar(const ValueView& value) { return data_kind(value.kind, value.metadata) == ValueKind::simple_value; }

std::optional<double> number_in(const ValueView& value) {
  if (value.kind == ValueKind::simple_value) return value.simple_value;
  if (value.kind == ValueKind::tensor) return tensor_scalar(value.payload);
  return std::nullopt;
}

std::string_view run_metadata_tag(std::string_view tagged_run_metadata) {
  wire::Decoder decoder(tagged_run_metadata);
  std::string_view tag;
  for (wire::Field field; decoder.next(field);) {
    if (field.number == 1 && field.type == wire::WireType::bytes) tag = field.bytes;
  }
  return tag;
}

// Without a call for names of the usual lengths.
inline bool are_same(std::string_view left, std::string_view right) noexcept {
  constexpr size_t kWord = sizeof(uint64_t);
  const size_t size = left.size();
  if (size != right.size()) return false;
  if (size < kWord || size > 2 * kWord) return left == right;
  const auto differs = [&](size_t at) {
    uint64_t words[2];
    std::memcpy(&words[0], left.data() + at, kWord);
    std::memcpy(&words[1], right.data() + at, kWord);
    return words[0] ^ words[1];
  };
  return (differs(0) | differs(size - kWord)) == 0;
}

bool is_valid(std::string_view message) {
  wire::Decoder decoder(message);
  for (wire::Field field; decoder.next(field);) {
  }
  return decoder.ok();
}

}  // namespace

Logdir::Decoder::Decoder(Logdir& logdir, State& state, size_t file)
    : logdir_(logdir),
      state_(state),
      file_(*state.files[file]),
      ticket_(++state.ticket),
      foresees_(file_.records == 0 && (file == 0 || file_.file.size() >= kWorthForesight)),
      spare_rows_(file_.file.size() / kLeastBytesOfARow) {
  entry_.file = static_cast<uint32_t>(file);
  for (size_t i = 0; foresees_ && i < file; ++i) read_before_ += state.files[i]->file.offset();
}

// What happens with nearly every record of nearly every file stands here in one piece; the rest is left to others.
void Logdir::Decoder::take_plain(std::span<const PlainRecord> records, uint64_t offset) {
  reached_ = offset;
  double last_wall_time = file_.last_wall_time;
  for (const PlainRecord& record : records) {
    if (record.wall_time > last_wall_time && std::isfinite(record.wall_time)) last_wall_time = record.wall_time;
    Tag* const guess = last_ != nullptr ? last_->next : nullptr;
    const bool is_it =
        guess != nullptr && guess->info.source == TagSource::summary && are_same(guess->info.name, record.tag());
    if (is_it && guess->ticket == ticket_ && guess->info.is_scalar && !guess->scalars.full()) {
      last_ = guess;
      guess->scalars.push({record.step, record.wall_time, record.value});
    } else {
      take_plain(record, offset);
    }
    offset += record.bytes;
  }
  file_.last_wall_time = last_wall_time;
  count_records(records.size());
}

void Logdir::Decoder::take_plain(const PlainRecord& record, uint64_t offset) {
  ValueView value;
  value.kind = ValueKind::simple_value;
  Tag& tag = tag_for(TagSource::summary, record.tag(), &value);
  entry_ = {
      record.step, record.wall_time, offset + kRecordHeaderBytes, record.bytes - kRecordOverheadBytes, entry_.file, 0};
  if (is_of_other_kind(tag, value)) return;
  if (tag.info.is_scalar) {
    add_scalar(tag, record.value);
  } else {
    add_media(tag);
  }
}

bool Logdir::Decoder::take_part(const DecodedPart& part) {
  bool only_scalars = true;
  part.each([&](const DecodedPart::Series& series) {
    const uint32_t number = find(TagSource::summary, series.tag, keyed_hash(series.tag, kSummarySalt));
    if (number != TagTable::kNone && state_.tags[number].info.present && !state_.tags[number].info.is_scalar) {
      only_scalars = false;
    }
  });
  if (!only_scalars) return false;
  reached_ = part.begin();
  ValueView plain;
  plain.kind = ValueKind::simple_value;
  part.each([&](const DecodedPart::Series& series) {
    Tag& tag = state_.tags[number_of(TagSource::summary, series.tag, &plain)];
    History<Columns>& history = tag.scalars;
    if (tag.ticket != ticket_ && !prepare(tag, history, series.points.step(0))) return;
    if (!history.has_room(series.points.size())) make_room(history, series.points.size());
    history.append(series.points, series.first_fall);
  });
  note_time(part.last_wall_time());
  count_records(part.records());
  return true;
}

bool Logdir::Decoder::take(std::string_view payload, uint64_t offset) {
  reached_ = offset;
  count_records(1);
  entry_.offset = offset;
  entry_.length = payload.size();
  entry_.value_index = 0;
  EventView event;
  if (!decode_event(payload, event)) return false;
  entry_.step = event.step;
  entry_.wall_time = event.wall_time;
  note_time(event.wall_time);
  switch (event.kind) {
    case EventKind::summary:
      // A summary is taken as a whole or not at all.
      if (!is_valid(event.payload)) return false;
      take_summary(event.payload);
      break;
    case EventKind::graph_def:
      add_media(tag_for(TagSource::graph, kGraphTag));
      break;
    case EventKind::meta_graph_def:
      add_media(tag_for(TagSource::meta_graph, kGraphTag));
      break;
    case EventKind::tagged_run_metadata:
      add_media(tag_for(TagSource::run_metadata, run_metadata_tag(event.payload)));
      break;
    case EventKind::session_log:
      if (session_status(event.payload) == SessionStatus::start) take_restart(event.step);
      break;
    default:
      break;
  }
  return true;
}

void Logdir::Decoder::count_records(uint64_t records) {
  const uint64_t before = file_.records;
  file_.records += records;
  if (before / kPublishEvery != file_.records / kPublishEvery) publish();
}

// One wall time that is no time, or far off, must not decide for good which files are later ones.
void Logdir::Decoder::note_time(double wall_time) noexcept {
  if (wall_time > file_.last_wall_time && std::isfinite(wall_time)) file_.last_wall_time = wall_time;
}

void Logdir::Decoder::take_summary(std::string_view summary) {
  wire::Decoder decoder(summary);
  for (wire::Field field; decoder.next(field);) {
    if (field.number != 1 || field.type != wire::WireType::bytes) continue;
    ValueView value;
    // Hyperparameters are metadata alone.
    if (decode_value(field.bytes, value) && (value.kind != ValueKind::nothing || !value.metadata.empty())) {
      take_value(value);
    }
    ++entry_.value_index;
  }
}

void Logdir::Decoder::take_value(const ValueView& value) {
  Tag& tag = tag_for(TagSource::summary, value.tag, &value);
  if (is_of_other_kind(tag, value)) return;
  if (!tag.info.is_scalar) {
    add_media(tag);
  } else if (const auto number = number_in(value)) {
    add_scalar(tag, *number);
  }
}

// The first value of a tag decides what it holds. Values of another kind are noted, and left out.
bool Logdir::Decoder::is_of_other_kind(Tag& tag, const ValueView& value) {
  const TagInfo& info = tag.info;
  if (value.kind == info.kind && (value.metadata.empty() || value.metadata == info.metadata)) return false;
  const ValueKind first = data_kind(info.kind, info.metadata);
  const ValueKind second = data_kind(value.kind, value.metadata);
  if (first == second || first == ValueKind::nothing || second == ValueKind::nothing) return false;
  if (info.other_kind == ValueKind::nothing) {
    const std::lock_guard lock(logdir_.mutex_);
    tag.info.other_kind = second;
  }
  return true;
}

void Logdir::Decoder::take_restart(int64_t step) {
  while (!restarts_.empty() && restarts_.back().step >= step) restarts_.pop_back();
  ticket_ = ++state_.ticket;
  restarts_.push_back({ticket_, step});
}

void Logdir::Decoder::add_scalar(Tag& tag, double value) {
  add<Columns>(tag, tag.scalars, {entry_.step, entry_.wall_time, value});
}

void Logdir::Decoder::add_media(Tag& tag) {
  if (!tag.media) {
    auto media = std::make_unique<History<MediaRows>>();
    const std::lock_guard lock(logdir_.mutex_);
    tag.media = std::move(media);
  }
  add<MediaRows>(tag, *tag.media, entry_);
}

template <typename Rows>
void Logdir::Decoder::add(Tag& tag, History<Rows>& history, const typename Rows::Row& row) {
  if (tag.ticket != ticket_ && !prepare(tag, history, row.step)) return;
  if (history.full()) make_room(history, 1);
  history.push(row);
}

// Tags mostly go on as they began: where that can be told from the part of the file that was read, room is made once.
template <typename Rows>
void Logdir::Decoder::make_room(History<Rows>& history, size_t more) {
  const size_t rows = history.filled();
  size_t foreseen = 0;
  if (foresees_ && reached_ > 0 && rows >= kRowsThatTell) {
    const double all = static_cast<double>(rows) * static_cast<double>(read_before_ + file_.file.size()) /
                       static_cast<double>(read_before_ + reached_);
    foreseen = static_cast<size_t>(std::min(all * kForesight, static_cast<double>(rows) * kBoldestForesight));
    if (foreseen > rows + spare_rows_) foreseen = 0;
    spare_rows_ -= foreseen > rows ? foreseen - rows : 0;
  }
  history.grow(std::max(foreseen, rows + more), logdir_.mutex_);
}

template <typename Rows>
bool Logdir::Decoder::prepare(Tag& tag, History<Rows>& history, int64_t step) {
  if (!history.is_sound()) {
    state_.to_rebuild = true;
    return false;
  }
  catch_up(tag, history);
  history.open(state_.attempt, file_.stream, step);
  tag.ticket = ticket_;
  put_in_batch(tag);
  if (!tag.is_to_merge && history.must_merge()) {
    tag.is_to_merge = true;
    state_.to_merge.push_back(&tag);
  }
  return true;
}

// What sessions that started again since the tag's last point mean for it.
template <typename Rows>
void Logdir::Decoder::catch_up(Tag& tag, History<Rows>& history) {
  const auto lowest = std::upper_bound(restarts_.begin(), restarts_.end(), tag.ticket,
                                       [](uint64_t ticket, const Restart& restart) { return ticket < restart.ticket; });
  if (lowest == restarts_.end()) return;
  if (!history.is_sound() || !history.restart(state_.attempt, file_.stream, lowest->step)) {
    state_.to_rebuild = true;
    return;
  }
  put_in_batch(tag);
}

void Logdir::Decoder::put_in_batch(Tag& tag) {
  if (tag.in_batch) return;
  tag.in_batch = true;
  batch_.push_back(&tag);
}

void Logdir::Decoder::finish() {
  if (!restarts_.empty()) {
    for (Tag& tag : state_.tags) {
      catch_up(tag, tag.scalars);
      if (tag.media) catch_up(tag, *tag.media);
      tag.ticket = ticket_;
    }
  }
  publish();
}

void Logdir::Decoder::publish() {
  ticket_ = ++state_.ticket;  // tags that get more points come into the next batch
  for (Tag* tag : batch_) {
    tag->scalars.supersede(logdir_.mutex_);
    if (tag->media) tag->media->supersede(logdir_.mutex_);
  }
  for (size_t begin = 0; begin < batch_.size(); begin += kTagsPerLock) {
    const std::lock_guard lock(logdir_.mutex_);
    for (size_t i = begin; i < std::min(begin + kTagsPerLock, batch_.size()); ++i) {
      batch_[i]->scalars.show();
      if (batch_[i]->media) batch_[i]->media->show();
      batch_[i]->in_batch = false;
    }
  }
  batch_.clear();
  const std::lock_guard lock(logdir_.mutex_);
  file_.publish();
  if (state_.visible) ++logdir_.version_;
}

Logdir::Tag& Logdir::Decoder::tag_for(TagSource source, std::string_view name, const ValueView* first_value) {
  // Training loops log their tags in the same order again and again.
  Tag* const guess = last_ != nullptr ? last_->next : nullptr;
  if (guess != nullptr && guess->info.source == source && guess->info.name == name) return *(last_ = guess);
  Tag* const found = &state_.tags[number_of(source, name, first_value)];
  if (last_ != nullptr) last_->next = found;
  return *(last_ = found);
}

uint32_t Logdir::Decoder::find(TagSource source, std::string_view name, uint64_t hash) const {
  return state_.numbers.find(hash, [&](uint32_t candidate) {
    const TagInfo& info = state_.tags[candidate].info;
    return info.source == source && info.name == name;
  });
}

uint32_t Logdir::Decoder::number_of(TagSource source, std::string_view name, const ValueView* first_value) {
  const uint64_t hash = keyed_hash(name, static_cast<uint64_t>(source));
  uint32_t number = find(source, name, hash);
  if (number != TagTable::kNone && state_.tags[number].info.present) return number;

  TagInfo info;
  info.name = std::string(name);
  info.source = source;
  info.present = true;
  if (first_value != nullptr) {
    info.kind = first_value->kind;
    info.is_scalar = is_scalar(*first_value);
    info.metadata = std::string(first_value->metadata);
  }
  const std::lock_guard lock(logdir_.mutex_);
  if (number != TagTable::kNone) {
    // Was there before the logdir was read anew. Who has listed tags since must list them again.
    state_.tags[number].info = std::move(info);
    if (state_.visible) ++state_.generation;
    return number;
  }
  number = static_cast<uint32_t>(state_.tags.size());
  state_.tags.emplace_back().info = std::move(info);
  state_.numbers.add(hash, number);
  return number;
}

}  // namespace aboard
