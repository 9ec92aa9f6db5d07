// SPDX-License-Identifier: Apache-2.0
// What was decoded is packed, travels and is shown again to the last bit; what is wrong with it is never believed.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <thread>

#include "check.hpp"
#include "crc32c.hpp"
#include "logdir.hpp"
#include "packed_columns.hpp"
#include "reader_support.hpp"
#include "scenarios.hpp"

namespace aboard::testing {
namespace {

struct Series {
  std::vector<int64_t> steps;
  std::vector<double> wall_times, values;

  void add(int64_t step, double wall_time, double value) {
    steps.push_back(step);
    wall_times.push_back(wall_time);
    values.push_back(value);
  }
  std::string packed() const {
    std::string bytes;
    pack_columns(steps, wall_times, values, bytes);
    return bytes;
  }
  bool same_bits(const Series& other) const {
    const auto same = [](const auto& a, const auto& b) {
      return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * 8) == 0);
    };
    return same(steps, other.steps) && same(wall_times, other.wall_times) && same(values, other.values);
  }
};

std::optional<Series> unpacked(std::string_view bytes, size_t count) {
  Series series{std::vector<int64_t>(count), std::vector<double>(count), std::vector<double>(count)};
  if (!unpack_columns(bytes, count, series.steps.data(), series.wall_times.data(), series.values.data())) {
    return std::nullopt;
  }
  return series;
}

double random_number(std::mt19937_64& random) {
  switch (random() % 8) {
    case 0:
      return std::numeric_limits<double>::quiet_NaN();
    case 1:
      return std::bit_cast<double>(random());  // any bits at all
    case 2:
      return -0.0;
    case 3:
      return std::numeric_limits<float>::infinity();
    case 4:
      return std::numeric_limits<float>::denorm_min();
    default:
      return static_cast<float>(random() % 1000) / 7 * (random() % 2 ? 1 : -1);
  }
}

TEST(every_bit_comes_back) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    Series series;
    const size_t count = random() % (seed % 3 == 0 ? 5 : 700);
    const bool wild = seed % 2 == 0;
    for (size_t i = 0; i < count; ++i) {
      const auto step = wild ? static_cast<int64_t>(random()) : static_cast<int64_t>(i) * 10;
      const double time = wild ? random_number(random) : 1.7e9 + static_cast<double>(i) * 0.1;
      series.add(step, time, wild ? random_number(random) : static_cast<float>(i) / 3);
    }
    const auto again = unpacked(series.packed(), count);
    REQUIRE(again.has_value());
    CHECK(again->same_bits(series));
  }
}

TEST(a_usual_curve_takes_few_bytes) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> noise;
  Series series;
  double walk = 0;
  for (int64_t step = 0; step < 20000; ++step) {
    walk += noise(random);
    series.add(step, 1.7e9 + static_cast<double>(step) * 0.1 + 0.01 * noise(random), static_cast<float>(walk));
  }
  CHECK(series.packed().size() < 6 * series.steps.size());
  const Series constant{std::vector<int64_t>(20000, 7), std::vector<double>(20000, 1.5), std::vector<double>(20000, 1)};
  CHECK(constant.packed().size() < 600);
}

TEST(bytes_that_are_no_columns_are_refused) {
  Series series;
  for (int64_t step = 0; step < 300; ++step) series.add(step, static_cast<double>(step), static_cast<double>(step) / 3);
  const std::string bytes = series.packed();
  for (size_t size = 0; size < bytes.size(); ++size) CHECK(!unpacked(std::string_view(bytes).substr(0, size), 300));
  CHECK(!unpacked(bytes + '\0', 300));
  CHECK(!unpacked(bytes, 299) || !unpacked(bytes, 299)->same_bits(series));
  CHECK(!unpacked(bytes, 600));
  CHECK(!unpacked("", 1));
  std::mt19937_64 random(2);
  for (int round = 0; round < 3000; ++round) {
    std::string other = bytes;
    other[random() % other.size()] = static_cast<char>(random());
    unpacked(other, 300);  // whatever it is, it stays within its bounds
  }
}

// A folder that was read and packed, and another with the same files or the ends of them.
struct Case {
  Folder trained, read, cache;
  fs::path packed = cache.path() / "packed";

