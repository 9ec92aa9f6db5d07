// SPDX-License-Identifier: Apache-2.0
#include "tag_table.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <random>
#include <utility>

namespace aboard {
namespace {

std::array<uint64_t, 2> draw_key() {
  std::random_device device;
  const auto word = [&] { return uint64_t{device()} << 32 | device(); };
  return {word(), word()};
}

}  // namespace

uint64_t keyed_hash(std::string_view text, uint64_t salt) noexcept {
  static const std::array<uint64_t, 2> key = draw_key();
  uint64_t v0 = key[0] ^ 0x736f6d6570736575, v1 = key[1] ^ 0x646f72616e646f6d;
  uint64_t v2 = key[0] ^ 0x6c7967656e657261, v3 = key[1] ^ 0x7465646279746573 ^ salt;
  const auto round = [&] {
    v0 += v1, v1 = std::rotl(v1, 13) ^ v0, v0 = std::rotl(v0, 32);
    v2 += v3, v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3, v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1, v1 = std::rotl(v1, 17) ^ v2, v2 = std::rotl(v2, 32);
  };
  const auto take = [&](uint64_t word) {
    v3 ^= word;
    round();
    v0 ^= word;
  };
  const uint64_t size = text.size();
  for (; text.size() >= 8; text.remove_prefix(8)) {
    uint64_t word;
    std::memcpy(&word, text.data(), sizeof word);
    take(word);
  }
  uint64_t last = size << 56;
  std::memcpy(&last, text.data(), text.size());
  take(last);
  v2 ^= 0xff;
  for (int i = 0; i < 3; ++i) round();
  return v0 ^ v1 ^ v2 ^ v3;
}

void TagTable::add(uint64_t hash, uint32_t number) {
  if (slots_.size() / 4 * 3 <= size_) {
    const auto old = std::exchange(slots_, std::vector<Slot>(std::max<size_t>(16, slots_.size() * 2)));
    for (const Slot& slot : old) {
      if (slot.number != kNone) put(slot);
    }
  }
  put({static_cast<uint32_t>(hash >> 32), number, static_cast<uint32_t>(hash)});
  ++size_;
}

void TagTable::put(const Slot& slot) noexcept {
  const size_t mask = slots_.size() - 1;
  size_t at = slot.place & mask;
  while (slots_[at].number != kNone) at = (at + 1) & mask;
  slots_[at] = slot;
}

}  // namespace aboard
