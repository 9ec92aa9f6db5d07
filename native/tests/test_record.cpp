// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "check.hpp"
#include "crc32c.hpp"
#include "record.hpp"
#include "record_search.hpp"

namespace aboard {
namespace {

using namespace std::literals;

std::string framed(std::string_view payload) {
  std::string out;
  append_record(out, payload);
  return out;
}

// A valid header in front of nothing: what an attacker, or a writer that died, leaves.
std::string header_for(uint64_t length) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>((length >> (8 * i)) & 0xff));
  const uint32_t crc = masked_crc32c(bytes);
  for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<char>((crc >> (8 * i)) & 0xff));
  return bytes;
}

std::string noise(size_t size, uint32_t seed = 5) {
  std::mt19937 random(seed);
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(random() & 0xff);
  return bytes;
}

std::vector<std::string> read_whole(RecordReader& reader) {
  std::vector<std::string> payloads;
  std::string_view payload;
  while (reader.next(payload) == RecordState::complete) payloads.emplace_back(payload);
  return payloads;
}

TEST(golden_bytes) {
  // As written by tensorboardX.
  CHECK_EQ(framed(""), "\x00\x00\x00\x00\x00\x00\x00\x00\x29\x03\x98\x07\xd8\xea\x82\xa2"s);
  CHECK_EQ(framed("abc"),
           "\x03\x00\x00\x00\x00\x00\x00\x00\xb0\x99\x49\x0e"
           "abc"
           "\x6e\x57\xf1\x21"s);
  // How the event files of everybody begin.
  CHECK_EQ(framed(std::string(24, '\0')).substr(0, 12), "\x18\x00\x00\x00\x00\x00\x00\x00\xa3\x7f\x4b\x22"s);
}

TEST(encoding_in_place_is_the_same) {
  std::string out = "before";
  const size_t start = begin_record(out);
  out += "payload";
  end_record(out, start);
  CHECK_EQ(out, "before" + framed("payload"));
}

TEST(truncated_at_every_byte) {
  const std::string bytes = framed("some payload");
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<char> cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
    Record record;
    CHECK_EQ(parse_record({cut.data(), cut.size()}, record), RecordState::incomplete);
    CHECK_EQ(record.consumed, 0u);
    CHECK(record.payload.empty());
  }
  Record record;
  CHECK_EQ(parse_record(bytes, record), RecordState::complete);
  CHECK_EQ(record.consumed, bytes.size());
  CHECK_EQ(record.payload, "some payload");
}

TEST(every_flipped_bit_is_seen) {
  const std::string good = framed("some payload");
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    Record record;
    const RecordState state = parse_record(bytes, record);
    const bool in_header = bit / 8 < kRecordHeaderBytes;
    CHECK_EQ(state, in_header ? RecordState::bad_length : RecordState::bad_data);
    CHECK_EQ(record.consumed, in_header ? 0 : good.size());
  }
}

TEST(lengths_near_the_end_of_the_number_range) {
  for (const uint64_t length :
       {~uint64_t{0}, ~uint64_t{0} - 15, ~uint64_t{0} - 16, uint64_t{1} << 63, uint64_t{1} << 32}) {
    const std::string bytes = header_for(length) + noise(100);
    Record record;
    CHECK_EQ(parse_record(bytes, record), RecordState::incomplete);
    CHECK_EQ(record.consumed, 0u);
    CHECK_EQ(find_record(bytes), std::string_view::npos);
  }
}

TEST(one_byte_at_a_time) {
  const std::vector<std::string> payloads{"", "a", noise(300), std::string(5000, 'x'), "", "end"};
  std::string bytes;
  std::vector<size_t> ends;
  for (const auto& payload : payloads) {
    append_record(bytes, payload);
    ends.push_back(bytes.size());
  }
  RecordReader reader;
  size_t read = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    reader.feed(std::string_view(bytes).substr(at, 1));
    std::string_view payload;
    if (at + 1 == ends[read]) {
      CHECK_EQ(reader.next(payload), RecordState::complete);
      CHECK_EQ(payload, payloads[read]);
      ++read;
    }
    CHECK_EQ(reader.next(payload), RecordState::incomplete);
    CHECK_EQ(reader.offset(), read == 0 ? 0 : ends[read - 1]);
  }
  CHECK_EQ(read, payloads.size());
}

