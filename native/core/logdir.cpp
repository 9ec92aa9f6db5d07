// SPDX-License-Identifier: Apache-2.0
#include "logdir.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "event_decoder.hpp"
#include "logdir_index.hpp"
#include "logdir_state.hpp"
#include "packed_logdir.hpp"
#include "reading_crew.hpp"
#include "wire.hpp"

namespace aboard {
namespace {

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
  return {index, history.shown(), history.superseded_shown(), history.last_step(), history.last_wall_time()};
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

Logdir::Logdir(ReadPath path, std::string index, PackedPlace packed)
    : path_(std::move(path)),
      index_path_(std::move(index)),
      packed_(std::move(packed)),
      state_(std::make_shared<State>()) {
  state_->visible = true;
  enroll_for_fork(*this);
}

Logdir::~Logdir() { retire_from_fork(*this); }

// What readers see is whole. A refresh that went on in the parent ends here, as if something had been thrown: the next
// one reads all again. Its state stays in memory for good, as what only the refresh saw may be half changed.
void Logdir::after_fork_in_child() noexcept {
  if (!refresh_mutex_.reclaim()) {
    state_->broken = true;
    static_cast<void>(new std::shared_ptr<State>(state_));
  }
  mutex_.unlock();
}

bool Logdir::refresh(const std::vector<std::string>& names, ReadingCrew* crew) {
  const std::lock_guard refreshing(refresh_mutex_);
  auto given = names;
  {
    const std::lock_guard lock(mutex_);
    names_.swap(given);
  }
  const bool was_tried = std::exchange(index_was_tried_, true);
  if (!was_tried) load_what_is_kept();
  wants_absent_ = would_read_absent(false, names);
  if (wants_absent_) return false;
  Outcome outcome{.holds = !state_->broken, .changed = true};
  if (outcome.holds) {
    state_->broken = true;  // should something be thrown
    outcome = follow(*state_, names, crew);
    state_->broken = !outcome.holds;
  }
  if (!outcome.holds) {
    wants_absent_ = would_read_absent(true, names);
    if (wants_absent_) return false;
    replace_state(rebuild(names, crew));
  }
  if (outcome.changed) {
    count_unsaved(*state_);
    ++version_;
  }
  return outcome.changed;
}

void Logdir::set_absent(std::vector<AbsentPart> parts) {
  const std::lock_guard refreshing(refresh_mutex_);
  const std::lock_guard lock(mutex_);
  absent_.swap(parts);
}

std::unique_ptr<Logdir::File> Logdir::new_file(const ReadPath& path, const std::string& name) const {
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
  state_.swap(fresh);  // readers do not wait until the old one is destroyed
}

// For who finds damage in columns of the index: it waits, and then looks at what was read from the event files.
void Logdir::read_anew(const State* damaged) const {
  // To them it is a question like any other, and every logdir is made to be changed.
  auto& self = const_cast<Logdir&>(*this);
  const std::lock_guard refreshing(self.refresh_mutex_);
  if (state_.get() == damaged) self.start_over();
}

void Logdir::start_over() {
  forget_what_is_kept();
  wants_absent_ = would_read_absent(true, names_);
  auto fresh = wants_absent_ ? std::make_shared<State>() : rebuild(names_, nullptr);
  fresh->broken = fresh->broken || wants_absent_;  // nothing is seen until all is there to be read
  replace_state(std::move(fresh));
  count_unsaved(*state_);
  ++version_;
}

// Where the packed form is not right, the event files are, and nobody need try it again.
void Logdir::forget_what_is_kept() const {
  if (!index_path_.empty()) ::unlink(index_path_.c_str());
  if (!packed_.path.empty()) ::unlink(packed_.path.c_str());
}

void Logdir::load_what_is_kept() {
  auto known = index_path_.empty() ? nullptr : Index::load(path_, index_path_);
  if (known == nullptr && !packed_.path.empty()) {
    known = Packed::load(path_, packed_);
    if (known == nullptr) forget_what_is_kept();
  }
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
    start_over();
    if (state_->broken || std::ranges::any_of(state_->files, failed)) return 0;
  }
  std::vector<Index::Moved> moved;
  const int error = Index::save(*state_, path_.text(), index_path_, moved);
  if (error != 0) return error;
  saved_bytes_ += unsaved_bytes_.exchange(0);
  // From here on the system may give up what nobody looks at.
  for (size_t begin = 0; begin < moved.size(); begin += kTagsPerLock) {
    const std::lock_guard lock(mutex_);
    for (size_t i = begin; i < std::min(begin + kTagsPerLock, moved.size()); ++i) {
      state_->tags[moved[i].tag].scalars.swap_rows(moved[i].rows, moved[i].superseded);
    }
  }
  return 0;
}

std::optional<std::string> Logdir::pack() {
  const std::lock_guard refreshing(refresh_mutex_);
  const bool is_whole = !state_->broken &&
                        std::ranges::all_of(state_->files, [](const auto& file) { return file->file.error() == 0; }) &&
                        std::ranges::all_of(state_->tags, [](const Tag& tag) { return tag.scalars.is_sound(); });
  return is_whole ? Packed::save(*state_) : std::nullopt;
}

void Logdir::count_unsaved(const State& state) {
  uint64_t known = 0;
  for (const auto& file : state.files) known += file->file.offset();
  unsaved_bytes_ = known > saved_bytes_ ? known - saved_bytes_ : 0;
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

std::vector<std::pair<size_t, ValueKind>> Logdir::other_kinds() const {
  const auto of = state();
  std::vector<std::pair<size_t, ValueKind>> found;
  size_t number = 0;
  for (bool more = true; more;) {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < kTagsPerLock && number < of->tags.size(); ++i, ++number) {
      const TagInfo& info = of->tags[number].info;
      if (info.present && info.other_kind != ValueKind::nothing) found.emplace_back(number, info.other_kind);
    }
    more = number < of->tags.size();
  }
  return found;
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
    if (rewrites == tag->scalars.rewrites() && shown == tag->scalars.shown()) tag->sorted.swap(sorted);
    lock.unlock();  // before what was kept until now is given back
    return view;
  }
  return tag->sorted->points.view();
}

