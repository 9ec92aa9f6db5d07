// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <thread>

#include "log_support.hpp"
#include "log_tree.hpp"

namespace aboard::testing {
namespace {

using Files = std::vector<std::string>;
using Runs = std::map<std::string, Files>;  // by name

void append(const fs::path& path, std::string_view bytes = "x") {
  fs::create_directories(path.parent_path());
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0644);
  REQUIRE(file >= 0);
  CHECK_EQ(::write(file, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  ::close(file);
}

// What somebody knows who takes all changes, and how often each run was to be read.
struct Taker {
  LogTree tree;
  std::map<LogTree::Id, std::string> names = {};
  Runs runs = {};
  std::map<std::string, int> reports = {};
  std::map<std::string, uint64_t> bytes = {};

  void take(const LogTree::Changes& changes) {
    for (const auto id : changes.gone) {
      REQUIRE(names.contains(id));
      runs.erase(names[id]);
      names.erase(id);
    }
    for (const auto& found : changes.found) {
      CHECK(!names.contains(found.id));
      CHECK(!runs.contains(found.name));
      names[found.id] = found.name;
    }
    for (const auto& to_read : changes.to_read) {
      REQUIRE(names.contains(to_read.id));
      CHECK(!to_read.files.empty());
      const std::string& name = names[to_read.id];
      runs[name] = to_read.files;
      bytes[name] = to_read.bytes;
      ++reports[name];
    }
  }
  // A complete look; the runs that had to be read.
  std::set<std::string> look() {
    reports.clear();
    tree.look();
    do take(tree.take(0.01));
    while (tree.is_looking());
    std::set<std::string> read;
    for (const auto& [name, times] : reports) read.insert(name);
    return read;
  }
  // Follows until `condition` holds.
  bool follow_until(const std::function<bool()>& condition) {
    return eventually([&] {
      if (condition()) return true;
      tree.wait(0.05, 0.1);
      take(tree.take(0.05));
      return condition();
    });
  }
  // Follows once, without sleeping.
  void follow_once() {
    if (tree.wait(0.5, 0)) take(tree.take(1));
  }
  // From here on, changes are reports.
  void begin() {
    tree.watch();
    do take(tree.take(1));
    while (tree.is_looking());
  }
  bool shows(const Runs& expected) {
    const bool does = follow_until([&] { return runs == expected; });
    if (!does) {
      for (const auto& [name, files] : runs) {
        std::fprintf(stderr, "  shown: %s (%zu files)\n", name.c_str(), files.size());
      }
    }
    return does;
  }
  bool tells_of(const std::string& name) {
    const int before = reports[name];
    return follow_until([&] { return reports[name] > before; });
  }
};

// Ways to come to know of changes; everything must be seen in each.
struct Way {
  const char* name;
  LogTree::Options options;
};

std::optional<Reach> always_remote(const std::string&) { return Reach::remote; }

// A clock that stands still until it is moved.
struct HandClock {
  std::shared_ptr<double> seconds = std::make_shared<double>(0);
  double operator()() const { return *seconds; }
  void pass(double more) const { *seconds += more; }
};

// Without the sweep that makes good for what was not reports.
LogTree::Options only_told() {
  LogTree::Options options;
  options.distrust_seconds = 1e6;
  return options;
}

std::vector<Way> ways() {
  LogTree::Options polled, remote, few;
  polled.notifications = false;
  remote.reach = &always_remote;
  remote.relist_seconds = 0.2;
  few.most_watches = 2;
  return {{"notified", only_told()}, {"polled", polled}, {"remote", remote}, {"few watches", few}};
}

template <typename Test>
void in_each_way(const Test& test) {
  for (const Way& way : ways()) {
    const int before = check::failures.load();
    Folder folder;
    Taker taker{LogTree({folder.path().string()}, way.options)};
    taker.begin();
    test(folder.path(), taker);
    if (check::failures.load() > before) std::fprintf(stderr, "  this was when %s\n", way.name);
  }
}

// What a walk by the standard library finds; no links.
Runs truth(const fs::path& root) {
  Runs runs;
  if (!fs::exists(root)) return runs;
  const auto add = [&](const fs::path& path) {
    if (path.filename().string().find("tfevents") == std::string::npos) return;
    const std::string name = fs::relative(path.parent_path(), root).string();
    runs[name].push_back(path.filename().string());
  };
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (!entry.is_directory()) add(entry.path());
  }
  for (auto& [name, files] : runs) std::sort(files.begin(), files.end());
  return runs;
}

TEST(a_look_finds_folders_with_event_files_in_the_order_of_their_names) {
  Folder folder;
  for (const char* path : {"b/z.tfevents", "b/a.tfevents", "a/deep/er/x.tfevents.1", "a.b/tfevents", "none/readme",
                           "folder.tfevents/c.tfevents", "top.tfevents"}) {
    append(folder.path() / path);
  }
  LogTree tree({folder.path().string()});
  tree.look();
  const auto changes = tree.take(60);
  CHECK(!tree.is_looking());
  Files names, paths;
  for (const auto& found : changes.found) {
    names.push_back(found.name);
    paths.push_back(found.path);
    CHECK_EQ(found.root, size_t{0});
  }
  CHECK(names == Files({".", "a/deep/er", "a.b", "b", "folder.tfevents"}));
  CHECK_EQ(paths[0], folder.path().string());
  CHECK_EQ(paths[1], (folder.path() / "a/deep/er").string());
  REQUIRE(changes.to_read.size() == 5);
  CHECK(changes.to_read[3].files == Files({"a.tfevents", "z.tfevents"}));
  CHECK_EQ(changes.to_read[3].bytes, uint64_t{2});
  CHECK(tree.take(60).to_read.empty());
}

TEST(a_long_look_hands_over_what_it_found_so_far) {
  Folder folder;
  for (int i = 0; i < 50; ++i) append(folder.path() / std::to_string(i) / "a.tfevents");
  Taker taker{LogTree({folder.path().string()})};
  taker.tree.look();
  size_t parts = 0;
  for (; taker.tree.is_looking(); ++parts) taker.take(taker.tree.take(0));
  CHECK(parts > 40);
  CHECK(taker.runs == truth(folder.path()));
}

// Faster than the clock of the file system ticks.
TEST(looks_in_quick_succession_miss_nothing) {
  Folder folder;
  Taker taker{LogTree({folder.path().string()})};
  taker.look();
  for (int i = 0; i < 200; ++i) {
    const std::string run = "run" + std::to_string(i % 7);
    append(folder.path() / run / (std::to_string(i) + ".tfevents"));
    CHECK(taker.look().contains(run));
    append(folder.path() / run / (std::to_string(i) + ".tfevents"));
    CHECK(taker.look() == std::set{run});
    CHECK(taker.look().empty());
    if (i % 3 == 0) fs::remove_all(folder.path() / run);
    taker.look();
    CHECK(taker.runs == truth(folder.path()));
  }
}

TEST(what_has_vanished_is_gone_and_may_come_back) {
  Folder folder;
  const fs::path root = folder.path() / "later";
  Taker taker{LogTree({root.string()})};
  CHECK(taker.look().empty());
  append(root / "a/x.tfevents");
  append(root / "b/x.tfevents");
  CHECK(taker.look() == std::set<std::string>({"a", "b"}));
  fs::rename(root, folder.path() / "aside");
  CHECK(taker.look().empty());
  CHECK(taker.runs.empty());
  fs::rename(folder.path() / "aside", root);
  fs::rename(root / "b", root / "c");
  CHECK(taker.look() == std::set<std::string>({"a", "c"}));
  fs::remove(root / "a/x.tfevents");
  CHECK(taker.look().empty());
  CHECK(taker.runs == truth(root));
}

TEST(a_root_may_be_a_file_and_become_a_folder) {
  Folder folder;
  const fs::path root = folder.path() / "any name";
  append(root, "123");
  append(folder.path() / "other.tfevents");
  LogTree tree({root.string()});
  tree.look();
  auto changes = tree.take(60);
  REQUIRE(changes.found.size() == 1);
  CHECK_EQ(changes.found[0].path, folder.path().string());
  CHECK_EQ(changes.found[0].name, ".");
  CHECK(changes.to_read[0].files == Files({"any name"}));
  CHECK_EQ(changes.to_read[0].bytes, uint64_t{3});
  append(root);
  tree.look();
  CHECK_EQ(tree.take(60).to_read.size(), size_t{1});
  fs::remove(root);
  append(root / "x.tfevents");
  tree.look();
  changes = tree.take(60);
  REQUIRE(changes.to_read.size() == 1);
  CHECK(changes.to_read[0].files == Files({"x.tfevents"}));
}

TEST(a_relative_root_and_several_roots) {
  Folder folder;
  append(folder.path() / "x.tfevents");
  append(folder.path() / "a/x.tfevents");
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  LogTree tree({"x.tfevents", "a", "a/", "missing"});
  tree.look();
  const auto changes = tree.take(60);
  fs::current_path(before);
  REQUIRE(changes.found.size() == 3);
  CHECK_EQ(changes.found[0].path, ".");
  CHECK_EQ(changes.found[1].path, "a");
  CHECK_EQ(changes.found[2].root, size_t{2});
}

TEST(links_are_followed_loops_end_and_ways_are_counted) {
  Folder folder;
  append(folder.path() / "real/a.tfevents");
  fs::create_symlink(folder.path(), folder.path() / "real/up");
  fs::create_symlink("real", folder.path() / "link");
  fs::create_symlink("nothing", folder.path() / "dangling");
  fs::create_symlink("ring", folder.path() / "ring");
  Taker taker{LogTree({folder.path().string()})};
  CHECK(taker.look() == std::set<std::string>({"link", "real"}));
  // A link that leads elsewhere now.
  append(folder.path() / "elsewhere/sub/b.tfevents");
  fs::remove(folder.path() / "link");
  fs::create_symlink("elsewhere", folder.path() / "link");
  taker.look();
  CHECK(taker.runs ==
        Runs({{"elsewhere/sub", {"b.tfevents"}}, {"link/sub", {"b.tfevents"}}, {"real", {"a.tfevents"}}}));

  Folder many;
  for (int level = 0; level < 20; ++level) {
    fs::create_directory(many.path() / ("f" + std::to_string(level)));
    if (level == 0) continue;
    for (const char* link : {"a", "b"}) {
      fs::create_symlink(many.path() / ("f" + std::to_string(level)),
                         many.path() / ("f" + std::to_string(level - 1)) / link);
    }
  }
  append(many.path() / "f19/x.tfevents");
  Taker lost{LogTree({(many.path() / "f0").string()})};
  const auto first = lost.look();
  CHECK(!first.empty() && first.size() <= 64);
  CHECK(lost.look().empty());
  // Ways that are gone make room for others.
  fs::remove(many.path() / "f0/a");
  lost.look();
  CHECK_EQ(lost.look().size() + lost.runs.size(), size_t{64});
}

TEST(whatever_happens_is_seen_in_each_way) {
  in_each_way([](const fs::path& root, Taker& taker) {
    append(root / "a/1.tfevents");
    CHECK(taker.shows({{"a", {"1.tfevents"}}}));
    append(root / "a/1.tfevents", "more");
    CHECK(taker.tells_of("a"));
    CHECK_EQ(taker.bytes["a"], uint64_t{5});
    append(root / "a/2.tfevents");
    append(root / "a/train/x.tfevents");
    append(root / "a/notes.txt");
    CHECK(taker.shows({{"a", {"1.tfevents", "2.tfevents"}}, {"a/train", {"x.tfevents"}}}));
    // Renamed with all below it.
    fs::rename(root / "a", root / "b");
    CHECK(taker.shows({{"b", {"1.tfevents", "2.tfevents"}}, {"b/train", {"x.tfevents"}}}));
    append(root / "b/train/x.tfevents");
    CHECK(taker.tells_of("b/train"));
    // Deleted, and made anew under the same name.
    fs::remove_all(root / "b");
    append(root / "b/3.tfevents");
    CHECK(taker.shows({{"b", {"3.tfevents"}}}));
    append(root / "b/3.tfevents");
    CHECK(taker.tells_of("b"));
    // A file that is moved in, over another one, and out.
    append(root / "b/hidden");
    fs::rename(root / "b/hidden", root / "b/4.tfevents");
    CHECK(taker.shows({{"b", {"3.tfevents", "4.tfevents"}}}));
    append(root / "b/hidden", "longer");
    fs::rename(root / "b/hidden", root / "b/4.tfevents");
    CHECK(taker.follow_until([&] { return taker.bytes["b"] == 8; }));
    fs::rename(root / "b/4.tfevents", root / "b/hidden");
    CHECK(taker.shows({{"b", {"3.tfevents"}}}));
    // A folder takes the place of a file.
    fs::remove(root / "b/3.tfevents");
    append(root / "b/3.tfevents/5.tfevents");
    CHECK(taker.shows({{"b/3.tfevents", {"5.tfevents"}}}));
    fs::remove_all(root / "b");
    CHECK(taker.shows({}));
  });
}

TEST(a_root_that_is_deleted_moved_or_hidden_comes_back_in_each_way) {
  for (Way& way : ways()) {
    way.options.distrust_seconds = 0.2;
    Folder folder;
    const fs::path root = folder.path() / "above/root";
    Taker taker{LogTree({root.string()}, way.options)};
    taker.begin();
    append(root / "a/x.tfevents");
    CHECK(taker.shows({{"a", {"x.tfevents"}}}));
    fs::remove_all(root);
    CHECK(taker.shows({}));
    append(root / "b/x.tfevents");
    CHECK(taker.shows({{"b", {"x.tfevents"}}}));
    fs::rename(root, folder.path() / "aside");
    CHECK(taker.shows({}));
    fs::rename(folder.path() / "aside", root);
    CHECK(taker.shows({{"b", {"x.tfevents"}}}));
    // Nobody tells of this one.
    fs::rename(folder.path() / "above", folder.path() / "below");
    append(root / "c/x.tfevents");
    CHECK(taker.shows({{"c", {"x.tfevents"}}}));
    append(root / "c/x.tfevents");
    CHECK(taker.tells_of("c"));
  }
}

TEST(a_single_file_and_files_behind_links_are_followed) {
  Folder folder;
  append(folder.path() / "single.tfevents");
  append(folder.path() / "elsewhere/x.tfevents");
  fs::create_directory(folder.path() / "run");
  fs::create_symlink("../elsewhere/x.tfevents", folder.path() / "run/link.tfevents");
  for (const char* root : {"single.tfevents", "run"}) {
    Taker taker{LogTree({(folder.path() / root).string()})};
    taker.begin();
    REQUIRE(taker.reports["."] > 0);
    append(folder.path() / "single.tfevents");
    append(folder.path() / "elsewhere/x.tfevents");
    CHECK(taker.tells_of("."));
  }
}

// Random operations, checked against a fresh walk whenever it is quiet.
TEST(any_sequence_of_operations_ends_in_what_is_there) {
  for (const Way& way : ways()) {
    Folder folder;
    const fs::path root = folder.path() / "root", aside = folder.path() / "aside";
    fs::create_directory(root);
    fs::create_directory(aside);
    Taker taker{LogTree({root.string()}, way.options)};
    taker.begin();
    std::mt19937 random(static_cast<uint32_t>(random_seeds(1).front() + 7));
    const auto any = [&](unsigned end) { return std::uniform_int_distribution<unsigned>(0, end - 1)(random); };
    const auto any_folder = [&](const fs::path& below) {
      fs::path path = below;
      for (unsigned depth = any(4); depth > 0; --depth) path /= std::string(1, static_cast<char>('a' + any(3)));
      return path;
    };
    for (int round = 0; round < repeats(4); ++round) {
      for (unsigned operations = 1 + any(30); operations > 0; --operations) {
        std::error_code error;
        const fs::path place = any_folder(root);
        switch (any(8)) {
          case 0:
            if (place != root) fs::remove_all(place, error);
            break;
          case 1:
            if (place != root) fs::rename(place, any_folder(aside) / "moved", error);
            break;
          case 2:
            fs::create_directories(place.parent_path(), error);
            if (place != root) fs::rename(aside / "moved", place, error);
            break;
          case 3:
            if (place != root) fs::rename(place, any_folder(root), error);
            break;
          case 4:
            fs::remove(place / "1.tfevents", error);
            break;
          case 5:
            fs::rename(place / "1.tfevents", any_folder(root) / "2.tfevents", error);
            break;
          default:
            append(place / (any(2) ? "1.tfevents" : "other"));
        }
        if (any(4) == 0) {
          taker.tree.wait(0.05, 0);
          taker.take(taker.tree.take(0.01));
        }
      }
      if (!CHECK(taker.shows(truth(root)))) {
        std::fprintf(stderr, "  round %d, %s\n", round, way.name);
        break;
      }
    }
  }
}

TEST(lost_events_are_made_good) {
  Folder folder;
  append(folder.path() / "a/x.tfevents");
  append(folder.path() / "a/y.tfevents");
  Taker taker{LogTree({folder.path().string()}, only_told())};
  taker.begin();
  // More than any queue holds, of events that are not alike.
  const int x = ::open((folder.path() / "a/x.tfevents").c_str(), O_WRONLY);
  const int y = ::open((folder.path() / "a/y.tfevents").c_str(), O_WRONLY);
  for (int i = 0; i < 70000; ++i) REQUIRE(::pwrite(i % 2 ? x : y, "z", 1, 0) == 1);
  ::close(x);
  ::close(y);
  append(folder.path() / "b/c/x.tfevents");
  append(folder.path() / "a/z.tfevents");
  CHECK(taker.shows({{"a", {"x.tfevents", "y.tfevents", "z.tfevents"}}, {"b/c", {"x.tfevents"}}}));
}

TEST(writes_that_nobody_tells_of_are_seen_too) {
  Folder folder;
  append(folder.path() / "root/a/x.tfevents");
  fs::create_hard_link(folder.path() / "root/a/x.tfevents", folder.path() / "other name");
  Taker taker{LogTree({(folder.path() / "root").string()})};
  taker.begin();
  append(folder.path() / "other name");
  CHECK(taker.tells_of("a"));
}

TEST(no_more_watches_than_allowed_are_taken) {
  Folder folder;
  for (int i = 0; i < 20; ++i) append(folder.path() / std::to_string(i) / "x.tfevents");
  LogTree::Options options;
  options.most_watches = 5;
  Taker taker{LogTree({folder.path().string()}, options)};
  CHECK_EQ(taker.tree.counts().watched, size_t{0});
  taker.look();
  CHECK_EQ(taker.tree.counts().watched, size_t{0});  // who does not follow needs none
  taker.begin();
  CHECK_EQ(taker.tree.counts().folders, size_t{21});
  CHECK_EQ(taker.tree.counts().watched, size_t{5});
  for (int i = 0; i < 20; ++i) {
    append(folder.path() / std::to_string(i) / "x.tfevents");
    CHECK(taker.tells_of(std::to_string(i)));
  }
  // Those that become free are used.
  for (int i = 0; i < 18; ++i) fs::remove_all(folder.path() / std::to_string(i));
  CHECK(taker.follow_until([&] { return taker.tree.counts().watched == 3; }));
}

TEST(who_writes_all_the_time_is_told_of_now_and_then) {
  Folder folder;
  append(folder.path() / "a/x.tfevents");
  const HandClock clock;
  LogTree::Options options = only_told();
  options.clock = clock;
  Taker taker{LogTree({folder.path().string()}, options)};
  taker.begin();
  taker.reports.clear();
  for (int i = 0; i < 2000; ++i) {  // two seconds
    append(folder.path() / "a/x.tfevents");
    clock.pass(0.001);
    taker.follow_once();
  }
  CHECK(taker.reports["a"] >= 8);
  CHECK(taker.reports["a"] <= 11);
  // And the last write is not forgotten.
  clock.pass(0.3);
  taker.follow_once();
  CHECK_EQ(taker.bytes["a"], fs::file_size(folder.path() / "a/x.tfevents"));
}

TEST(what_could_not_be_read_is_told_again) {
  Folder folder;
  append(folder.path() / "a/x.tfevents");
  append(folder.path() / "b/x.tfevents");
  const HandClock clock;
  LogTree::Options options = only_told();
  options.clock = clock;
  Taker taker{LogTree({folder.path().string()}, options)};
  taker.look();
  const auto again = [&] {
    for (const auto& [id, name] : taker.names) {
      if (name == "a") taker.tree.look_again(id);
    }
  };
  again();
  CHECK(taker.look() == std::set<std::string>({"a"}));
  CHECK(taker.look().empty());
  taker.begin();
  taker.reports.clear();
  // Later and later, as long as it cannot be read.
  double wait = 2;
  for (int time = 1; time <= 3; ++time, wait *= 2) {
    again();
    clock.pass(wait - 0.1);
    taker.follow_once();
    CHECK_EQ(taker.reports["a"], time - 1);
    clock.pass(0.2);
    taker.follow_once();
    CHECK_EQ(taker.reports["a"], time);
  }
  clock.pass(5000);
  taker.follow_once();
  CHECK_EQ(taker.reports["a"], 3);  // it was read this time
  CHECK_EQ(taker.reports["b"], 0);
  taker.tree.look_again(UINT64_MAX);  // of a folder that never was
}

TEST(a_wait_ends_in_time_and_when_woken) {
  constexpr double kForEver = 1e6;
  Folder folder;
  Taker taker{LogTree({folder.path().string()})};
  taker.begin();
  CHECK(!taker.tree.wait(0.5, 0.05));
  taker.tree.wake();
  CHECK(!taker.tree.wait(0.5, kForEver));  // also when it came before
  for (int i = 0; i < 50; ++i) {           // before or meanwhile
    std::thread waker([&] { taker.tree.wake(); });
    CHECK(!taker.tree.wait(0.5, kForEver));
    waker.join();
  }
}

TEST(looks_from_several_threads_lose_nothing) {
  Folder folder;
  Taker taker{LogTree({folder.path().string()})};
  std::mutex taking;
  std::atomic<bool> ends{false};
  taker.tree.watch();
  std::thread follower([&] {
    while (!ends) {
      taker.tree.wait(0.02, 1);
      const std::lock_guard lock(taking);
      taker.take(taker.tree.take(0.01));
    }
  });
  std::thread looker([&] {
    while (!ends) {
      const std::lock_guard lock(taking);
      taker.look();
      CHECK(taker.tree.counts().folders > 0);
    }
  });
  for (int i = 0; i < 100; ++i) {
    append(folder.path() / std::to_string(i % 10) / "deep" / (std::to_string(i % 3) + ".tfevents"));
    if (i % 5 == 0) fs::remove_all(folder.path() / std::to_string((i + 5) % 10));
  }
  CHECK(eventually([&] {
    const std::lock_guard lock(taking);
    return taker.runs == truth(folder.path());
  }));
  ends = true;
  taker.tree.wake();
  follower.join();
  looker.join();
}

TEST(only_local_file_systems_are_trusted_to_notify) {
  CHECK(reach_of("/proc") == Reach::remote);
  CHECK(!reach_of("/no such folder"));
  Folder folder;
  if (reach_of(folder.path().string()) != Reach::notified)
    check::skip("notifications: tests run on a foreign file system");
}

}  // namespace
}  // namespace aboard::testing