TEST(resuming_at_the_offset_in_another_reader) {
  std::string bytes;
  for (int i = 0; i < 20; ++i) append_record(bytes, "payload " + std::to_string(i));
  for (size_t cut = 0; cut <= bytes.size(); cut += 7) {
    RecordReader first;
    first.feed(std::string_view(bytes).substr(0, cut));
    auto payloads = read_whole(first);
    RecordReader second;
    second.feed(std::string_view(bytes).substr(first.offset()));
    for (auto& payload : read_whole(second)) payloads.push_back(payload);
    CHECK_EQ(payloads.size(), 20u);
    CHECK_EQ(payloads.back(), "payload 19");
  }
}

TEST(damaged_data_costs_one_record) {
  std::string bytes = framed("one");
  const size_t second = bytes.size();
  append_record(bytes, "two");
  append_record(bytes, "three");
  bytes[second + kRecordHeaderBytes] = 'x';
  RecordReader reader;
  reader.feed(bytes);
  std::string_view payload;
  CHECK_EQ(reader.next(payload), RecordState::complete);
  CHECK_EQ(reader.next(payload), RecordState::bad_data);
  CHECK_EQ(reader.next(payload), RecordState::complete);
  CHECK_EQ(payload, "three");
  CHECK_EQ(reader.offset(), bytes.size());
}

TEST(resynchronise_after_a_damaged_header) {
  for (const size_t lost : {size_t{0}, size_t{1}, size_t{11}, size_t{12}, size_t{500}}) {
    std::string bytes = framed("one");
    const size_t damage = bytes.size();
    std::string broken = framed("two");
    broken[0] = static_cast<char>(broken[0] ^ 1);
    bytes += broken + noise(lost);
    const size_t third = bytes.size();
    append_record(bytes, "three");
    RecordReader reader;
    reader.feed(bytes);
    CHECK_EQ(read_whole(reader).size(), 1u);
    std::string_view payload;
    CHECK_EQ(reader.next(payload), RecordState::bad_length);
    CHECK_EQ(reader.offset(), damage);
    REQUIRE(reader.resynchronise());
    CHECK_EQ(reader.offset(), third);
    CHECK_EQ(reader.next(payload), RecordState::complete);
    CHECK_EQ(payload, "three");
    CHECK_EQ(find_record(std::string_view(bytes).substr(damage)), third - damage);
  }
}

TEST(resynchronise_while_the_file_grows) {
  // The damage and the next record arrive in pieces of every size.
  for (size_t piece = 1; piece < 90; ++piece) {
    const std::string bytes = noise(200) + framed("first after it") + framed("second") + noise(50) + framed("third");
    RecordReader reader;
    std::vector<std::string> payloads;
    uint64_t offset = 0;
    for (size_t at = 0; at < bytes.size(); at += piece) {
      reader.feed(std::string_view(bytes).substr(at, piece));
      std::string_view payload;
      while (true) {
        const RecordState state = reader.next(payload);
        CHECK(reader.offset() >= offset);
        offset = reader.offset();
        if (state == RecordState::complete) {
          payloads.emplace_back(payload);
        } else if (state == RecordState::incomplete || !reader.resynchronise()) {
          break;
        }
      }
      CHECK(reader.offset() >= offset);
      offset = reader.offset();
    }
    CHECK(payloads == (std::vector<std::string>{"first after it", "second", "third"}));
    CHECK_EQ(reader.offset(), bytes.size());
  }
}

TEST(a_false_header_does_not_hide_what_follows) {
  // A header that is right and a payload that never comes, for example of a writer that died, then whole records.
  const std::string bytes = noise(30) + header_for(100000) + framed("one") + framed("two");
  RecordReader reader;
  reader.feed(bytes);
  std::string_view payload;
  CHECK_EQ(reader.next(payload), RecordState::bad_length);
  REQUIRE(reader.resynchronise());
  CHECK_EQ(read_whole(reader).size(), 2u);
  // The same when the header comes first and alone: a reader that is searching must not settle on it.
  RecordReader growing;
  size_t read = 0;
  for (size_t at = 0; at < bytes.size(); at += 21) {
    growing.feed(std::string_view(bytes).substr(at, 21));
    while (true) {
      const RecordState state = growing.next(payload);
      if (state == RecordState::complete) ++read;
      if (state == RecordState::incomplete || (state == RecordState::bad_length && !growing.resynchronise())) break;
    }
  }
  CHECK_EQ(read, 2u);
}

