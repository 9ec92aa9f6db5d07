// SPDX-License-Identifier: Apache-2.0
#include "logdir.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <functional>
#include <iterator>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "event_decoder.hpp"
#include "logdir_index.hpp"
#include "logdir_state.hpp"
#include "parts_ahead.hpp"
#include "reading_crew.hpp"
#include "wire.hpp"

namespace aboard {
namespace {

constexpr size_t kTagsPerLock = 4096;    // readers never wait for more
constexpr size_t kVanishedTags = 10000;  // whose numbers are kept in any case
constexpr uint64_t kTrialParts = 4;      // after which files that others are of no help with are read alone
constexpr uint64_t kQuickRebuildBytes = 1 << 20;
constexpr int kRestAfterRebuild = 10;  // times as long as it took

// Files whose first wall time is no time come first, in the order of their names.
double time_for_order(double wall_time) noexcept {
  return std::isfinite(wall_time) ? wall_time : -std::numeric_limits<double>::infinity();
}

std::string_view bytes_field(std::string_view message, uint32_t number) {
  wire::Decoder decoder(message);
  std::string_view found;
  for (wire::Field field; decoder.next(field);) {
    if (field.number == number && field.type == wire::WireType::bytes) found = field.bytes;
  }
  return found;
}

Columns newest_of_each_step(const ColumnView& all) {
  const auto steps = all.steps();
  std::vector<size_t> order(all.size);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return steps[a] < steps[b]; });
  Columns sorted;
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t at = order[i];
    // The last of equal steps is the newest.
    if (i + 1 < order.size() && steps[at] == steps[order[i + 1]]) continue;
    sorted.append({steps[at], all.wall_times()[at], all.values()[at]});
  }
  sorted.settle();
  return sorted;
}

template <typename Rows>
TagStatus status_of(size_t index, const History<Rows>& history) {
  return {index, history.shown(), history.superseded().size(), history.last_step(), history.last_wall_time()};
}

// What `look` finds, when it is sound. To find out may take long and is done without the lock, in which time it may
// have come to lie elsewhere. Nothing, and no lock, when it is damaged.
template <typename Look>
std::optional<ColumnView> sound(std::unique_lock<std::mutex>& lock, const Look& look) {
  while (true) {
    ColumnView found = look();
    if (found.block == nullptr || found.block->is_known_to_be_sound()) return found;
    lock.unlock();
    if (!found.block->is_sound()) return std::nullopt;
    lock.lock();
  }
}

}  // namespace

Logdir::Logdir(std::string path, std::string index)
    : path_(std::move(path)), index_path_(std::move(index)), state_(std::make_shared<State>()) {
  state_->visible = true;
}

bool Logdir::refresh(const std::vector<std::string>& names, ReadingCrew* crew) {
  const std::lock_guard refreshing(refresh_mutex_);
  crew_ = crew;
  names_ = names;
  const bool was_tried = std::exchange(index_was_tried_, true);
  if (!was_tried && !index_path_.empty()) load_index();
  wants_absent_ = would_read_absent(false, names);
  if (wants_absent_) return false;
  Outcome outcome{.holds = !state_->broken, .changed = true};
  if (outcome.holds) {
    state_->broken = true;  // should something be thrown
    outcome = follow(*state_, names);
    state_->broken = !outcome.holds;
  }
  if (!outcome.holds) {
    wants_absent_ = would_read_absent(true, names);
    if (wants_absent_) return false;
    replace_state(rebuild(names));
  }
  if (outcome.changed) {
    count_unsaved(*state_);
    ++version_;
  }
  return outcome.changed;
}

void Logdir::set_absent(std::vector<AbsentPart> parts) {
  const std::lock_guard refreshing(refresh_mutex_);
  absent_ = std::move(parts);
}

std::unique_ptr<Logdir::File> Logdir::new_file(const std::string& path, const std::string& name) const {
  auto file = std::make_unique<File>(path, name);
  const auto part = std::ranges::find(absent_, name, &AbsentPart::name);
  if (part != absent_.end()) file->file.trust(part->hollow);
  return file;
}