ColumnView Logdir::superseded_scalars(size_t number) const {
  const auto of = state();
  std::unique_lock lock(mutex_);
  const Tag* tag = of->tag(number);
  if (tag == nullptr) return {};
  if (const auto found = sound(lock, [&] { return tag->scalars.superseded().view(tag->scalars.superseded_shown()); }))
    return *found;
  read_anew(of.get());
  return superseded_scalars(number);
}

std::vector<NamedSummary> Logdir::scalar_summaries() const {
  std::vector<std::pair<size_t, NamedSummary>> found;
  const auto of = state();
  size_t number = 0;
  for (bool more = true; more;) {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < kTagsPerLock && number < of->tags.size(); ++i, ++number) {
      const Tag& tag = of->tags[number];
      if (!tag.info.present || !tag.info.is_scalar || tag.scalars.shown() == 0) continue;
      found.emplace_back(number, NamedSummary{tag.info.name, {.count = tag.scalars.shown()}});
    }
    more = number < of->tags.size();
  }
  std::vector<NamedSummary> summaries;
  summaries.reserve(found.size());
  for (auto& [tag, named] : found) {
    const ColumnView points = scalars(tag, true);
    if (points.size == 0) continue;  // the files were read again meanwhile, without this tag
    named.summary = summarize(points, std::max(named.summary.count, points.size));
    summaries.push_back(std::move(named));
  }
  return summaries;
}

std::vector<MediaEntry> Logdir::media(size_t number) const {
  const std::lock_guard lock(mutex_);
  const Tag* tag = state_->tag(number);
  if (tag == nullptr || !tag->media) return {};
  const auto rows = tag->media->rows().first(tag->media->shown());
  return {rows.begin(), rows.end()};
}

std::optional<std::string> Logdir::read_media(size_t number, const MediaEntry& entry) const {
  std::optional<ReadPath> path;
  std::string name;
  TagSource source;
  {
    const std::lock_guard lock(mutex_);
    const Tag* tag = state_->tag(number);
    if (tag == nullptr || entry.file >= state_->files.size()) return std::nullopt;
    path = state_->files[entry.file]->file.path();
    source = tag->info.source;
    name = tag->info.name;
  }
  const auto record = read_record_at(*path, entry.offset, entry.length);
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
