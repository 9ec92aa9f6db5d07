// SPDX-License-Identifier: Apache-2.0
// The folders with event files below some roots, found and followed: which came, which may have something new, which
// went.
//
// Who follows them looks like this: `watch`, then again and again `wait` and `take`. `look` and `take` until nothing is
// being looked at are a complete look at everything, whatever notifications say.
//
// Where the kernel tells of changes (local file systems), next to nothing is done while nothing happens: a sweep over
// everything in a thousandth of the time makes good for what was not told. Elsewhere, folders that changed lately are
// looked at in every cycle, and the rest in turn as a tenth of the time allows. Either way a folder is listed again
// only when its times changed.
//
// Any function may be called from any thread; `take` hands each change to one caller.
//
// A child of a fork goes on by itself, with watches of its own, and takes nothing from its parent. When another thread
// of the parent was just at work, the child begins again: all folders that were found are gone, and found once more.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "folder_listing.hpp"
#include "folder_watches.hpp"
#include "fork_safety.hpp"
#include "look_schedule.hpp"

namespace aboard {

class LogTree : private ForkAware {
 public:
  using Id = uint64_t;  // of a folder, for as long as it is there; never used again

  struct Options {
    bool notifications = true;
    std::optional<std::string> within;   // a folder at or above all roots, below which no link is followed
    std::optional<size_t> most_watches;  // a fair share of what the system grants, unless told
    std::optional<Reach> (*reach)(const std::string& path) = &reach_of;
    double relist_seconds = 30;          // how long a listing is trusted where times may mean nothing
    double distrust_seconds = 1;         // between looks at folders that the kernel tells of
    std::function<double()> clock = {};  // seconds; by default those of the machine since the tree was made
  };

  struct Found {
    Id id;
    size_t root;
    std::string name;  // relative to the root, which is "."
    std::string path;
  };
  struct ToRead {
    Id id;
    std::vector<std::string> files;
    uint64_t bytes;  // of all of them
  };
  struct Changes {
    std::vector<Id> gone;
    std::vector<Found> found;
    std::vector<ToRead> to_read;  // those found, and those that may have something new
  };

  // Each root is a folder or a single event file, which may come to be later.
  explicit LogTree(std::vector<std::string> roots) : LogTree(std::move(roots), Options()) {}
  LogTree(std::vector<std::string> roots, Options options);
  ~LogTree();
  LogTree(const LogTree&) = delete;
  LogTree& operator=(const LogTree&) = delete;

  // Asks for a look at everything; `take` and `wait` do it.
  void look();
  // Whether some of it is still to be done.
  bool is_looking();
  // What changed since the last call. Before, it goes on looking for `seconds` at the most, if there is reason to.
  Changes take(double seconds);

  // Has the kernel tell of changes from now on, where it can; includes a look at everything.
  void watch();
  // Waits until there is something to take: true. False after `longest` seconds, and when `wake` is called. Folders
  // that the kernel tells nothing about are looked at every `pause` seconds; what is written to all the time is told
  // five times a second, or every `pause` seconds when that is more often.
  bool wait(double pause, double longest);
  // Ends a `wait`, or the next one.
  void wake() noexcept { watches_.wake(); }

  // That what was told to be read could not all be: it is told again after a second, two, four … an hour, and with
  // every complete look.
  void look_again(Id id);

  struct Counts {
    size_t folders;
    size_t watched;
  };
  Counts counts();

 private:
  using Slot = uint32_t;
  static constexpr Slot kNone = UINT32_MAX;

  struct File {
    std::string name;
    uint64_t mark = 0;  // 0 until it was looked at
    uint64_t bytes = 0;
    bool is_plain = false;
  };
  struct Folder {
    std::string name;  // a root's is its path
    std::vector<File> files;
    std::vector<Slot> children;  // by name
    FileIdentity identity;
    uint64_t mark = 0;  // of the folder when it was listed
    double mark_seen_at = 0, listed_at = 0;
    double changed_at = -1e9;   // when something here was last seen to change
    double reported_at = -1e9;  // when it was last told
    double behind_at = 0;       // when it is told again because it could not all be read; 0: it is not
    Slot slot = kNone;
    Slot parent = kNone;
    Slot next_of_watch = kNone;  // folders that are one, reached in several ways, share a watch
    uint32_t root = 0;
    uint32_t serial = 0;
    int watch = -1;
    Reach reach = Reach::local;
    uint8_t tries = 0;  // to read what could not be read
    bool is_there : 1 = false;
    bool is_below_link : 1 = false;
    bool is_counted : 1 = false;  // in `ways_`
    bool is_listed : 1 = false;
    bool is_settled : 1 = false;  // a change after it was listed must show in its times
    bool is_file : 1 = false;     // a root that is one
    bool has_links : 1 = false;   // among its files: nobody tells when what they lead to is written to
    bool is_known : 1 = false;    // was told
    bool is_pending : 1 = false;  // is to be told
    bool is_behind : 1 = false;   // could not all be read when it was last told
    bool is_due : 1 = false;      // is to be told in a moment, because it was written to
    uint8_t turns = 0;            // in which it is, one bit each
  };
  // Folders of one sort that are looked at in turn.
  struct Turns {
    uint8_t bit;
    bool polled;  // or else notified
    bool hot;     // only those that changed lately
    TimeShare share;
    LookRing ring = {};
  };
  struct Visit {
    Id id;
    bool deep = false;    // and everything below
    bool relist = false;  // whatever its times say
  };