// Zeros stand where a part is absent: they must never be taken for content.
bool Logdir::would_read_absent(bool from_the_start, const std::vector<std::string>& names) const {
  return std::ranges::any_of(absent_, [&](const AbsentPart& part) {
    if (part.end == 0 || std::ranges::find(names, part.name) == names.end()) return false;
    const auto known = std::ranges::find_if(state_->files, [&](const auto& file) { return file->name == part.name; });
    return from_the_start || known == state_->files.end() || (*known)->file.offset() < part.end;
  });
}

void Logdir::replace_state(std::shared_ptr<State> fresh) {
  saved_bytes_ = 0;
  const std::lock_guard lock(mutex_);
  fresh->generation = state_->generation + 1;
  fresh->visible = true;
  state_ = std::move(fresh);
}

// For who finds damage in columns of the index: it waits, and then looks at what was read from the event files.
void Logdir::read_anew(const State* damaged) const {
  // To them it is a question like any other, and every logdir is made to be changed.
  auto& self = const_cast<Logdir&>(*this);
  const std::lock_guard refreshing(self.refresh_mutex_);
  if (state_.get() != damaged) return;
  ::unlink(index_path_.c_str());
  self.crew_ = nullptr;
  self.wants_absent_ = would_read_absent(true, names_);
  auto fresh = wants_absent_ ? std::make_shared<State>() : self.rebuild(names_);
  fresh->broken = fresh->broken || wants_absent_;  // nothing is seen until all is there to be read
  self.replace_state(std::move(fresh));
  self.count_unsaved(*state_);
  ++self.version_;
}

void Logdir::load_index() {
  auto known = Index::load(path_, index_path_);
  if (known == nullptr) return;
  known->visible = true;
  {
    const std::lock_guard lock(mutex_);
    state_ = std::move(known);
  }
  uint64_t saved = 0;
  for (const auto& file : state_->files) saved += file->file.offset();
  saved_bytes_ = saved;
  ++version_;
}

int Logdir::save_index() {
  const std::lock_guard refreshing(refresh_mutex_);
  const auto failed = [](const auto& file) { return file->file.error() != 0; };
  // The next look at a file that could not be read may change everything.
  if (index_path_.empty() || state_->broken || unsaved_bytes_ == 0 || std::ranges::any_of(state_->files, failed)) {
    return 0;
  }
  // What came from another index may be damaged, and would be written with checksums that are right.
  if (!std::ranges::all_of(state_->tags, [](const Tag& tag) { return tag.scalars.is_sound(); })) {
    crew_ = nullptr;
    replace_state(rebuild(names_));
    count_unsaved(*state_);
    ++version_;
    if (state_->broken || std::ranges::any_of(state_->files, failed)) return 0;
  }
  std::vector<Index::Moved> moved;
  const int error = Index::save(*state_, path_, index_path_, moved);
  if (error != 0) return error;
  saved_bytes_ += unsaved_bytes_.exchange(0);
  // From here on the system may give up what nobody looks at.
  for (size_t begin = 0; begin < moved.size(); begin += kTagsPerLock) {
    const std::lock_guard lock(mutex_);
    for (size_t i = begin; i < std::min(begin + kTagsPerLock, moved.size()); ++i) {
      state_->tags[moved[i].tag].scalars.move_to(std::move(moved[i].rows), std::move(moved[i].superseded));
    }
  }
  return 0;
}

void Logdir::count_unsaved(const State& state) {
  uint64_t known = 0;
  for (const auto& file : state.files) known += file->file.offset();
  unsaved_bytes_ = known > saved_bytes_ ? known - saved_bytes_ : 0;
}

// Where clocks disagree, a file may look like one of an earlier attempt and go on for hours: reading all again for its
// sake must not be all that is done.
bool Logdir::may_rebuild() const {
  return rebuild_bytes_ < kQuickRebuildBytes ||
         std::chrono::steady_clock::now() - rebuilt_at_ > kRestAfterRebuild * rebuild_took_;
}

