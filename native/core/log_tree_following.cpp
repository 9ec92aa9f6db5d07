// SPDX-License-Identifier: Apache-2.0
// When the folders of a tree are looked at: what the kernel tells, what is due, and what is looked at in turn.
#include <algorithm>
#include <limits>
#include <utility>

#include "file_names.hpp"
#include "log_tree.hpp"

namespace aboard {
namespace {

constexpr double kTellEvery = 0.2;    // of what is written to all the time
constexpr double kGatherFor = 0.02;   // events that belong together: a file is made, written and closed
constexpr double kDrainEvery = 0.05;  // of events, when they never end
constexpr double kSlice = 0.05;       // of a long look, between two chances to take what it found
constexpr double kHotFor = 300;       // seconds after a change
constexpr double kShortestPause = 1e-3;
constexpr int kRestAfterOverflow = 10;  // times as long as a complete look takes

}  // namespace

void LogTree::watch() {
  const auto locked = lock();
  following_ = true;
  next_notified_look_ = now() + options_.distrust_seconds;
  watching_ = options_.notifications;
  request_look();
}

bool LogTree::wait(double pause, double longest) {
  const double end = now() + longest;
  while (true) {
    double until;
    int descriptor;
    {
      const auto locked = lock();
      pause_ = pause;
      if (now() >= drain_after_ && drain()) drain_after_ = now() + std::min(kDrainEvery, pause_);
      run_due();
      work(kSlice);
      if (has_changes()) return true;
      until = ahead_.empty() ? next_due() : now();
      // Writers that never stop are listened to now and then.
      const bool listens = now() >= drain_after_;
      if (!listens) until = std::min(until, drain_after_);
      descriptor = listens ? watches_.descriptor() : -1;
    }
    const auto slept = watches_.sleep(std::min(until, end) - now(), descriptor);
    if (slept == FolderWatches::Slept::until_woken || now() >= end) return false;
    if (slept == FolderWatches::Slept::until_told) {
      const auto locked = lock();
      drain_after_ = now() + std::min(kGatherFor, pause_);
    }
  }
}

bool LogTree::drain() {
  return watches_.drain([this](const FolderEvent& event) { on_event(event); });
}

void LogTree::on_event(const FolderEvent& event) {
  if (event.kind == FolderEvent::Kind::overflow) {
    if (look_after_overflow_ < 0) look_after_overflow_ = last_look_began_ + kRestAfterOverflow * last_look_took_;
    return;
  }
  const auto first = first_of_watch_.find(event.watch);
  if (first == first_of_watch_.end()) return;
  // Handling an event may take folders away.
  std::vector<Id> concerned;
  for (Slot slot = first->second; slot != kNone; slot = folders_[slot].next_of_watch) {
    concerned.push_back(id_of(folders_[slot]));
  }
  for (const Id id : concerned) {
    if (Folder* folder = find(id)) on_event(*folder, event);
  }
  if (event.kind == FolderEvent::Kind::self) reach_of_device_.clear();  // what was mounted may be no more
}

void LogTree::on_event(Folder& folder, const FolderEvent& event) {
  using enum FolderEvent::Kind;
  const std::string name(event.name);
  switch (event.kind) {
    case written:
      if (!event.is_folder && is_event_file(name)) touch(folder);
      break;
    case entry:
      examine_entry(folder, name);
      break;
    case attributes:
      if (name.empty()) {
        ahead_.push_back({id_of(folder), false, true});
      } else if (const Slot child = child_named(folder, name); child != kNone) {
        ahead_.push_back({id_of(folders_[child]), false, true});
      } else if (is_event_file(name)) {
        touch(folder);
      }
      break;
    case ended:
      unwatch(folder);
      [[fallthrough]];
    case self:
      ahead_.push_back({id_of(folder), false, true});
      // Who else would tell that it is gone.
      if (!is_root(folder) && is_polled(folders_[folder.parent])) ahead_.push_back({id_of(folders_[folder.parent])});
      break;
    case overflow:
      break;
  }
}

// Looks at what is there now, so that the order of events means nothing.
void LogTree::examine_entry(Folder& folder, const std::string& name) {
  const auto file = std::lower_bound(folder.files.begin(), folder.files.end(), name,
                                     [](const File& at, const std::string& wanted) { return at.name < wanted; });
  const bool is_known_file = file != folder.files.end() && file->name == name;
  const Slot child = child_named(folder, name);
  const auto entry = entry_of(read_path(path_of(folder)), name);
  if (child != kNone && (!entry || entry->kind != PathKind::folder)) {
    folder.children.erase(child_place(folder, name));
    remove(child);
    note_change(folder);
  }
  if (is_known_file && (!entry || entry->kind == PathKind::folder)) {
    folder.files.erase(file);
    touch(folder);
  }
  if (!entry) return;
  if (entry->kind == PathKind::folder) {
    const Slot there = child != kNone ? child : add_child(folder, name, entry->is_link);
    ahead_.push_back({id_of(folders_[there]), false, true});
    note_change(folder);
    return;
  }
  if (!is_known_file) folder.files.insert(file, {name, 0, 0, entry->kind == PathKind::file});
  folder.has_links = folder.has_links || entry->is_link;
  touch(folder);
  file_away(folder);
}

// Something was written to the folder's files. Told at once, unless it was told a moment ago.
void LogTree::touch(Folder& folder) {
  note_change(folder);
  if (folder.is_pending || folder.is_due) return;
  const double at = folder.reported_at + std::min(kTellEvery, pause_);
  if (at > now()) {
    folder.is_due = true;
    due_.push({at, id_of(folder), LookReason::written});
    return;
  }
  look_at_files(folder, path_of(folder));
  report(folder);
}

bool LogTree::watch_folder(Folder& folder, const std::string& path) {
  if (!watching_ || folder.watch >= 0 || folder.reach != Reach::notified) return false;
  if (first_of_watch_.size() >= most_watches_) return false;
  const int watch = watches_.add(path, now());
  if (watch < 0) return false;
  const auto [first, is_new] = first_of_watch_.try_emplace(watch, folder.slot);
  folder.next_of_watch = is_new ? kNone : std::exchange(first->second, folder.slot);
  folder.watch = watch;
  return true;
}

void LogTree::unwatch(Folder& folder) {
  if (folder.watch < 0) return;
  const auto first = first_of_watch_.find(folder.watch);
  Slot* link = &first->second;
  while (*link != folder.slot) link = &folders_[*link].next_of_watch;
  *link = folder.next_of_watch;
  if (first->second == kNone) {
    watches_.remove(folder.watch);
    first_of_watch_.erase(first);
  }
  folder.next_of_watch = kNone;
  folder.watch = -1;
}

void LogTree::run_due() {
  while (!due_.empty() && due_.top().at <= now()) {
    const DueLook look = due_.top();
    due_.pop();
    Folder* folder = find(look.id);
    if (!folder) continue;
    if (look.reason == LookReason::written) {
      folder->is_due = false;
      look_at_files(*folder, path_of(*folder));
      report(*folder);
    } else if (folder->behind_at == look.at) {
      folder->behind_at = 0;
      if (folder->is_behind) report(*folder);
    }
  }
  if (look_after_overflow_ >= 0 && now() >= look_after_overflow_ && !looking_) {
    look_after_overflow_ = -1;
    request_look();
  }
  if (polled_.ring.size() > 0 && now() >= next_polled_look_) {
    const double began = now();
    look_in_turn(hot_polled_);
    look_in_turn(polled_);
    // Never more than half the time, however long it takes.
    next_polled_look_ = now() + std::max({pause_, now() - began, kShortestPause});
  }
  // For what nobody tells of: mapped memory, other names of the same file, file systems with a mind of their own.
  if (notified_.ring.size() > 0 && now() >= next_notified_look_) {
    look_in_turn(hot_notified_);
    look_in_turn(notified_);
    next_notified_look_ = now() + options_.distrust_seconds;
  }
}

// Those whose turn it is, as many as their share of the time allows, each once.
void LogTree::look_in_turn(Turns& turns) {
  const double began = now();
  const double allowed = turns.share.earn(began);
  for (size_t left = turns.ring.size(); left > 0 && now() - began < allowed && !watches_.is_woken(); --left) {
    Folder* folder = find(turns.ring.current());
    if (folder && is_polled(*folder) == turns.polled && (!turns.hot || stays_hot(*folder))) {
      turns.ring.pass();
      take_turn(turns, *folder);
    } else {
      if (folder) folder->turns &= static_cast<uint8_t>(~turns.bit);
      turns.ring.drop();
    }
  }
  turns.share.spend(now() - began);
}

void LogTree::take_turn(const Turns& turns, Folder& folder) {
  if (turns.polled) {
    // The hot ones have turns of their own.
    if (turns.hot || !stays_hot(folder)) visit({id_of(folder)});
  } else if (!turns.hot) {
    visit({id_of(folder)});
  } else if (!is_root(folder)) {
    look_at_files(folder, path_of(folder));
  } else if (status_of(read_path(folder.name)).identity != folder.identity) {
    // Nobody tells of a folder above the root that was moved.
    visit({id_of(folder)});
  }
}

bool LogTree::stays_hot(const Folder& folder) const {
  return is_root(folder) || (folder.is_listed && !folder.is_settled) || now() - folder.changed_at < kHotFor;
}

// Has its turn come where it belongs now. Who follows nothing would never clear these away.
void LogTree::file_away(Folder& folder) {
  if (!following_) return;
  const bool polled = is_polled(folder);
  add_to(polled ? polled_ : notified_, folder);
  if (stays_hot(folder)) add_to(polled ? hot_polled_ : hot_notified_, folder);
}

void LogTree::add_to(Turns& turns, Folder& folder) {
  if (folder.turns & turns.bit) return;
  folder.turns |= turns.bit;
  turns.ring.add(id_of(folder));
}

double LogTree::next_due() const {
  double next = std::numeric_limits<double>::infinity();
  if (!due_.empty()) next = due_.top().at;
  if (look_after_overflow_ >= 0) next = std::min(next, look_after_overflow_);
  if (polled_.ring.size() > 0) next = std::min(next, next_polled_look_);
  if (notified_.ring.size() > 0) next = std::min(next, next_notified_look_);
  return next;
}

}  // namespace aboard
