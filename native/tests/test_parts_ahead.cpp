// SPDX-License-Identifier: Apache-2.0
// Files that several threads read together show the same as files that one thread reads, whatever is in them.
#include <atomic>
#include <cstdlib>
#include <new>
#include <random>
#include <stdexcept>
#include <thread>

#include "check.hpp"
#include "reader_support.hpp"
#include "reading_crew.hpp"
#include "record.hpp"
#include "scenarios.hpp"

namespace {

thread_local int64_t allocations_left = -1;  // of this thread, before one fails; negative: none does

}  // namespace

void* operator new(size_t size) {
  if (allocations_left < 0 || allocations_left-- > 0) {
    if (void* memory = std::malloc(size != 0 ? size : 1)) return memory;
  }
  throw std::bad_alloc();
}
void* operator new(size_t size, const std::nothrow_t&) noexcept { return std::malloc(size != 0 ? size : 1); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace aboard::testing {
namespace {

constexpr uint64_t kPart = 512;  // bytes; small, so that small files have many

bool read_together(Logdir& logdir, const fs::path& folder, size_t threads = 3, uint64_t part_bytes = kPart) {
  ReadingCrew crew(threads, part_bytes);
  bool changed = false;
  crew.run(1, [&](size_t) { changed = logdir.refresh(names_in(folder), &crew); });
  return changed;
}

void check_same(const Logdir& one, const Logdir& other) {
  const auto tags = one.tags(), other_tags = other.tags();
  REQUIRE(tags.size() == other_tags.size());
  for (size_t i = 0; i < tags.size(); ++i) {
    CHECK_EQ(tags[i].name, other_tags[i].name);
    CHECK_EQ(tags[i].is_scalar, other_tags[i].is_scalar);
    CHECK_EQ(tags[i].kind, other_tags[i].kind);
    CHECK(points_of(one.scalars(i, false)) == points_of(other.scalars(i, false)));
    CHECK(points_of(one.scalars(i, true)) == points_of(other.scalars(i, true)));
    CHECK(points_of(one.superseded_scalars(i)) == points_of(other.superseded_scalars(i)));
    CHECK(one.media(i) == other.media(i));
  }
  const auto files = one.files(), other_files = other.files();
  REQUIRE(files.size() == other_files.size());
  for (size_t i = 0; i < files.size(); ++i) {
    CHECK_EQ(files[i].bytes_read, other_files[i].bytes_read);
    CHECK_EQ(files[i].records, other_files[i].records);
    CHECK_EQ(files[i].damage.bad_records, other_files[i].damage.bad_records);
    CHECK_EQ(files[i].damage.skipped_bytes, other_files[i].damage.skipped_bytes);
    CHECK_EQ(files[i].damage.first_offset, other_files[i].damage.first_offset);
    CHECK_EQ(files[i].error, other_files[i].error);
    CHECK_EQ(files[i].last_wall_time, other_files[i].last_wall_time);
  }
}

// Of everything that a file may hold, much of it where parts begin.
std::string random_file(std::mt19937_64& random) {
  std::string bytes = version_record(100);
  int64_t step = 0;
  const uint64_t oddities = random() % 3 == 0 ? 0 : 40;  // of a thousand records
  for (uint64_t left = 50 + random() % 400; left > 0; --left) {
    const std::string tag = "tag" + std::to_string(random() % 4);
    const double wall_time = 100 + static_cast<double>(random() % 1000);
    step = random() % 50 == 0 ? static_cast<int64_t>(random() % 100) : step + static_cast<int64_t>(random() % 2);
    const std::string plain = scalar_record(tag, step, wall_time, static_cast<float>(left));
    if (random() % 1000 >= oddities) {
      bytes += plain;
      continue;
    }
    switch (random() % 7) {
      case 0:
        bytes += start_record(step, wall_time);
        break;
      case 1:  // records within a record, which look as if they were the file's own
        bytes += record_of(wall_time, step, EventKind::graph_def, plain + plain + plain + plain);
        break;
      case 2:
        bytes += record_of(wall_time, step, EventKind::summary, summary_of({value_of(tag, ValueKind::image, "x")}));
        break;
      case 3: {
        std::string damaged = plain;
        damaged[random() % damaged.size()] ^= 4;
        bytes += damaged;
        break;
      }
      case 4:
        bytes += std::string(random() % 700, static_cast<char>(random()));
        break;
      case 5:
        bytes += plain.substr(0, random() % plain.size());
        break;
      default:
        bytes += record_of(wall_time, step, EventKind::graph_def, std::string(random() % 3000, 'g'));
    }
  }
  if (random() % 4 == 0) bytes.resize(bytes.size() - random() % 30);
  return bytes;
}

// Whichever allocation fails while threads are started, all jobs are done or one failure is reported.
TEST(without_memory_for_threads_fewer_do_the_work) {
  struct NoWork final : SharedWork {
    bool help() noexcept override { return false; }
  } work;
  for (int64_t left = 0; left < 12; ++left) {
    ReadingCrew crew(4);
    std::atomic<int> done{0};
    const std::function<void(size_t)> job = [&](size_t) { ++done; };
    allocations_left = left;
    try {
      crew.run(8, job);
    } catch (const std::bad_alloc&) {
    }
    allocations_left = -1;
    CHECK(done.load() == 8 || done.load() == 0);
  }
  // An offer that cannot start a thread can still be withdrawn, and nobody helps with it afterwards.
  for (int64_t left = 0; left < 6; ++left) {
    ReadingCrew crew(4);
    std::atomic<int> offers{0};
    crew.run(1, [&](size_t) {
      allocations_left = left;
      try {
        const ReadingCrew::Offer offer(crew, work);
        ++offers;
      } catch (const std::bad_alloc&) {
      }
      allocations_left = -1;
      const ReadingCrew::Offer another(crew, work);  // has threads look through all offers
      ++offers;
    });
    CHECK(offers.load() == (left == 0 ? 1 : 2));
  }
}

TEST(files_of_all_kinds_are_read_as_by_one_thread) {
  std::mt19937_64 random(1);
  for (int round = 0; round < repeats(50); ++round) {
    Folder folder;
    const size_t files = 1 + random() % 2;
    for (size_t i = 0; i < files; ++i) write_file(folder.path() / std::to_string(i), random_file(random));
    Logdir alone(folder.path().string()), together(folder.path().string());
    alone.refresh(names_in(folder.path()));
    read_together(together, folder.path(), 2 + random() % 3);
    check_same(alone, together);
    // What comes later goes on behind it.
    append_to(folder.path() / "0", random_file(random));
    alone.refresh(names_in(folder.path()));
    CHECK(read_together(together, folder.path()));
    check_same(alone, together);
  }
}

TEST(histories_follow_their_rules) {
  std::mt19937_64 random(2);
  for (int round = 0; round < repeats(30); ++round) {
    const Files files = random_files(random);
    Folder folder;
    for (const auto& [name, bytes] : files) write_file(folder.path() / name, bytes);
    Logdir logdir(folder.path().string());
    read_together(logdir, folder.path(), 3, 100);
    CHECK(same_as_reference(logdir, files));
  }
}

std::string long_file(int64_t steps) {
  std::string bytes = version_record(100);
  for (int64_t step = 0; step < steps; ++step) {
    for (const char* tag : {"loss", "accuracy", "learning rate"}) bytes += scalar_record(tag, step, 101, 0.5f);
  }
  return bytes;
}

TEST(parts_of_the_usual_size_are_read_too) {
  Folder folder;
  const std::string bytes = long_file(40'000);
  REQUIRE(bytes.size() > 5 * ReadingCrew::kPartBytes);
  write_file(folder.path() / "a", bytes);
  Logdir alone(folder.path().string()), together(folder.path().string());
  alone.refresh({"a"});
  read_together(together, folder.path(), 2, ReadingCrew::kPartBytes);
  check_same(alone, together);
  CHECK_EQ(together.bytes_read(), bytes.size());
}

TEST(readers_see_points_that_only_grow_in_number) {
  Folder folder;
  write_file(folder.path() / "a", long_file(20'000));
  Logdir logdir(folder.path().string());
  std::atomic<bool> done{false};
  std::thread reader([&] {
    size_t last = 0;
    while (!done) {
      if (!has_tag(logdir, "loss")) continue;
      const Points points = shown(logdir, "loss");
      CHECK(points.size() >= last);
      last = points.size();
      for (size_t i = 0; i < points.size(); i += 97) CHECK_EQ(points[i].step, static_cast<int64_t>(i));
    }
  });
  read_together(logdir, folder.path(), 3, 64 << 10);
  done = true;
  reader.join();
  CHECK_EQ(shown(logdir, "loss").size(), 20'000u);
}

TEST(every_job_is_done_once_by_any_number_of_threads) {
  for (const size_t threads : {1u, 2u, 7u}) {
    std::vector<std::atomic<int>> done(20);
    ReadingCrew(threads).run(done.size(), [&](size_t job) { ++done[job]; });
    for (const auto& count : done) CHECK_EQ(count.load(), 1);
  }
  ReadingCrew(3).run(0, [](size_t) { CHECK(false); });
}

TEST(what_a_job_throws_is_thrown_when_all_are_done) {
  std::atomic<int> done{0};
  ReadingCrew crew(3);
  bool thrown = false;
  try {
    crew.run(10, [&](size_t job) {
      ++done;
      if (job == 4) throw std::runtime_error("four");
    });
  } catch (const std::runtime_error& error) {
    thrown = std::string_view(error.what()) == "four";
  }
  CHECK(thrown);
  CHECK_EQ(done.load(), 10);
}

// Has another piece until another thread has done one.
class UntilHelped final : public SharedWork {
 public:
  bool help() noexcept override { return take(); }
  bool take() noexcept {
    if (was_helped_) return false;
    was_helped_ = std::this_thread::get_id() != owner_;
    std::this_thread::yield();
    return true;
  }

 private:
  const std::thread::id owner_ = std::this_thread::get_id();
  std::atomic<bool> was_helped_{false};
};

TEST(threads_without_a_job_help_those_that_have_one) {
  ReadingCrew crew(2);
  // Without help it would never end.
  crew.run(1, [&](size_t) {
    UntilHelped work;
    const ReadingCrew::Offer offer(crew, work);
    while (work.take()) continue;
  });
}

}  // namespace
}  // namespace aboard::testing
