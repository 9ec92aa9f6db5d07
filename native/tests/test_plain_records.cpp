// SPDX-License-Identifier: Apache-2.0
// Records that are decoded many at a time come out as they do one by one, and nothing else comes out.
#include <cstring>
#include <limits>
#include <random>

#include "check.hpp"
#include "event.hpp"
#include "plain_records.hpp"
#include "reader_support.hpp"
#include "record.hpp"

namespace aboard::testing {
namespace {

std::vector<plain_records_impl::Function> all_ways() {
  std::vector<plain_records_impl::Function> ways{&plain_records_impl::portable};
  if (plain_records_impl::hardware() != nullptr) ways.push_back(plain_records_impl::hardware());
  return ways;
}

// What must come out: the records in front of the first that is not whole, not valid or no plain number.
struct Expected {
  std::vector<PlainScalar> scalars;
  size_t bytes = 0;
};

Expected one_by_one(std::string_view bytes, size_t most) {
  Expected expected;
  while (expected.scalars.size() < most) {
    Record record;
    PlainScalar scalar;
    if (parse_record(bytes.substr(expected.bytes), record) != RecordState::complete) break;
    if (!decode_plain_scalar(record.payload, scalar)) break;
    expected.scalars.push_back(scalar);
    expected.bytes += record.consumed;
  }
  return expected;
}

void check_same(std::string_view bytes, size_t most) {
  // In a piece of memory of its own, so that a sanitizer sees what is read behind the end.
  const auto copy = std::make_unique<char[]>(bytes.size());
  std::memcpy(copy.get(), bytes.data(), bytes.size());
  const std::string_view at(copy.get(), bytes.size());
  const Expected expected = one_by_one(at, most);
  std::vector<PlainRecord> records(most);
  for (const auto decode : all_ways()) {
    const PlainRecords found = decode(at, records);
    CHECK_EQ(found.count, expected.scalars.size());
    CHECK_EQ(found.bytes, expected.bytes);
    size_t total = 0;
    for (size_t i = 0; i < std::min(found.count, expected.scalars.size()); ++i) {
      const PlainScalar& scalar = expected.scalars[i];
      CHECK_EQ(records[i].tag(), scalar.tag);
      CHECK_EQ(records[i].step, scalar.step);
      CHECK(std::memcmp(&records[i].wall_time, &scalar.wall_time, sizeof(double)) == 0);
      CHECK(std::memcmp(&records[i].value, &scalar.value, sizeof(float)) == 0);
      total += records[i].bytes;
    }
    CHECK_EQ(total, found.bytes);
  }
}

std::string random_tag(std::mt19937_64& random) {
  // Around the lengths from which on a length takes two bytes.
  const size_t sizes[] = {0, 1, 7, 12, 30, 90, 110, 111, 112, 113, 116, 117, 118, 127, 128, 200, 20'000};
  return std::string(sizes[random() % std::size(sizes)], static_cast<char>('a' + random() % 26));
}

int64_t random_step(std::mt19937_64& random) {
  const int64_t edges[] = {0,
                           1,
                           127,
                           128,
                           1 << 14,
                           int64_t{1} << 34,
                           int64_t{1} << 35,
                           int64_t{1} << 42,
                           -1,
                           std::numeric_limits<int64_t>::max(),
                           std::numeric_limits<int64_t>::min()};
  return random() % 2 == 0 ? edges[random() % std::size(edges)] : static_cast<int64_t>(random() % 100'000);
}

std::string random_records(std::mt19937_64& random) {
  std::string bytes;
  for (uint64_t left = random() % 12; left > 0; --left) {
    bytes += random() % 16 == 0 ? version_record(1)
                                : scalar_record(random_tag(random), random_step(random), 1e9 + 0.1, 0.5f);
  }
  return bytes;
}

TEST(records_come_out_as_they_do_one_by_one) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) check_same(random_records(random), 1 + random() % 12);
}

TEST(nothing_comes_out_behind_damage_of_any_kind) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 4000; ++round) {
    std::string bytes = random_records(random);
    if (bytes.empty()) continue;
    if (random() % 2 == 0) bytes.resize(random() % bytes.size());
    for (uint64_t flips = random() % 3; flips > 0 && !bytes.empty(); --flips) {
      bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    }
    check_same(bytes, 16);
  }
}

// Valid checksums around payloads that are anything at all.
TEST(payloads_that_are_almost_plain_numbers_are_left_to_others) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 20'000; ++round) {
    std::string payload;
    encode_scalar(payload, 5.5, random_step(random), random_tag(random), 1.5f);
    for (uint64_t changes = random() % 3; changes > 0; --changes) {
      const size_t at = random() % std::min<size_t>(payload.size(), 40);
      if (random() % 4 == 0) {
        payload.erase(at, 1 + random() % 3);
      } else {
        payload[at] = static_cast<char>(random() % 4 == 0 ? payload[at] ^ 1 : random());
      }
      if (payload.empty()) payload = "x";
    }
    std::string bytes;
    append_record(bytes, payload);
    check_same(bytes, 2);
  }
}

TEST(a_payload_of_any_length_is_checked_to_its_last_byte) {
  for (size_t length = 0; length < 64; ++length) {
    const std::string good = scalar_record(std::string(length, 't'), 1000, 1, 2);
    check_same(good, 1);
    for (size_t at = 0; at < good.size(); ++at) {
      std::string bad = good;
      bad[at] ^= 0x20;
      check_same(bad, 1);
      check_same(std::string_view(good).substr(0, at), 1);
    }
  }
}

}  // namespace
}  // namespace aboard::testing
