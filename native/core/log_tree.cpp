// SPDX-License-Identifier: Apache-2.0
#include "log_tree.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace aboard {
namespace {

// Links may make one folder appear in several places, and few links can make it very many.
constexpr uint32_t kMostWaysIntoAFolder = 64;
// No file system counts time in longer steps: a change may leave the times of a folder as they were for so long.
constexpr double kLongestTick = 2.1;
constexpr double kTrustedClocks = 600;  // how far the clocks of machines may be apart
constexpr double kRecent = 300;

double wall_now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

double seconds_since(int64_t nanoseconds) { return wall_now() - static_cast<double>(nanoseconds) * 1e-9; }

// Whether the error means that there is nothing for us, rather than that it cannot be said now.
bool means_gone(int error) noexcept {
  return error == ENOENT || error == ENOTDIR || error == EACCES || error == EPERM || error == ELOOP || error == EXDEV ||
         error == ENAMETOOLONG;
}

}  // namespace

LogTree::LogTree(std::vector<std::string> roots, Options options)
    : options_(std::move(options)),
      most_watches_(options_.most_watches ? *options_.most_watches : FolderWatches::fair_share()),
      root_paths_(std::move(roots)) {
  add_roots();
  enroll_for_fork(*this);
}

LogTree::~LogTree() {
  retire_from_fork(*this);
  if (inherited_ == Inherited::half_changed) abandon_all();
}

void LogTree::add_roots() {
  for (const std::string& path : root_paths_) {
    Folder& root = new_folder();
    root.name = path;
    root.root = static_cast<uint32_t>(roots_.size());
    roots_.push_back(root.slot);
  }
}