  void before_fork() noexcept override { known_mutex_.lock(); }
  void after_fork_in_parent() noexcept override { known_mutex_.unlock(); }
  void after_fork_in_child() noexcept override;
  // Every function begins with it.
  std::unique_lock<ForkableMutex> lock();
  void go_on_in_child();
  void abandon_all();
  void add_roots();
  double now() const;
  static Id id_of(const Folder& folder) noexcept { return Id{folder.serial} << 32 | folder.slot; }
  Folder* find(Id id);
  std::string path_of(const Folder& folder) const;
  ReadPath read_path(std::string path) const;
  std::string name_of(const Folder& folder) const;
  static bool is_root(const Folder& folder) noexcept { return folder.parent == kNone; }

  // What is there (log_tree.cpp).
  Found found(const Folder& folder) const;
  Reach reach_at(const FileIdentity& identity, const std::string& path);
  void request_look();
  void work(double seconds);
  void visit(const Visit& what);
  void visit_root_file(Folder& root, const PathStatus& status);
  bool adopt(Folder& folder, const std::string& path, const FileIdentity& identity);
  bool may_enter(Folder& folder);
  // The children that are to be visited.
  std::vector<Slot> list(Folder& folder, const std::string& path, bool deep);
  std::vector<Slot> take_entries(Folder& folder, std::vector<FolderEntry>& entries);
  void settle(Folder& folder, const PathStatus& status);
  void look_at_files(Folder& folder, const std::string& path);
  std::vector<Slot>::iterator child_place(Folder& folder, const std::string& name);
  Slot child_named(Folder& folder, const std::string& name);
  Folder& new_folder();
  Slot add_child(Folder& parent, std::string name, bool is_link);
  void remove(Slot slot);
  void empty(Folder& folder);
  void leave(Folder& folder);
  void report(Folder& folder);
  void note_change(Folder& folder);
  void file_away(Folder& folder);

  // When it is looked at (log_tree_following.cpp).
  bool watch_folder(Folder& folder, const std::string& path);
  void unwatch(Folder& folder);
  bool drain();
  void on_event(const FolderEvent& event);
  void on_event(Folder& folder, const FolderEvent& event);
  void examine_entry(Folder& folder, const std::string& name);
  void touch(Folder& folder);
  void run_due();
  void look_in_turn(Turns& turns);
  void take_turn(const Turns& turns, Folder& folder);
  void add_to(Turns& turns, Folder& folder);
  static bool is_polled(const Folder& folder) noexcept { return folder.watch < 0 || folder.has_links; }
  bool stays_hot(const Folder& folder) const;
  double next_due() const;
  bool has_changes() const noexcept { return !gone_.empty() || !pending_.empty(); }

  const Options options_;
  const size_t most_watches_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  const std::vector<std::string> root_paths_;
  FolderWatches watches_;  // `sleep` and `wake` without the lock

  // Lock order: mutex_, known_mutex_. A fork takes known_mutex_ only.
  std::mutex known_mutex_;
  std::set<Id> known_;          // folders that were found and are not gone, for who takes changes
  uint32_t latest_serial_ = 0;  // of all that ever were in `known_`

  ForkableMutex mutex_;  // guards everything below; held while the file system is read
  enum class Inherited : uint8_t { nothing, whole, half_changed } inherited_ = Inherited::nothing;  // from a parent
  uint32_t first_serial_ = 0;
  std::deque<Folder> folders_;
  std::vector<Slot> free_;
  std::vector<Slot> roots_;
  std::vector<Visit> ahead_;  // the next one last
  bool looking_ = false;
  std::vector<Id> pending_, gone_;
  // Ways through links into a folder: by root, device and inode.
  std::map<std::tuple<uint32_t, uint64_t, uint64_t>, uint32_t> ways_;

  bool following_ = false, watching_ = false;
  std::unordered_map<int, Slot> first_of_watch_;
  std::unordered_map<uint64_t, Reach> reach_of_device_;
  double pause_ = 0.5;
  double drain_after_ = 0, look_after_overflow_ = -1;
  double last_look_began_ = 0, last_look_took_ = 0;
  double next_polled_look_ = 0, next_notified_look_ = 0;
  DueLooks due_;
  Turns hot_polled_{1, true, true, TimeShare(0.3)};
  Turns polled_{2, true, false, TimeShare(0.1)};
  Turns hot_notified_{4, false, true, TimeShare(0.01)};
  Turns notified_{8, false, false, TimeShare(0.002)};
};

}  // namespace aboard