  size_t pack() const {
    Logdir logdir(trained.path().string());
    logdir.refresh(names_in(trained.path()));
    const auto bytes = logdir.pack();
    REQUIRE(bytes.has_value());
    write_file(packed, "in front" + *bytes + "behind");
    return bytes->size();
  }
  PackedPlace place(size_t size) const { return {packed.string(), 8, 8 + size}; }
  void copy_files() const {
    for (const auto& name : names_in(trained.path())) write_file(read.path() / name, read_bytes(trained.path() / name));
  }
  std::unique_ptr<Logdir> open(size_t size) const {
    auto logdir = std::make_unique<Logdir>(read.path().string(), "", place(size));
    logdir->refresh(names_in(read.path()));
    return logdir;
  }
};

std::string long_file(double wall_time, int64_t count) {
  std::string bytes = version_record(wall_time);
  for (int64_t step = 0; step < count; ++step) {
    bytes += scalar_record("loss", step, wall_time + 1 + static_cast<double>(step), static_cast<float>(step) / 3);
  }
  return bytes;
}

// As a copy of which only the ends were fetched.
void hollow_out(const fs::path& path) {
  std::string bytes = read_bytes(path);
  for (size_t i = 4096; i + 4096 < bytes.size(); ++i) bytes[i] = '\0';
  write_file(path, bytes);
}

TEST(a_packed_logdir_needs_only_the_ends_of_its_files_and_goes_on) {
  Case c;
  const std::string bytes = long_file(100, 1000);
  write_file(c.trained.path() / "a", bytes);
  const size_t size = c.pack();
  c.copy_files();
  hollow_out(c.read.path() / "a");
  auto logdir = c.open(size);
  CHECK_EQ(logdir->bytes_read(), 0u);
  CHECK_EQ(logdir->unsaved_bytes(), 0u);
  CHECK_EQ(shown(*logdir, "loss").size(), 1000u);
  CHECK_EQ(shown(*logdir, "loss").back(), (Point{999, 1100, 333}));
  append_to(c.read.path() / "a", scalar_record("loss", 1000, 2000, 7));
  logdir->refresh({"a"});
  CHECK_EQ(shown(*logdir, "loss").size(), 1001u);
  CHECK_EQ(shown(*logdir, "loss")[500], (Point{500, 601, double{500.0f / 3}}));
}

TEST(pictures_and_damage_are_known_from_the_packed_form) {
  Case c;
  std::string damaged = scalar_record("loss", 1, 103, 1);
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  write_file(c.trained.path() / "a",
             version_record(100) + damaged +
                 record_of(102, 6, EventKind::summary, summary_of({value_of("picture", ValueKind::image, "pixels")})));
  const size_t size = c.pack();
  c.copy_files();
  const auto logdir = c.open(size);
  CHECK_EQ(logdir->bytes_read(), 0u);
  const size_t picture = tag_number(*logdir, "picture");
  REQUIRE(logdir->media(picture).size() == 1);
  CHECK(logdir->read_media(picture, logdir->media(picture)[0])->find("pixels") != std::string::npos);
  CHECK_EQ(logdir->files()[0].damage.bad_records, 1u);
}

TEST(whatever_was_written_the_packed_form_shows_the_same) {
  for (const uint64_t seed : random_seeds(50)) {
    std::mt19937_64 random(seed);
    const Files files = random_files(random);
    Case c;
    for (const auto& [name, bytes] : files) write_file(c.trained.path() / name, bytes);
    const size_t size = c.pack();
    c.copy_files();
    if (!same_as_reference(*c.open(size), files)) {
      check::fail(__FILE__, __LINE__, "seed " + std::to_string(seed));
      break;
    }
  }
}

TEST(what_is_damaged_is_read_from_the_files) {
  Case c;
  const std::string bytes = long_file(100, 200);
  write_file(c.trained.path() / "a", bytes);
  const size_t size = c.pack();
  c.copy_files();
  const std::string good = read_bytes(c.packed);
  for (size_t at = 8; at < 8 + size; at += every(5)) {
    std::string other = good;
    other[at] = static_cast<char>(other[at] ^ 0x10);
    write_file(c.packed, other);
    const auto logdir = c.open(size);
    const Points points = shown(*logdir, "loss");
    CHECK(points.size() == 200 && points[100] == (Point{100, 201, double{100.0f / 3}}));
    CHECK(logdir->bytes_read() == bytes.size() && !fs::exists(c.packed));
  }
}