double LogTree::now() const {
  if (options_.clock) return options_.clock();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

LogTree::Folder* LogTree::find(Id id) {
  const auto slot = static_cast<Slot>(id);
  if (slot >= folders_.size()) return nullptr;
  Folder& folder = folders_[slot];
  return folder.is_there && folder.serial == id >> 32 ? &folder : nullptr;
}

std::string LogTree::path_of(const Folder& folder) const {
  std::vector<const Folder*> way{&folder};
  while (!is_root(*way.back())) way.push_back(&folders_[way.back()->parent]);
  std::string path = way.back()->name;
  for (size_t i = way.size() - 1; i-- > 0;) {
    if (!path.ends_with('/')) path += '/';
    path += way[i]->name;
  }
  return path;
}

ReadPath LogTree::read_path(std::string path) const {
  return options_.within ? ReadPath(std::move(path), *options_.within) : ReadPath(std::move(path));
}

std::string LogTree::name_of(const Folder& folder) const {
  std::vector<const Folder*> way;
  for (const Folder* at = &folder; !is_root(*at); at = &folders_[at->parent]) way.push_back(at);
  if (way.empty()) return ".";
  std::string name;
  for (size_t i = way.size(); i-- > 0;) {
    name += way[i]->name;
    if (i > 0) name += '/';
  }
  return name;
}

void LogTree::look() {
  const auto locked = lock();
  request_look();
}

bool LogTree::is_looking() {
  const auto locked = lock();
  return looking_;
}

LogTree::Changes LogTree::take(double seconds) {
  const auto locked = lock();
  work(seconds);
  Changes changes;
  changes.gone = gone_;
  for (const Id id : pending_) {
    const Folder* folder = find(id);
    if (!folder) continue;
    if (folder->files.empty()) {
      if (folder->is_known) changes.gone.push_back(id);
      continue;
    }
    if (!folder->is_known) changes.found.push_back(found(*folder));
    ToRead& to_read = changes.to_read.emplace_back(ToRead{id, {}, 0});
    for (const File& file : folder->files) {
      to_read.files.push_back(file.name);
      to_read.bytes += file.bytes;
    }
  }
  std::set<Id> added;
  for (const Found& logdir : changes.found) added.insert(logdir.id);
  // Memory may have run out before, but not from here on: either all of it is handed out, or none.
  for (const Id id : pending_) {
    Folder* folder = find(id);
    if (!folder) continue;
    folder->is_pending = folder->is_behind = false;
    folder->is_known = !folder->files.empty();
    folder->reported_at = now();
  }
  pending_.clear();
  gone_.clear();
  const std::lock_guard known_lock(known_mutex_);
  for (const Id id : changes.gone) known_.erase(id);
  for (const Id id : added) latest_serial_ = std::max(latest_serial_, static_cast<uint32_t>(id >> 32));
  known_.merge(added);
  return changes;
}

LogTree::Found LogTree::found(const Folder& folder) const {
  std::string path = path_of(folder);
  if (folder.is_file) {
    const size_t slash = path.rfind('/');
    path = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  }
  return {id_of(folder), folder.root, name_of(folder), std::move(path)};
}

void LogTree::look_again(Id id) {
  constexpr uint8_t kMostDoublings = 12;
  constexpr double kLongestSeconds = 3600;
  const auto locked = lock();
  Folder* folder = find(id);
  if (!folder) return;
  const double at = now() + std::min(static_cast<double>(1 << folder->tries), kLongestSeconds);
  if (folder->tries < kMostDoublings) ++folder->tries;
  const bool is_later = folder->behind_at > 0 && folder->behind_at <= at;
  folder->is_behind = true;
  if (!following_ || is_later) return;
  folder->behind_at = at;
  due_.push({at, id, LookReason::behind});
}

LogTree::Counts LogTree::counts() {
  const auto locked = lock();
  return {folders_.size() - free_.size(), first_of_watch_.size()};
}

void LogTree::request_look() {
  for (size_t i = roots_.size(); i-- > 0;) ahead_.push_back({id_of(folders_[roots_[i]]), true, false});
  looking_ = true;
  last_look_began_ = now();
}

void LogTree::work(double seconds) {
  const double end = now() + seconds;
  while (!ahead_.empty()) {
    const Visit next = ahead_.back();
    ahead_.pop_back();
    visit(next);
    if (now() >= end) break;
  }
  if (looking_ && ahead_.empty()) {
    looking_ = false;
    last_look_took_ = now() - last_look_began_;
  }
}

void LogTree::visit(const Visit& what) {
  Folder* folder = find(what.id);
  if (!folder) return;
  const std::string path = path_of(*folder);
  const PathStatus status = status_of(read_path(path), folder->reach == Reach::remote && folder->is_listed);
  if (status.error != 0 && !means_gone(status.error)) return file_away(*folder);
  if (status.error == 0 && status.kind == PathKind::file && is_root(*folder)) {
    visit_root_file(*folder, status);
    if (what.deep && folder->is_behind) report(*folder);
    return file_away(*folder);
  }
  if (status.error != 0 || status.kind != PathKind::folder) {
    empty(*folder);
    return file_away(*folder);
  }

  bool relist = adopt(*folder, path, status.identity) || what.relist;
  if (!may_enter(*folder)) {
    empty(*folder);
    return file_away(*folder);
  }
  // A watch comes before the listing, so that nothing happens between them.
  if (watch_folder(*folder, path)) relist = true;
  const bool is_old = folder->reach == Reach::remote && now() - folder->listed_at > options_.relist_seconds;
  std::vector<Slot> to_visit;
  if (relist || !folder->is_listed || !folder->is_settled || status.mark != folder->mark || is_old) {
    to_visit = list(*folder, path, what.deep);
  }
  look_at_files(*folder, path);
  if (what.deep) {
    if (folder->is_behind) report(*folder);
    to_visit = folder->children;
  }
  for (size_t i = to_visit.size(); i-- > 0;) ahead_.push_back({id_of(folders_[to_visit[i]]), what.deep, false});
  file_away(*folder);
}

void LogTree::visit_root_file(Folder& root, const PathStatus& status) {
  if (!root.is_file) {
    empty(root);
    root.is_file = true;
    root.files.push_back({root.name.substr(root.name.rfind('/') + 1), 0, 0, true});
    root.reach = reach_at(status.identity, root.name);
    report(root);
  }
  const std::string path = root.name.substr(0, root.name.size() - root.files[0].name.size());
  root.identity = status.identity;
  look_at_files(root, path.empty() ? "." : path);
}

// Whether it is another folder than before.
bool LogTree::adopt(Folder& folder, const std::string& path, const FileIdentity& identity) {
  if (folder.is_file) empty(folder);
  if (folder.is_listed && folder.identity == identity) return false;
  leave(folder);
  folder.identity = identity;
  folder.reach = reach_at(identity, path);
  return true;
}

Reach LogTree::reach_at(const FileIdentity& identity, const std::string& path) {
  const auto known = reach_of_device_.find(identity.device);
  if (known != reach_of_device_.end()) return known->second;
  const auto reach = options_.reach(path);
  if (reach) reach_of_device_.emplace(identity.device, *reach);
  return reach.value_or(Reach::remote);
}

// No folder is entered twice on one way down, so a loop of links ends, nor in very many ways.
bool LogTree::may_enter(Folder& folder) {
  for (Slot above = folder.parent; above != kNone; above = folders_[above].parent) {
    if (folders_[above].identity == folder.identity) return false;
  }
  if (!folder.is_below_link || folder.is_counted) return true;
  uint32_t& ways = ways_[{folder.root, folder.identity.device, folder.identity.inode}];
  if (ways >= kMostWaysIntoAFolder) return false;
  ++ways;
  folder.is_counted = true;
  return true;
}

std::vector<LogTree::Slot> LogTree::list(Folder& folder, const std::string& path, bool deep) {
  FolderListing listing = list_folder(read_path(path));
  if (listing.folder.error != 0) {
    if (means_gone(listing.folder.error)) empty(folder);
    folder.mark = 0;  // to be tried again
    return {};
  }
  if (listing.folder.identity != folder.identity) {
    // Replaced a moment ago.
    ahead_.push_back({id_of(folder), deep, true});
    return {};
  }
  settle(folder, listing.folder);
  return take_entries(folder, listing.entries);
}

void LogTree::settle(Folder& folder, const PathStatus& status) {
  const double time = now();
  folder.listed_at = time;
  if (!folder.is_listed || folder.mark != status.mark) {
    folder.mark = status.mark;
    folder.mark_seen_at = time;
    if (folder.is_listed || seconds_since(status.modified_ns) < kRecent) note_change(folder);
  }
  folder.is_listed = true;
  const double sure_after = folder.reach == Reach::remote ? kTrustedClocks : kLongestTick;
  folder.is_settled =
      folder.watch >= 0 || time - folder.mark_seen_at > kLongestTick || seconds_since(status.changed_ns) > sure_after;
}

std::vector<LogTree::Slot> LogTree::take_entries(Folder& folder, std::vector<FolderEntry>& entries) {
  std::vector<Slot> before = std::exchange(folder.children, {}), to_visit, vanished;
  std::vector<File> files_before = std::exchange(folder.files, {});
  auto child = before.begin();
  auto file = files_before.begin();
  bool files_differ = false;
  folder.has_links = false;
  for (FolderEntry& entry : entries) {
    if (entry.kind == PathKind::folder) {
      for (; child != before.end() && folders_[*child].name < entry.name; ++child) vanished.push_back(*child);
      if (child == before.end() || folders_[*child].name != entry.name) {
        to_visit.push_back(add_child(folder, std::move(entry.name), entry.is_link));
        continue;
      }
      folder.children.push_back(*child);
      // What a link leads to may be another folder now, and so may what is called the same.
      if (entry.is_link || folders_[*child].identity.inode != entry.inode) to_visit.push_back(*child);
      ++child;
    } else {
      for (; file != files_before.end() && file->name < entry.name; ++file) files_differ = true;
      if (file != files_before.end() && file->name == entry.name) {
        folder.files.push_back(std::move(*file++));
      } else {
        folder.files.push_back({std::move(entry.name)});
        files_differ = true;
      }
      folder.files.back().is_plain = entry.kind == PathKind::file;
      folder.has_links = folder.has_links || entry.is_link;
    }
  }
  vanished.insert(vanished.end(), child, before.end());
  for (const Slot gone : vanished) remove(gone);
  if (files_differ || file != files_before.end()) report(folder);
  folder.files.shrink_to_fit();
  folder.children.shrink_to_fit();
  return to_visit;
}

void LogTree::look_at_files(Folder& folder, const std::string& path) {
  bool changed = false;
  for (File& file : folder.files) {
    const PathStatus status =
        status_of(read_path(joined_path(path, file.name)), folder.reach == Reach::remote && file.is_plain);
    if (status.mark == file.mark) continue;
    if (file.mark != 0 || (status.error == 0 && seconds_since(status.modified_ns) < kRecent)) note_change(folder);
    file.mark = status.mark;
    file.bytes = status.error == 0 ? status.bytes : 0;
    changed = true;
  }
  if (!changed) return;
  folder.tries = 0;
  report(folder);
}

std::vector<LogTree::Slot>::iterator LogTree::child_place(Folder& folder, const std::string& name) {
  return std::lower_bound(folder.children.begin(), folder.children.end(), name,
                          [&](Slot child, const std::string& wanted) { return folders_[child].name < wanted; });
}

LogTree::Slot LogTree::child_named(Folder& folder, const std::string& name) {
  const auto place = child_place(folder, name);
  return place != folder.children.end() && folders_[*place].name == name ? *place : kNone;
}

LogTree::Folder& LogTree::new_folder() {
  if (free_.empty()) {
    const auto slot = static_cast<Slot>(folders_.size());
    Folder& added = folders_.emplace_back();
    added.slot = slot;
    added.serial = first_serial_;
    free_.push_back(slot);
  }
  Folder& folder = folders_[free_.back()];
  free_.pop_back();
  folder.is_there = true;
  return folder;
}

LogTree::Slot LogTree::add_child(Folder& parent, std::string name, bool is_link) {
  const auto place = child_place(parent, name) - parent.children.begin();
  Folder& child = new_folder();
  child.name = std::move(name);
  child.parent = parent.slot;
  child.root = parent.root;
  child.is_below_link = parent.is_below_link || is_link;
  parent.children.insert(parent.children.begin() + place, child.slot);
  return child.slot;
}

// The folder and everything below it; its parent must have let go of it.
void LogTree::remove(Slot slot) {
  std::vector<Slot> to_remove{slot};
  while (!to_remove.empty()) {
    Folder& folder = folders_[to_remove.back()];
    to_remove.pop_back();
    to_remove.insert(to_remove.end(), folder.children.begin(), folder.children.end());
    leave(folder);
    if (folder.is_known) gone_.push_back(id_of(folder));
    const uint32_t serial = folder.serial + 1;
    const Slot place = folder.slot;
    folder = Folder();
    folder.serial = serial;
    folder.slot = place;
    free_.push_back(place);
  }
}

// Nothing is there, or nothing for us.
void LogTree::empty(Folder& folder) {
  for (const Slot child : std::exchange(folder.children, {})) remove(child);
  if (!folder.files.empty()) report(folder);
  folder.files = {};
  folder.mark = 0;
  folder.is_listed = folder.is_file = folder.has_links = false;
  leave(folder);
}

void LogTree::leave(Folder& folder) {
  unwatch(folder);
  if (!folder.is_counted) return;
  folder.is_counted = false;
  const auto ways = ways_.find({folder.root, folder.identity.device, folder.identity.inode});
  if (--ways->second == 0) ways_.erase(ways);
}

void LogTree::report(Folder& folder) {
  if (folder.is_pending) return;
  folder.is_pending = true;
  pending_.push_back(id_of(folder));
}

void LogTree::note_change(Folder& folder) {
  folder.changed_at = now();
  file_away(folder);
}

}  // namespace aboard