std::shared_ptr<Logdir::State> Logdir::rebuild(const std::vector<std::string>& names) {
  const auto started = std::chrono::steady_clock::now();
  const uint64_t read_before = bytes_read();
  auto fresh = std::make_shared<State>();
  const auto vanished = static_cast<size_t>(
      std::count_if(state_->tags.begin(), state_->tags.end(), [](const Tag& tag) { return !tag.info.present; }));
  if (vanished <= state_->tags.size() - vanished + kVanishedTags) {
    for (const Tag& tag : state_->tags) {
      TagInfo& info = fresh->tags.emplace_back().info;
      info.name = tag.info.name;
      info.source = tag.info.source;
      fresh->numbers.add(keyed_hash(info.name, static_cast<uint64_t>(info.source)),
                         static_cast<uint32_t>(fresh->tags.size() - 1));
    }
  }
  // A file that changed again meanwhile is noticed by the next refresh.
  fresh->broken = !follow(*fresh, names).holds;
  rebuilt_at_ = std::chrono::steady_clock::now();
  rebuild_took_ = rebuilt_at_ - started;
  rebuild_bytes_ = bytes_read() - read_before;
  return fresh;
}

Logdir::Outcome Logdir::follow(State& state, const std::vector<std::string>& names) {
  Outcome outcome;
  std::unordered_set<std::string_view> listed(names.begin(), names.end());
  std::vector<size_t> grown;
  for (size_t i = 0; i < state.files.size(); ++i) {
    File& file = *state.files[i];
    const int error = file.file.error();
    const FileChange change = listed.erase(file.name) > 0 ? file.file.look() : FileChange::gone;
    if (change == FileChange::replaced || change == FileChange::gone) return {.holds = false, .changed = true};
    if (!state.is_open(i) && (file.is_late || (change == FileChange::grown && file.file.has_more()))) {
      // What a file of an earlier attempt still gets belongs in front of what is there, or the attempts are one; and so
      // does what a segment gets behind which there are others.
      if (may_rebuild()) return {.holds = false, .changed = true};
      file.is_late = true;
    } else if (change == FileChange::grown) {
      grown.push_back(i);
    } else if (file.file.error() != error) {
      outcome.changed = true;
      const std::lock_guard lock(mutex_);
      file.publish();
    }
  }

  // What waited for its first event, and what is new.
  std::vector<std::unique_ptr<File>> candidates, still_waiting;
  for (auto& file : state.waiting) {
    // What readers see of a waiting file never changes: another one takes its place.
    if (listed.erase(file->name) > 0) {
      candidates.push_back(std::make_unique<File>(*file));
    } else {
      outcome.changed = true;
    }
  }
  for (const auto& name : names) {
    if (listed.erase(name) == 0) continue;
    candidates.push_back(new_file(path_ + "/" + name, name));
    outcome.changed = true;
  }
  std::vector<std::unique_ptr<File>> ready;
  for (auto& file : candidates) {
    const FileStatus before = file->published;
    const FileChange change = file->file.look();
    if (change == FileChange::replaced) {
      file = new_file(file->file.path(), file->name);
      file->file.look();
    }
    const auto first =
        change == FileChange::grown || change == FileChange::replaced ? file->file.next_wall_time() : std::nullopt;
    if (first) file->first_wall_time = time_for_order(*first);
    // A segment that came too late waits though its first event is known.
    const bool is_ready = first || (change == FileChange::none && file->has_begun());
    file->attempt = state.attempt;
    file->publish();
    outcome.changed = outcome.changed || file->published.bytes != before.bytes ||
                      file->published.error != before.error ||
                      file->published.damage.skipped_bytes != before.damage.skipped_bytes;
    (is_ready ? ready : still_waiting).push_back(std::move(file));
  }
  // A segment that belongs in front of what is there, or whose attempt is over.
  const auto is_late = [&](const auto& file) {
    const Segments* segments = state.segments_beside(*file);
    return segments != nullptr &&
           (segment_of(file->name)->number < segments->last_number || !state.is_open(segments->last));
  };
  if (std::ranges::any_of(ready, is_late)) {
    if (may_rebuild()) return {.holds = false, .changed = true};
    const auto late = std::stable_partition(ready.begin(), ready.end(), std::not_fn(is_late));
    std::move(late, ready.end(), std::back_inserter(still_waiting));
    ready.erase(late, ready.end());
  }
  {
    const std::lock_guard lock(mutex_);
    state.waiting = std::move(still_waiting);
  }
  put_in_order(state, ready);

  bool loaded = false;
  for (const size_t file : grown) loaded = read_file(state, file) || loaded;
  for (auto& file : ready) {
    if (state.segments_beside(*file) != nullptr) {
      // Goes on with the file whose segment it is, whatever its times are.
    } else if (state.files.empty() || file->first_wall_time > state.last_wall_time) {
      begin_attempt(state, *file);
    } else if (file->first_wall_time < state.attempt_begin) {
      return {.holds = false, .changed = true};  // it belongs in front of the newest attempt
    }
    file->attempt = state.attempt;
    file->publish();
    {
      const std::lock_guard lock(mutex_);
      state.take(std::move(file));
    }
    loaded = read_file(state, state.files.size() - 1) || loaded;
  }
  merge(state);
  if (loaded) settle(state);
  outcome.changed = outcome.changed || !grown.empty() || !ready.empty();
  outcome.holds = !state.to_rebuild;
  return outcome;
}

