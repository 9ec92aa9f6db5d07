// SPDX-License-Identifier: Apache-2.0
#include <random>
#include <string>

#include "check.hpp"
#include "crc32c.hpp"

namespace aboard {
namespace {

// The definition, one bit at a time.
uint32_t by_definition(std::string_view data) {
  uint32_t crc = 0xffffffffu;
  for (const char c : data) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
  }
  return ~crc;
}

std::string random_bytes(size_t size) {
  std::mt19937 random(7);
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(random() & 0xff);
  return bytes;
}

TEST(known_vectors) {
  std::string ascending;
  for (int i = 0; i < 32; ++i) ascending.push_back(static_cast<char>(i));
  const std::string descending(ascending.rbegin(), ascending.rend());
  for (const auto function : {&crc32c, &crc32c_impl::portable}) {
    CHECK_EQ(function(std::string(32, '\0')), 0x8a9136aau);  // these four: RFC 3720, B.4
    CHECK_EQ(function(std::string(32, '\xff')), 0x62a8ab43u);
    CHECK_EQ(function(ascending), 0x46dd794eu);
    CHECK_EQ(function(descending), 0x113fdb5cu);
    CHECK_EQ(function("123456789"), 0xe3069283u);
    CHECK_EQ(function(""), 0u);
  }
}

TEST(all_implementations_agree_on_every_length_and_alignment) {
  const std::string bytes = random_bytes(4096 + 64);
  const auto hardware = crc32c_impl::hardware();
  if (hardware == nullptr) check::skip("this CPU has no CRC instructions");
  for (size_t start = 0; start < 16; ++start) {
    for (size_t size = 0; size < 300; ++size) {
      const std::string_view window = std::string_view(bytes).substr(start, size);
      const uint32_t expected = by_definition(window);
      CHECK_EQ(crc32c_impl::portable(window), expected);
      CHECK_EQ(crc32c(window), expected);
      if (hardware != nullptr) CHECK_EQ(hardware(window), expected);
    }
  }
  for (const size_t size : {size_t{1023}, size_t{1024}, size_t{1025}, size_t{4096}, bytes.size()}) {
    const std::string_view window = std::string_view(bytes).substr(0, size);
    CHECK_EQ(crc32c_impl::portable(window), by_definition(window));
    CHECK_EQ(crc32c(window), by_definition(window));
  }
}

TEST(mask_is_that_of_tfrecord) {
  // The masked checksum of an empty payload is in the footer of every empty TFRecord.
  CHECK_EQ(mask_crc(0), 0xa282ead8u);
  CHECK_EQ(mask_crc(0xffffffffu), 0xa282ead7u);
  CHECK_EQ(masked_crc32c("123456789"), ((0xe3069283u >> 15) | (0xe3069283u << 17)) + 0xa282ead8u);
}

TEST(chosen_implementation_has_a_name) {
  const std::string_view name = crc32c_impl::chosen_name();
  CHECK_EQ(name == "portable", crc32c_impl::hardware() == nullptr);
}

}  // namespace
}  // namespace aboard