// Replaces `was`, which must be there once, and makes the checksum of the directory right again.
std::string forged(std::string object, std::string_view was, std::string_view is) {
  constexpr size_t kFooterBytes = 24;
  const size_t at = object.find(was);
  REQUIRE(at != object.npos && object.find(was, at + 1) == object.npos);
  object.replace(at, was.size(), is);
  const size_t footer = object.size() - kFooterBytes;
  uint64_t directory = 0;
  std::memcpy(&directory, object.data() + footer, sizeof directory);
  directory += is.size() - was.size();
  const uint32_t checksum = crc32c(std::string_view(object).substr(footer - directory, directory));
  std::memcpy(object.data() + footer, &directory, sizeof directory);
  std::memcpy(object.data() + footer + sizeof directory, &checksum, sizeof checksum);
  return object;
}

template <typename... Numbers>
std::string bytes_of(Numbers... numbers) {
  std::string bytes;
  (bytes.append(reinterpret_cast<const char*>(&numbers), sizeof numbers), ...);
  return bytes;
}

// What a logdir over the files shows when it begins with `object`, and how many bytes of them it read for that.
struct Opened {
  Folder cache;
  std::unique_ptr<Logdir> logdir;

  Opened(const fs::path& folder, const std::string& object) {
    write_file(cache.path() / "packed", object);
    logdir = std::make_unique<Logdir>(folder.string(), "",
                                      PackedPlace{(cache.path() / "packed").string(), 0, object.size()});
    logdir->refresh(names_in(folder));
  }
};