// Files come in the order of their first wall times; segments of one file one behind the other at the place of the
// first, and at the beginning when earlier ones are there already.
void Logdir::put_in_order(const State& state, std::vector<std::unique_ptr<File>>& files) {
  struct Place {
    double time;
    std::string_view name;  // of what was cut, for segments
    int64_t number;         // -1 for what was not cut, which does not come between segments of the same name
  };
  std::unordered_map<std::string_view, std::pair<uint32_t, double>> firsts;
  for (const auto& file : files) {
    const auto segment = segment_of(file->name);
    if (!segment) continue;
    const double time = state.segments_beside(*file) ? -std::numeric_limits<double>::infinity() : file->first_wall_time;
    const auto place = std::pair(segment->number, time);
    auto& first = firsts.try_emplace(segment->file, place).first->second;
    first = std::min(first, place);
  }
  const auto place_of = [&](const std::unique_ptr<File>& file) -> Place {
    const auto segment = segment_of(file->name);
    if (!segment) return {file->first_wall_time, file->name, -1};
    return {firsts.at(segment->file).second, segment->file, segment->number};
  };
  const auto is_before = [](const Place& a, const Place& b) {
    return std::tie(a.time, a.name, a.number) < std::tie(b.time, b.name, b.number);
  };
  std::ranges::stable_sort(files, is_before, place_of);
}

// Files that overlap in time with the attempt join it.
void Logdir::begin_attempt(State& state, const File& first) {
  merge(state);
  if (!state.files.empty()) ++state.attempt;
  state.attempt_begin = first.first_wall_time;
}

bool Logdir::read_file(State& state, size_t number) {
  File& file = *state.files[number];
  const uint64_t before = file.file.offset();
  const bool is_new = file.records == 0;
  Decoder decoder(*this, state, number);
  if (crew_ != nullptr && crew_->can_share(file.file.tail_bytes())) {
    read_with_others(file, decoder);
  } else {
    file.file.read(decoder);
  }
  decoder.finish();
  const uint64_t read = file.file.offset() - before;
  bytes_read_ += is_new ? file.file.offset() : read;
  // An event without a time counts as one at the beginning.
  state.last_wall_time = std::max({state.last_wall_time, file.last_wall_time, file.first_wall_time});
  return is_new || read > before;
}

