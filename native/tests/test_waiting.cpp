// SPDX-License-Identifier: Apache-2.0
// Readers do not wait for a refresh that sorts and merges, and a child of a fork reads whatever its parent was doing.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <new>
#include <thread>

#include "check.hpp"
#include "log_tree.hpp"
#include "logdir.hpp"
#include "reader_support.hpp"
#include "tag_index.hpp"
#include "value_ranges.hpp"

namespace {

// Called with each allocation of this thread that is large enough, and each read of a file.
thread_local std::function<void()>* on_allocation = nullptr;
thread_local size_t least_bytes = 0;
thread_local std::function<void()>* on_read = nullptr;

void call(std::function<void()>*& hook) {
  auto* const work = std::exchange(hook, nullptr);  // what it does itself is not watched
  (*work)();
  hook = work;
}

}  // namespace

void* operator new(size_t size) {
  if (on_allocation != nullptr && size >= least_bytes) call(on_allocation);
  if (void* memory = std::malloc(size != 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
void* operator new(size_t size, const std::nothrow_t&) noexcept { return std::malloc(size != 0 ? size : 1); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

extern "C" ssize_t pread(int file, void* to, size_t size, off_t offset) {
  if (on_read != nullptr) call(on_read);
  return ::syscall(SYS_pread64, file, to, size, offset);
}
extern "C" ssize_t pread64(int file, void* to, size_t size, off_t offset) { return pread(file, to, size, offset); }

namespace aboard::testing {
namespace {

constexpr int64_t kMany = 50'000;

struct Case {
  Folder folder;
  std::shared_ptr<Logdir> logdir = std::make_shared<Logdir>(folder.path().string());

  fs::path file(std::string_view name) const { return folder.path() / name; }
  bool refresh() const { return logdir->refresh(names_in(folder.path())); }
};

std::string steps_in_file(double wall_time, int64_t begin, int64_t end, int64_t stride, float value) {
  std::string bytes = version_record(wall_time);
  for (int64_t step = begin; step != end; step += stride) {
    bytes += scalar_record("loss", step, wall_time + 1 + static_cast<double>(step) * 1e-3, value);
  }
  return bytes;
}

// Refreshes, and has another thread read whenever the refresh takes much memory at once: to sort, to copy, to mark.
// Returns how often that was.
int refresh_under_readers(const Case& c) {
  int times = 0, waited = 0;
  std::function<void()> read = [&] {
    ++times;
    std::packaged_task<size_t()> task([&] {
      c.logdir->superseded_scalars(0);
      c.logdir->tag_statuses();
      return c.logdir->scalars(0, false).size;
    });
    auto result = task.get_future();
    std::thread reader(std::move(task));
    if (waited == 0 && result.wait_for(std::chrono::seconds(10)) != std::future_status::ready) ++waited;
    reader.detach();  // one that waits goes on when the refresh does
  };
  least_bytes = static_cast<size_t>(kMany) / 10 * sizeof(size_t);
  on_allocation = &read;
  c.refresh();
  on_allocation = nullptr;
  CHECK_EQ(waited, 0);
  return times;
}

TEST(readers_do_not_wait_for_a_merge) {
  Case c;
  write_file(c.file("a"), steps_in_file(100, 2 * kMany, 0, -2, 1));  // in no order
  c.refresh();
  CHECK_EQ(c.logdir->scalars(0, false).size, static_cast<size_t>(kMany));
  write_file(c.file("b"), steps_in_file(100, 2 * kMany + 1, 1, -2, 2));
  CHECK(refresh_under_readers(c) > 0);
  const Points points = shown(*c.logdir, "loss");
  CHECK_EQ(points.size(), static_cast<size_t>(2 * kMany));
  CHECK(std::ranges::is_sorted(points, {}, &Point::step));
}

TEST(readers_do_not_wait_while_points_are_superseded) {
  Case c;
  write_file(c.file("a"), steps_in_file(100, 0, kMany, 1, 1));
  c.refresh();
  write_file(c.file("b"), steps_in_file(1000, 10, kMany, 1, 2));
  CHECK(refresh_under_readers(c) > 0);
  CHECK_EQ(shown(*c.logdir, "loss").size(), static_cast<size_t>(kMany));
  CHECK_EQ(superseded(*c.logdir, "loss").size(), static_cast<size_t>(kMany - 10));
}

// A thread that stands still in the middle of what it does, until the test is over.
class Standstill {
 public:
  explicit Standstill(std::function<void(std::function<void()>&)> work)
      : thread_([this, work = std::move(work)] { work(stand_); }) {
    CHECK(eventually([&] { return stands_.load(); }));
  }
  ~Standstill() {
    over_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stands_{false}, over_{false};
  std::function<void()> stand_ = [this] {
    stands_ = true;
    CHECK(eventually([&] { return over_.load(); }));
  };
  std::thread thread_;
};

TEST(a_child_reads_while_its_parent_is_refreshing) {
  Case c;
  write_file(c.file("a"), steps_in_file(100, 0, 1000, 1, 1));
  c.refresh();
  append_to(c.file("a"), scalar_record("loss", 1000, 200, 1));
  const Standstill refreshing([&](auto& stand) {
    on_read = &stand;
    c.refresh();
    on_read = nullptr;
  });
  in_child([&] {
    CHECK_EQ(c.logdir->scalars(0, true).size, 1000u);
    CHECK_EQ(c.logdir->tags().size(), 1u);
    CHECK_EQ(c.logdir->files().size(), 1u);
    CHECK(c.logdir->tag_status(0).has_value());
    TagIndex index(c.logdir);
    CHECK_EQ(index.size(), 1u);
    CHECK(c.refresh());
    CHECK_EQ(c.logdir->scalars(0, true).size, 1001u);
    CHECK_EQ(c.logdir->summary().bytes_read, fs::file_size(c.file("a")));
    append_to(c.file("a"), scalar_record("loss", 1001, 201, 1));
    CHECK(c.refresh());
    CHECK_EQ(c.logdir->scalars(0, true).size, 1002u);
    c.logdir.reset();
  });
}

TEST(a_child_reads_while_its_parent_reads) {
  Case c;
  const std::string x(10'000, 'x'), y(10'000, 'y');
  for (const std::string& tag : {x, y}) append_to(c.file("a"), file_of(100, tag, {1, 2, 3}, 1));
  c.refresh();
  TagIndex index(c.logdir);
  CHECK_EQ(index.size(), 2u);
  const Standstill reading([&](auto& stand) {
    std::string names;
    least_bytes = x.size();
    on_allocation = &stand;
    index.append_names(names, "scalars", DataClass::scalar);
    on_allocation = nullptr;
  });
  in_child([&] {
    CHECK_EQ(index.size(), 2u);
    CHECK_EQ(index.number("scalars", DataClass::scalar, y), std::optional<size_t>(1));
  });
}

TEST(a_child_unpacks_what_its_parent_is_unpacking) {
  Case c;
  write_file(c.file("a"), steps_in_file(100, 0, 5000, 1, 1));
  c.refresh();
  Folder cache;
  const std::string packed = c.logdir->pack().value();
  write_file(cache.path() / "packed", packed);
  Logdir logdir(c.folder.path().string(), "", {(cache.path() / "packed").string(), 0, packed.size()});
  logdir.refresh({"a"});
  CHECK_EQ(logdir.bytes_read(), 0u);
  const Standstill unpacking([&](auto& stand) {
    on_read = &stand;
    logdir.scalars(0, true);
    on_read = nullptr;
  });
  in_child([&] {
    CHECK_EQ(logdir.scalars(0, true).size, 5000u);
    CHECK_EQ(logdir.bytes_read(), 0u);
  });
}

TEST(a_child_has_ranges_of_values_while_its_parent_makes_them) {
  for (const bool known : {false, true}) {
    Case c;
    write_file(c.file("a"), steps_in_file(100, 0, 5000, 1, 1));
    c.refresh();
    const ColumnView points = c.logdir->scalars(0, true);
    const auto read = [&] {
      const auto ranges = ValueRanges::of(points.block);
      return ValueRanges::Reading(*ranges, points.values().data(), 5000)[3].high;
    };
    if (known) ValueRanges::of(points.block);
    const Standstill reading([&](auto& stand) {
      least_bytes = 0;
      on_allocation = &stand;
      read();
      on_allocation = nullptr;
    });
    in_child([&] { CHECK_EQ(read(), 1.0); });
  }
}

// What a thread knows that takes changes.
struct Taker {
  LogTree& tree;
  std::map<LogTree::Id, std::string> names = {};
  std::map<std::string, uint64_t> bytes = {};
  size_t gone = 0;

  void take() {
    const LogTree::Changes changes = tree.take(1);
    gone += changes.gone.size();
    for (const auto id : changes.gone) CHECK_EQ(names.erase(id), 1u);
    for (const auto& found : changes.found) CHECK(names.emplace(found.id, found.name).second);
    for (const auto& to_read : changes.to_read) bytes[names.at(to_read.id)] = to_read.bytes;
  }
  // Ends with the time limit of the test, if at all.
  void follow_until(const std::function<bool()>& condition) {
    while (!condition()) {
      tree.wait(0.05, 1);
      take();
    }
  }
};

TEST(a_child_follows_folders_as_its_parent_does) {
  for (const bool notifications : {true, false}) {
    Folder folder;
    const fs::path a = folder.path() / "a", b = folder.path() / "b";
    fs::create_directory(a);
    write_file(a / "x.tfevents", "1");
    LogTree::Options options;
    options.notifications = notifications;
    options.distrust_seconds = 1e6;  // what the kernel does not report is never seen
    LogTree tree({folder.path().string()}, options);
    tree.watch();
    Taker taker{tree};
    taker.follow_until([&] { return taker.bytes["a"] == 1; });
    // The child inherits whatever the kernel has reported and nobody has read.
    write_file(a / "x.tfevents", "22");
    in_child([&] {
      taker.follow_until([&] { return taker.bytes["a"] == 2; });
      write_file(a / "x.tfevents", "333");
      taker.follow_until([&] { return taker.bytes["a"] == 3; });
      fs::create_directory(b);
      write_file(b / "x.tfevents", "1");
      taker.follow_until([&] { return taker.bytes["b"] == 1; });
      fs::remove_all(b);
      taker.follow_until([&] { return taker.names.size() == 1; });
      CHECK_EQ(taker.gone, 1u);
      CHECK_EQ(tree.counts().watched, notifications ? size_t{2} : size_t{0});
      tree.wake();
    });
    // Nothing was taken from the parent.
    taker.follow_until([&] { return taker.bytes["a"] == 3; });
    CHECK_EQ(tree.counts().watched, notifications ? size_t{2} : size_t{0});
  }
}

TEST(a_child_follows_folders_while_its_parent_looks_at_them) {
  Folder folder;
  for (const char* name : {"a", "b"}) {
    fs::create_directory(folder.path() / name);
    write_file(folder.path() / name / "x.tfevents", "1");
  }
  auto tree = std::make_unique<LogTree>(std::vector<std::string>{folder.path().string()});
  tree->watch();
  Taker taker{*tree};
  taker.follow_until([&] { return taker.names.size() == 2; });
  tree->look();
  const auto names = taker.names;
  {
    const Standstill looking([&](auto& stand) {
      least_bytes = 0;
      on_allocation = &stand;
      taker.take();
      on_allocation = nullptr;
    });
    in_child([&] {
      taker.follow_until([&] { return taker.names.size() == 2 && taker.gone == 2; });
      for (const auto& [id, name] : taker.names) CHECK(!names.contains(id));
      write_file(folder.path() / "a/x.tfevents", "333");
      taker.follow_until([&] { return taker.bytes["a"] == 3; });
      in_child([&] {
        fs::create_directory(folder.path() / "c");
        write_file(folder.path() / "c/x.tfevents", "1");
        taker.follow_until([&] { return taker.bytes["c"] == 1; });
      });
      taker.follow_until([&] { return taker.bytes["c"] == 1; });
      tree.reset();
    });
    in_child([&] { tree.reset(); });
  }
  taker.follow_until([&] { return taker.bytes["a"] == 3 && taker.bytes["c"] == 1; });
  CHECK_EQ(taker.gone, 0u);
}

}  // namespace
}  // namespace aboard::testing