TEST(more_points_than_the_event_files_can_hold_are_not_believed) {
  const Folder folder;
  const std::string file = file_of(100, "loss", {1, 2, 3}, 1);
  write_file(folder.path() / "a", file);
  Logdir honest(folder.path().string());
  honest.refresh({"a"});
  const std::string object = honest.pack().value();
  Series real;
  for (const Point& point : shown(honest, "loss")) real.add(point.step, point.wall_time, point.value);
  const std::string real_bytes = real.packed();
  const auto place = [](uint64_t count, const std::string& bytes) {
    return bytes_of(count, uint64_t{0}, uint64_t{bytes.size()}, crc32c(bytes));
  };
  const auto claiming = [&](size_t count) {
    const std::string many =
        Series{std::vector<int64_t>(count, 7), std::vector<double>(count, 1.5), std::vector<double>(count, 1)}.packed();
    return many + forged(object, place(3, real_bytes), place(count, many)).substr(real_bytes.size());
  };
  {
    // As many as could be there if each were a value of a summary: believed, like everything else that is in the form.
    const Opened opened(folder.path(), claiming(file.size() / 6));
    CHECK_EQ(opened.logdir->bytes_read(), 0u);
    CHECK_EQ(shown(*opened.logdir, "loss").size(), file.size() / 6);
  }
  for (const size_t count : {file.size() / 6 + 1, size_t{100'000}, size_t{2'000'000}}) {
    const Opened opened(folder.path(), claiming(count));
    CHECK_EQ(opened.logdir->bytes_read(), file.size());
    CHECK_EQ(steps_of(shown(*opened.logdir, "loss")), (std::vector<int64_t>{1, 2, 3}));
    CHECK(!fs::exists(opened.cache.path() / "packed"));
  }
}

TEST(no_file_counts_twice_for_what_the_event_files_can_hold) {
  const Folder folder;
  const std::string file = file_of(100, "loss", {1, 2, 3}, 1);
  write_file(folder.path() / "a", file);
  write_file(folder.path() / "b", file);
  Logdir honest(folder.path().string());
  honest.refresh({"a", "b"});
  const Opened opened(folder.path(),
                      forged(honest.pack().value(), bytes_of(uint64_t{1}, 'b'), bytes_of(uint64_t{1}, 'a')));
  CHECK_EQ(opened.logdir->bytes_read(), 2 * file.size());
  CHECK_EQ(opened.logdir->files().size(), 2u);
}

TEST(more_pictures_than_the_event_files_can_hold_are_not_believed) {
  const Folder folder;
  const std::string file =
      version_record(100) +
      record_of(102, 6, EventKind::summary, summary_of({value_of("picture", ValueKind::image, "pixels")}));
  write_file(folder.path() / "a", file);
  Logdir honest(folder.path().string());
  honest.refresh({"a"});
  const MediaEntry entry = honest.media(tag_number(honest, "picture")).at(0);
  const auto rows = [&](size_t count) {
    std::string packed;
    for (const uint64_t word : {static_cast<uint64_t>(entry.step), std::bit_cast<uint64_t>(entry.wall_time),
                                entry.offset, entry.length, uint64_t{entry.file}, uint64_t{entry.value_index}}) {
      pack_words(std::vector<uint64_t>(count, word), packed);
    }
    return bytes_of(uint64_t{count}, uint64_t{packed.size()}) + packed;
  };
  const std::string object = honest.pack().value();
  CHECK_EQ(Opened(folder.path(), object).logdir->bytes_read(), 0u);
  for (const size_t count : {file.size() / 4 + 1, size_t{100'000}, size_t{2'000'000}}) {
    const Opened opened(folder.path(), forged(object, rows(1), rows(count)));
    CHECK_EQ(opened.logdir->bytes_read(), file.size());
    CHECK_EQ(opened.logdir->media(tag_number(*opened.logdir, "picture")).size(), 1u);
  }
}

TEST(kinds_that_do_not_exist_are_not_believed) {
  const Folder folder;
  const std::string file = file_of(100, "loss", {1, 2, 3}, 1);
  write_file(folder.path() / "a", file);
  Logdir honest(folder.path().string());
  honest.refresh({"a"});
  const std::string object = honest.pack().value();
  // Name, metadata, source, kind, whether it is a scalar.
  const auto info = [](uint8_t source, uint8_t kind) {
    return bytes_of(uint64_t{4}) + "loss" + bytes_of(uint64_t{0}, source, kind, uint8_t{1});
  };
  CHECK_EQ(Opened(folder.path(), object).logdir->bytes_read(), 0u);
  for (const auto& [source, kind] :
       std::vector<std::pair<uint8_t, uint8_t>>{{4, 2}, {0, 1}, {0, 7}, {0, 9}, {0, 255}}) {
    const Opened opened(folder.path(), forged(object, info(0, 2), info(source, kind)));
    CHECK_EQ(opened.logdir->bytes_read(), file.size());
    CHECK_EQ(opened.logdir->tags().at(0).kind, ValueKind::simple_value);
  }
}

TEST(another_file_of_the_same_name_is_read) {
  Case c;
  write_file(c.trained.path() / "a", long_file(100, 200));
  const size_t size = c.pack();
  write_file(c.read.path() / "a", long_file(101, 200));
  CHECK_EQ(shown(*c.open(size), "loss")[0], (Point{0, 102, 0}));
}

TEST(what_is_absent_is_asked_for_when_columns_are_damaged) {
  Case c;
  const std::string bytes = long_file(100, 1000);
  write_file(c.trained.path() / "a", bytes);
  const size_t size = c.pack();
  c.copy_files();
  hollow_out(c.read.path() / "a");
  std::string other = read_bytes(c.packed);
  other[20] = static_cast<char>(other[20] ^ 1);
  write_file(c.packed, other);
  Logdir logdir(c.read.path().string(), "", c.place(size));
  logdir.set_absent({{"a", bytes.size() - 4096}});
  logdir.refresh({"a"});
  CHECK(!logdir.wants_absent());
  CHECK(!has_tag(logdir, "loss") || shown(logdir, "loss").empty());
  CHECK(logdir.wants_absent());
  write_file(c.read.path() / "a", bytes);
  logdir.set_absent({});
  logdir.refresh({"a"});
  CHECK_EQ(shown(logdir, "loss").size(), 1000u);
}

TEST(many_threads_may_look_first) {
  Case c;
  write_file(c.trained.path() / "a", long_file(100, 5000));
  const size_t size = c.pack();
  c.copy_files();
  const auto logdir = c.open(size);
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { right += shown(*logdir, "loss").size() == 5000; });
  }
  for (auto& thread : threads) thread.join();
  CHECK_EQ(right.load(), 4);
}

}  // namespace
}  // namespace aboard::testing