// Gives the same as reading it alone: a part that another thread has decoded is only taken where reading has come
// exactly to its beginning, and what is left of it is read as always.
void Logdir::read_with_others(File& file, Decoder& decoder) {
  const ReadingState& reading = file.file.state();
  const uint64_t part_bytes = crew_->part_bytes();
  PartsAhead parts(file.file.path(), reading.device, reading.inode, reading.offset, reading.size, part_bytes,
                   2 * crew_->most_threads());
  ReadingCrew::Offer offer(*crew_, parts);
  uint64_t decoded = 0, taken = 0;
  for (size_t number = 0; number < parts.count(); ++number) {
    const uint64_t limit = parts.limit(number);
    if (auto part = parts.take(number)) {
      decoded += part_bytes;
      if (part->begin() == file.file.offset() && !file.file.is_searching() && decoder.take_part(*part)) {
        taken += part->end() - part->begin();
        file.file.pass_over(part->end());
      }
      parts.give_back(std::move(part));
      if (decoded >= kTrialParts * part_bytes && taken < decoded / 2) parts.stop();
    }
    if (file.file.offset() < limit && !file.file.read(decoder, limit)) return;
    offer.renew();
  }
  file.file.read(decoder);
}

// Brings in what files that write at the same time have added.
void Logdir::merge(State& state) {
  for (Tag* tag : state.to_merge) {
    const std::lock_guard lock(mutex_);
    if (tag->scalars.must_merge()) tag->scalars.merge();
    if (tag->media && tag->media->must_merge()) tag->media->merge();
    tag->is_to_merge = false;
  }
  state.to_merge.clear();
}

// Gives back what columns that were read for the first time do not need.
void Logdir::settle(State& state) {
  for (size_t begin = 0; begin < state.tags.size(); begin += kTagsPerLock) {
    const std::lock_guard lock(mutex_);
    for (size_t i = begin; i < std::min(begin + kTagsPerLock, state.tags.size()); ++i) {
      Tag& tag = state.tags[i];
      tag.scalars.settle();
      if (tag.media) tag.media->settle();
    }
  }
}

std::shared_ptr<const Logdir::State> Logdir::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

uint64_t Logdir::generation() const {
  const std::lock_guard lock(mutex_);
  return state_->generation;
}

std::vector<TagInfo> Logdir::tags(size_t from) const {
  const auto of = state();
  std::vector<TagInfo> infos;
  for (bool more = true; more;) {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < kTagsPerLock && from < of->tags.size(); ++i) infos.push_back(of->tags[from++].info);
    more = from < of->tags.size();
  }
  return infos;
}

std::vector<TagStatus> Logdir::tag_statuses() const {
  const auto of = state();
  std::vector<TagStatus> statuses;
  for (bool more = true; more;) {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < kTagsPerLock && statuses.size() < of->tags.size(); ++i) {
      const Tag& tag = of->tags[statuses.size()];
      statuses.push_back(tag.media ? status_of(statuses.size(), *tag.media) : status_of(statuses.size(), tag.scalars));
    }
    more = statuses.size() < of->tags.size();
  }
  return statuses;
}

std::optional<TagStatus> Logdir::tag_status(size_t number) const {
  const std::lock_guard lock(mutex_);
  const Tag* tag = state_->tag(number);
  if (tag == nullptr) return std::nullopt;
  return tag->media ? status_of(number, *tag->media) : status_of(number, tag->scalars);
}

ColumnView Logdir::scalars(size_t number, bool unique) const {
  const auto of = state();
  std::unique_lock lock(mutex_);
  const Tag* tag = of->tag(number);
  if (tag == nullptr) return {};
  const auto found = sound(lock, [&] { return tag->scalars.rows().view(tag->scalars.shown()); });
  if (!found) {
    read_anew(of.get());
    return scalars(number, unique);
  }
  const ColumnView& all = *found;
  const size_t shown = all.size;
  const uint64_t rewrites = tag->scalars.rewrites();
  if (!unique || tag->scalars.strictly_increasing()) return all;
  const auto cached = [&] { return tag->sorted && tag->sorted->rewrites == rewrites && tag->sorted->size == shown; };
  if (!cached()) {
    lock.unlock();  // sorting takes long
    auto sorted = std::make_unique<Tag::Sorted>(Tag::Sorted{rewrites, shown, newest_of_each_step(all)});
    ColumnView view = sorted->points.view();
    lock.lock();
    if (rewrites == tag->scalars.rewrites() && shown == tag->scalars.shown()) tag->sorted = std::move(sorted);
    return view;
  }
  return tag->sorted->points.view();
}

