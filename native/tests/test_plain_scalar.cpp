// SPDX-License-Identifier: Apache-2.0
// The short way to decode a scalar: what it says is what the long way says.
#include <bit>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "check.hpp"
#include "event.hpp"
#include "wire.hpp"

namespace aboard {
namespace {

// Whether it took the short way; what it then said has been compared.
bool compared(std::string_view bytes) {
  PlainScalar plain;
  if (!decode_plain_scalar(bytes, plain)) return false;
  EventView event;
  std::vector<std::string_view> values;
  ValueView value;
  CHECK(decode_event(bytes, event) && event.kind == EventKind::summary);
  CHECK(decode_summary(event.payload, values));
  if (!CHECK_EQ(values.size(), 1u) || !CHECK(decode_value(values[0], value))) return true;
  CHECK_EQ(value.kind, ValueKind::simple_value);
  CHECK_EQ(std::string(value.tag), std::string(plain.tag));
  CHECK(value.metadata.empty() && value.payload.empty());
  CHECK_EQ(event.step, plain.step);
  CHECK_EQ(std::bit_cast<uint64_t>(event.wall_time), std::bit_cast<uint64_t>(plain.wall_time));
  CHECK_EQ(std::bit_cast<uint32_t>(value.simple_value), std::bit_cast<uint32_t>(plain.value));
  return true;
}

std::string scalar(std::string_view tag, int64_t step, double wall_time, float value) {
  std::string bytes;
  encode_scalar(bytes, wall_time, step, tag, value);
  return bytes;
}

TEST(what_is_written_takes_the_short_way) {
  using Steps = std::numeric_limits<int64_t>;
  for (const int64_t step :
       {int64_t{0}, int64_t{1}, int64_t{127}, int64_t{128}, int64_t{-1}, Steps::max(), Steps::min()}) {
    for (const size_t size : {0, 1, 40, 127, 128, 16'383, 16'384, 2'097'151, 2'097'152}) {
      CHECK(compared(scalar(std::string(size, 'x'), step, 1.5, 2.5f)));
    }
  }
  CHECK(compared(scalar("a", 1, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<float>::quiet_NaN())));
}

TEST(random_events) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const std::string tag(random() % 300, static_cast<char>(random()));
    CHECK(compared(scalar(tag, static_cast<int64_t>(random() >> (random() % 64)), std::bit_cast<double>(random()),
                          std::bit_cast<float>(static_cast<uint32_t>(random())))));
  }
}

TEST(every_truncation_and_every_changed_byte) {
  for (const auto& whole :
       {scalar("loss/train", 300, 1.7e9, 0.5f), scalar("", 0, 0, 0), scalar(std::string(200, 't'), -5, 1, 2)}) {
    for (size_t size = 0; size < whole.size(); ++size) CHECK(!compared(std::string_view(whole).substr(0, size)));
    for (size_t at = 0; at < whole.size(); ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string changed = whole;
        changed[at] = static_cast<char>(byte);
        compared(changed);
      }
    }
    for (int byte = 0; byte < 256; ++byte) compared(whole + static_cast<char>(byte));
    for (size_t at = 0; at <= whole.size(); ++at) {
      for (int byte = 0; byte < 256; ++byte) compared(std::string(whole).insert(at, 1, static_cast<char>(byte)));
    }
  }
}

TEST(random_mutations) {
  std::mt19937_64 random(2);
  int taken = 0;
  for (int i = 0; i < 200'000; ++i) {
    std::string bytes = scalar(std::string(random() % 140, 'x'), static_cast<int64_t>(random() % 1000), 1.5, 2.5f);
    for (uint64_t times = random() % 3; times > 0; --times) {
      const size_t at = random() % bytes.size();
      if (random() % 4 == 0) {
        bytes.erase(at, 1 + random() % 3);
        if (bytes.empty()) bytes = "\x09";
      } else {
        bytes[at] = static_cast<char>(random());
      }
    }
    taken += compared(bytes) ? 1 : 0;
  }
  CHECK(taken > 50'000);
}

// Valid messages of another form are left to the long way, or said to be the same.
TEST(other_forms) {
  std::string value, summary, event;
  wire::Encoder encoder(value);
  encoder.bytes(1, "tag");
  encoder.float32(2, 1);
  encoder.bytes(9, "");
  wire::Encoder(summary).bytes(1, value);
  encode_event(event, 1, 2, EventKind::summary, summary);
  CHECK(!compared(event));  // has metadata

  const std::string one = scalar("tag", 1, 1, 1);
  CHECK(!compared(one + one));
  CHECK(!compared(""));
  // A step of ten bytes with bits beyond the 64th, and lengths that are longer than they need be.
  const std::string tail = one.substr(11);
  compared(one.substr(0, 9) + "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" + tail);
  compared(one.substr(0, 9) + "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f" + tail);
  compared(one.substr(0, 9) + "\x10\x81\x80\x80\x80\x80\x80\x80\x80\x80\x00" + tail);
  for (const size_t at : {12, 14, 16}) {
    for (size_t zeros = 1; zeros < 6; ++zeros) {
      std::string longer = one;
      std::string more(zeros, '\x80');
      more.back() = '\0';
      longer[at] = static_cast<char>(longer[at] | 0x80);
      longer.insert(at + 1, more);
      compared(longer);
    }
  }
}

}  // namespace
}  // namespace aboard
