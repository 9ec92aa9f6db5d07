// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "log_tree.hpp"
#include "read_path.hpp"
#include "reader_support.hpp"

namespace aboard::testing {
namespace {

constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;

// 0, or why a file cannot be opened; the same whichever way it is opened.
int error_of(const ReadPath& path) {
  const auto attempt = [](int file) {
    const int error = file >= 0 ? 0 : errno;
    if (file >= 0) ::close(file);
    return error;
  };
  const int error = attempt(path.open(kFlags));
  CHECK_EQ(attempt(path.open_by_steps(kFlags)), error);
  struct stat status;
  CHECK_EQ(path.status(&status) == 0 ? 0 : errno, error);
  return error;
}

struct Case {
  Folder folder;
  fs::path root = folder.path() / "root", outside = folder.path() / "outside";

  Case() {
    fs::create_directories(root / "run/tb");
    fs::create_directories(outside);
    write_file(root / "run/tb/a.tfevents", file_of(100, "own", {1, 2}, 1));
    write_file(outside / "a.tfevents", file_of(100, "secret", {1, 2}, 1));
  }
  int error_below(const fs::path& path) const { return error_of(ReadPath(path.string(), root.string())); }
};

TEST(a_path_without_a_root_follows_links) {
  const Case c;
  fs::create_symlink(c.outside, c.root / "link");
  const int file = ReadPath((c.root / "link/a.tfevents").string()).open(kFlags);
  CHECK(file >= 0);
  ::close(file);
}

TEST(no_link_below_a_root_is_followed) {
  const Case c;
  fs::create_symlink(c.outside, c.root / "folder");
  fs::create_symlink(c.outside / "a.tfevents", c.root / "run/tb/file.tfevents");
  fs::create_symlink("tb", c.root / "run/inside");
  CHECK_EQ(c.error_below(c.root / "run/tb/a.tfevents"), 0);
  CHECK_EQ(c.error_below(c.root / "run//tb/"), 0);
  CHECK_EQ(c.error_below(c.root / "folder/a.tfevents"), ELOOP);
  CHECK_EQ(c.error_below(c.root / "folder"), ELOOP);
  CHECK_EQ(c.error_below(c.root / "run/tb/file.tfevents"), ELOOP);
  CHECK_EQ(c.error_below(c.root / "run/inside/a.tfevents"), ELOOP);
  CHECK_EQ(c.error_below(c.root / "run/missing"), ENOENT);
  CHECK_EQ(c.error_below(c.root / "run/tb/a.tfevents/below"), ENOTDIR);
}

TEST(the_way_to_the_root_may_be_a_link) {
  const Case c;
  fs::create_symlink(c.root, c.folder.path() / "named");
  const fs::path named = c.folder.path() / "named";
  CHECK_EQ(error_of(ReadPath((named / "run/tb/a.tfevents").string(), named.string())), 0);
  CHECK_EQ(error_of(ReadPath(named.string(), named.string() + "/")), 0);
  CHECK_EQ(error_of(ReadPath((c.root / "run").string(), "/")), c.root.is_absolute() ? 0 : EXDEV);
}

TEST(what_is_not_below_its_root_cannot_be_opened) {
  const Case c;
  CHECK_EQ(c.error_below(c.outside / "a.tfevents"), EXDEV);
  CHECK_EQ(c.error_below(c.root / "../outside/a.tfevents"), EXDEV);
  CHECK_EQ(c.error_below(c.root / "run/../run/tb"), EXDEV);
  CHECK_EQ(error_of(ReadPath(c.root.string() + "-beside", c.root.string())), EXDEV);
  CHECK_EQ(error_of(ReadPath("relative", "")), EXDEV);
}

TEST(a_tree_within_a_root_leaves_links_out) {
  const Case c;
  fs::create_symlink(c.outside, c.root / "run/tb/folder");
  fs::create_symlink(c.outside / "a.tfevents", c.root / "run/tb/b.tfevents");
  for (const bool notifications : {false, true}) {
    LogTree::Options options;
    options.within = c.root.string();
    options.notifications = notifications;
    LogTree tree({(c.root / "run").string()}, options);
    if (notifications) {
      tree.watch();
      while (!tree.wait(0.01, 10)) {
      }
    }
    tree.look();
    size_t found = 0;
    do {
      for (const auto& to_read : tree.take(1).to_read) {
        ++found;
        CHECK_EQ(to_read.files, std::vector<std::string>{"a.tfevents"});
      }
    } while (tree.is_looking());
    CHECK_EQ(found, 1u);
  }
}

TEST(a_watched_tree_leaves_a_link_out_that_comes_later) {
  const Case c;
  LogTree::Options options;
  options.within = c.root.string();
  LogTree tree({c.root.string()}, options);
  tree.watch();
  const auto take_next = [&] {
    while (!tree.wait(0.01, 10)) {
    }
    return tree.take(1);
  };
  CHECK_EQ(take_next().found.size(), 1u);
  fs::create_symlink(c.outside, c.root / "link");
  fs::create_symlink(c.outside / "a.tfevents", c.root / "run/tb/b.tfevents");
  fs::create_directories(c.root / "run2");
  write_file(c.root / "run2/a.tfevents", file_of(100, "own", {1}, 1));
  std::vector<std::string> names;
  while (names.empty()) {
    const auto changes = take_next();
    for (const auto& found : changes.found) names.push_back(found.name);
    for (const auto& to_read : changes.to_read) CHECK_EQ(to_read.files, std::vector<std::string>{"a.tfevents"});
  }
  CHECK_EQ(names, std::vector<std::string>{"run2"});
}

TEST(a_tree_forgets_a_folder_that_became_a_link) {
  const Case c;
  LogTree::Options options;
  options.within = c.root.string();
  options.notifications = false;
  LogTree tree({(c.root / "run/tb").string()}, options);
  tree.look();
  CHECK_EQ(tree.take(10).found.size(), 1u);
  fs::rename(c.root / "run/tb", c.root / "run/mine");
  fs::create_symlink(c.outside, c.root / "run/tb");
  tree.look();
  const auto changes = tree.take(10);
  CHECK_EQ(changes.gone.size(), 1u);
  CHECK(changes.found.empty());
}

// The names come from a listing that was made before the folder was replaced.
TEST(a_logdir_that_became_a_link_after_it_was_listed_reads_nothing) {
  const Case c;
  const fs::path folder = c.root / "run/tb";
  Logdir logdir(ReadPath(folder.string(), c.root.string()));
  fs::rename(folder, c.root / "run/mine");
  fs::create_symlink(c.outside, folder);
  logdir.refresh({"a.tfevents"});
  CHECK(!has_tag(logdir, "secret"));
  fs::remove(folder);
  fs::rename(c.root / "run/mine", folder);
  logdir.refresh({"a.tfevents"});
  CHECK(has_tag(logdir, "own"));
}

TEST(a_place_in_a_file_is_not_read_through_a_link) {
  const Case c;
  const fs::path path = c.root / "run/tb/a.tfevents";
  const ReadPath confined(path.string(), c.root.string());
  const std::string first = version_record(100);
  const uint64_t offset = 12, length = first.size() - 16;
  CHECK(read_record_at(confined, offset, length).has_value());
  fs::rename(c.root / "run/tb", c.root / "run/mine");
  fs::create_symlink(c.outside, c.root / "run/tb");
  CHECK(read_record_at(ReadPath(path.string()), offset, length).has_value());
  CHECK(!read_record_at(confined, offset, length).has_value());
}

}  // namespace
}  // namespace aboard::testing
