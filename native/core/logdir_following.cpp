// SPDX-License-Identifier: Apache-2.0
// How a logdir follows its files: which of them form an attempt, in which order they are read, and when all is read
// anew.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <limits>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "event_decoder.hpp"
#include "logdir.hpp"
#include "logdir_state.hpp"
#include "parts_ahead.hpp"
#include "reading_crew.hpp"

namespace aboard {
namespace {

constexpr size_t kVanishedTags = 10000;  // whose numbers are kept in any case
constexpr uint64_t kTrialParts = 4;      // after which files that others are of no help with are read alone
constexpr uint64_t kQuickRebuildBytes = 1 << 20;
constexpr int kRestAfterRebuild = 10;  // times as long as it took

// Files whose first wall time is no time come first, in the order of their names.
double time_for_order(double wall_time) noexcept {
  return std::isfinite(wall_time) ? wall_time : -std::numeric_limits<double>::infinity();
}

}  // namespace

// Where clocks disagree, a file may look like one of an earlier attempt and go on for hours: reading all again for its
// sake must not be all that is done.
bool Logdir::may_rebuild() const {
  return rebuild_bytes_ < kQuickRebuildBytes ||
         std::chrono::steady_clock::now() - rebuilt_at_ > kRestAfterRebuild * rebuild_took_;
}

std::shared_ptr<Logdir::State> Logdir::rebuild(const std::vector<std::string>& names, ReadingCrew* crew) {
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
  fresh->broken = !follow(*fresh, names, crew).holds;
  rebuilt_at_ = std::chrono::steady_clock::now();
  rebuild_took_ = rebuilt_at_ - started;
  rebuild_bytes_ = bytes_read() - read_before;
  return fresh;
}

Logdir::Outcome Logdir::follow(State& state, const std::vector<std::string>& names, ReadingCrew* crew) {
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
    candidates.push_back(new_file(path_.child(name), name));
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
    state.waiting.swap(still_waiting);
  }
  put_in_order(state, ready);

  bool loaded = false;
  for (const size_t file : grown) loaded = read_file(state, file, crew) || loaded;
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
    loaded = read_file(state, state.files.size() - 1, crew) || loaded;
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

bool Logdir::read_file(State& state, size_t number, ReadingCrew* crew) {
  File& file = *state.files[number];
  const uint64_t before = file.file.offset();
  const bool is_new = file.records == 0;
  Decoder decoder(*this, state, number);
  if (crew != nullptr && crew->can_share(file.file.tail_bytes())) {
    read_with_others(file, decoder, *crew);
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
void Logdir::read_with_others(File& file, Decoder& decoder, ReadingCrew& crew) {
  const ReadingState& reading = file.file.state();
  const uint64_t part_bytes = crew.part_bytes();
  PartsAhead parts(file.file.path(), reading.device, reading.inode, reading.offset, reading.size, part_bytes,
                   2 * crew.most_threads());
  ReadingCrew::Offer offer(crew, parts);
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
    if (tag->scalars.must_merge()) tag->scalars.merge(mutex_);
    if (tag->media && tag->media->must_merge()) tag->media->merge(mutex_);
    tag->is_to_merge = false;
  }
  state.to_merge.clear();
}

// Gives back what columns that were read for the first time do not need.
void Logdir::settle(State& state) {
  for (Tag& tag : state.tags) {
    tag.scalars.settle(mutex_);
    if (tag.media) tag.media->settle(mutex_);
  }
}

}  // namespace aboard
