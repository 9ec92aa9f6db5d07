// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <string>
#include <vector>

#include "check.hpp"
#include "tag_table.hpp"

namespace aboard {
namespace {

TEST(numbers_are_found_by_name) {
  TagTable table;
  std::vector<std::string> names;
  const auto find = [&](const std::string& name) {
    return table.find(keyed_hash(name, 0), [&](uint32_t number) { return names[number] == name; });
  };
  CHECK_EQ(find("x"), TagTable::kNone);
  for (uint32_t i = 0; i < 5000; ++i) {
    names.push_back("tag " + std::to_string(i));
    table.add(keyed_hash(names.back(), 0), i);
  }
  CHECK_EQ(table.size(), 5000u);
  for (uint32_t i = 0; i < 5000; ++i) CHECK_EQ(find(names[i]), i);
  CHECK_EQ(find("tag 5000"), TagTable::kNone);
}

TEST(equal_hashes_are_told_apart_by_name) {
  TagTable table;
  for (uint32_t i = 0; i < 100; ++i) table.add(42, i);
  for (uint32_t i = 0; i < 100; ++i) CHECK_EQ(table.find(42, [&](uint32_t number) { return number == i; }), i);
}

TEST(hashes_depend_on_every_byte_the_length_and_the_salt) {
  std::set<uint64_t> hashes;
  size_t count = 0;
  const auto add = [&](const std::string& text, uint64_t salt) {
    hashes.insert(keyed_hash(text, salt));
    ++count;
  };
  for (size_t size = 0; size < 40; ++size) {
    const std::string text(size, '\0');
    for (uint64_t salt = 0; salt < 4; ++salt) add(text, salt);
    for (size_t at = 0; at < size; ++at) {
      std::string other = text;
      other[at] = 'x';
      add(other, 0);
    }
  }
  CHECK_EQ(hashes.size(), count);
}

}  // namespace
}  // namespace aboard