TEST(a_record_seen_in_part_is_found_when_it_is_whole) {
  // Its header was there at the first search; the search must not go past it for good.
  const std::string record = framed(noise(5000));
  const std::string bytes = noise(40) + record;
  for (const size_t first : {size_t{40}, size_t{51}, size_t{52}, size_t{60}, size_t{3000}, bytes.size() - 1}) {
    RecordReader reader;
    reader.feed(std::string_view(bytes).substr(0, first));
    CHECK(!reader.resynchronise());
    CHECK(!reader.resynchronise());
    reader.feed(std::string_view(bytes).substr(first));
    REQUIRE(reader.resynchronise());
    CHECK_EQ(reader.offset(), 40u);
    CHECK_EQ(read_whole(reader).size(), 1u);
  }
}

// What would take quadratic time takes many minutes in these tests: their time limit ends it.

TEST(searching_noise_takes_linear_time) {
  const std::string bytes = noise(4 << 20);
  CHECK_EQ(find_record(bytes), std::string_view::npos);
  // In pieces, as a file grows: each byte is looked at once, not once per piece.
  RecordReader reader;
  for (size_t at = 0; at < bytes.size(); at += 64) {
    reader.feed(std::string_view(bytes).substr(at, 64));
    CHECK(!reader.resynchronise());
  }
  CHECK(reader.offset() > bytes.size() - 4096);  // what was searched is not kept in memory either
}

TEST(waiting_for_a_large_record_takes_linear_time) {
  const std::string bytes = noise(20) + framed(noise(4 << 20));
  RecordReader reader;
  for (size_t at = 0; at < bytes.size(); at += 64) {
    reader.feed(std::string_view(bytes).substr(at, 64));
    if (at + 64 < bytes.size()) CHECK(!reader.resynchronise());
  }
  CHECK(reader.resynchronise());
  CHECK_EQ(reader.offset(), 20u);
}

TEST(valid_headers_all_over_take_linear_time) {
  // Each promises a payload of half the window.
  std::string bytes;
  const std::string header = header_for(8 << 20);
  while (bytes.size() < 16 << 20) bytes += header;
  CHECK_EQ(find_record(bytes), std::string_view::npos);
  RecordReader reader;
  for (size_t at = 0; at < bytes.size(); at += 65536) {
    reader.feed(std::string_view(bytes).substr(at, 65536));
    CHECK(!reader.resynchronise());
  }
}

TEST(damaged_records_all_over_do_not_stop_the_search) {
  // Many right headers with wrong payloads, as after a failing memory module, and one whole record at the end.
  std::string bytes = "x";
  for (int i = 0; i < 1000; ++i) {
    std::string record = framed(noise(1000, static_cast<uint32_t>(i)));
    record[500] = static_cast<char>(record[500] ^ 1);
    bytes += record;
  }
  const size_t last = bytes.size();
  append_record(bytes, "whole");
  CHECK_EQ(find_record(bytes), last);
  RecordReader reader;
  reader.feed(bytes);
  REQUIRE(reader.resynchronise());
  CHECK_EQ(reader.offset(), last);
}

TEST(feeding_small_pieces_behind_a_large_rest_takes_linear_time) {
  std::string record = framed(std::string(1000, 'r'));
  std::string bytes;
  while (bytes.size() < 64 << 20) bytes += record;
  RecordReader reader;
  reader.feed(bytes);
  size_t read = 0;
  std::string_view payload;
  while (reader.next(payload) == RecordState::complete) {
    ++read;
    reader.feed("");
  }
  CHECK_EQ(read, bytes.size() / record.size());
  CHECK_EQ(reader.offset(), bytes.size());
}

}  // namespace
}  // namespace aboard