ColumnView Logdir::superseded_scalars(size_t number) const {
  const auto of = state();
  std::unique_lock lock(mutex_);
  const Tag* tag = of->tag(number);
  if (tag == nullptr) return {};
  if (const auto found = sound(lock, [&] { return tag->scalars.superseded().view(); })) return *found;
  read_anew(of.get());
  return superseded_scalars(number);
}

std::vector<MediaEntry> Logdir::media(size_t number) const {
  const std::lock_guard lock(mutex_);
  const Tag* tag = state_->tag(number);
  if (tag == nullptr || !tag->media) return {};
  const auto rows = tag->media->rows().first(tag->media->shown());
  return {rows.begin(), rows.end()};
}

std::optional<std::string> Logdir::read_media(size_t number, const MediaEntry& entry) const {
  std::string path, name;
  TagSource source;
  {
    const std::lock_guard lock(mutex_);
    const Tag* tag = state_->tag(number);
    if (tag == nullptr || entry.file >= state_->files.size()) return std::nullopt;
    path = state_->files[entry.file]->file.path();
    source = tag->info.source;
    name = tag->info.name;
  }
  const auto record = read_record_at(path, entry.offset, entry.length);
  if (!record) return std::nullopt;
  EventView event;
  // A valid record may be another one than that which was read there before.
  if (!decode_event(*record, event) || event.step != entry.step ||
      std::bit_cast<uint64_t>(event.wall_time) != std::bit_cast<uint64_t>(entry.wall_time)) {
    return std::nullopt;
  }
  if (source == TagSource::run_metadata && event.kind == EventKind::tagged_run_metadata) {
    return bytes_field(event.payload, 1) == name ? std::optional(std::string(bytes_field(event.payload, 2)))
                                                 : std::nullopt;
  }
  const auto expected = source == TagSource::graph        ? EventKind::graph_def
                        : source == TagSource::meta_graph ? EventKind::meta_graph_def
                                                          : EventKind::summary;
  if (event.kind != expected) return std::nullopt;
  if (source != TagSource::summary) return std::string(event.payload);
  std::vector<std::string_view> values;
  ValueView value;
  if (!decode_summary(event.payload, values) || entry.value_index >= values.size() ||
      !decode_value(values[entry.value_index], value) || value.tag != name) {
    return std::nullopt;
  }
  return std::string(values[entry.value_index]);
}

std::vector<FileStatus> Logdir::files() const {
  const std::lock_guard lock(mutex_);
  std::vector<FileStatus> statuses;
  for (const auto& file : state_->files) statuses.push_back(file->published);
  for (const auto& file : state_->waiting) statuses.push_back(file->published);
  return statuses;
}

ReadingSummary Logdir::summary() const {
  ReadingSummary summary;
  const std::lock_guard lock(mutex_);
  for (const auto* files : {&state_->files, &state_->waiting}) {
    for (const auto& file : *files) {
      const FileStatus& status = file->published;
      summary.bytes_read += status.bytes_read;
      if (status.records > 0) summary.last_wall_time = std::max(summary.last_wall_time, status.last_wall_time);
      summary.failed = summary.failed || status.error != 0;
    }
  }
  return summary;
}

std::optional<double> Logdir::first_wall_time() const {
  const std::lock_guard lock(mutex_);
  std::optional<double> first;
  for (size_t i = 0; i < state_->files.size(); ++i) {
    const FileStatus& status = state_->files[i]->published;
    const bool begins = state_->files[i]->stream == i;
    if (begins && std::isfinite(status.first_wall_time) && (!first || status.first_wall_time < *first)) {
      first = status.first_wall_time;
    }
  }
  return first;
}

}  // namespace aboard
