// SPDX-License-Identifier: Apache-2.0
#include "packed_columns.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "little_endian.hpp"

namespace aboard {
namespace {

constexpr size_t kBlock = 128;  // words that share a width
constexpr size_t kMostOrder = 2;
constexpr size_t kSlack = 16;  // so that whole words can be loaded behind the last bit

static_assert(kBlock == kMostPointsPerByte);

// What a word of a column stands for. Numbers in the order of their values have small differences, also where the sign
// or the exponent changes.
enum class Form : uint8_t { integers = 0, doubles = 1, floats = 2 };

constexpr uint64_t kSign64 = uint64_t{1} << 63;
constexpr uint32_t kSign32 = uint32_t{1} << 31;

uint64_t ordered(double value) noexcept {
  const auto bits = std::bit_cast<uint64_t>(value);
  return bits & kSign64 ? ~bits : bits | kSign64;
}
double from_ordered(uint64_t word) noexcept { return std::bit_cast<double>(word & kSign64 ? word & ~kSign64 : ~word); }
uint64_t ordered(float value) noexcept {
  const auto bits = std::bit_cast<uint32_t>(value);
  return bits & kSign32 ? ~bits : bits | kSign32;
}
double from_ordered_float(uint64_t word) noexcept {
  const auto bits = static_cast<uint32_t>(word);
  return std::bit_cast<float>(bits & kSign32 ? bits & ~kSign32 : ~bits);
}

bool are_floats(std::span<const double> values) noexcept {
  return std::ranges::all_of(values, [](double value) {
    const auto rounded = static_cast<double>(static_cast<float>(value));
    return std::bit_cast<uint64_t>(rounded) == std::bit_cast<uint64_t>(value);
  });
}

// Negative and positive differences alike become small numbers.
uint64_t folded(uint64_t difference) noexcept {
  return (difference << 1) ^ static_cast<uint64_t>(static_cast<int64_t>(difference) >> 63);
}
uint64_t unfolded(uint64_t word) noexcept { return (word >> 1) ^ (~(word & 1) + 1); }

std::vector<uint64_t> differences(std::span<const uint64_t> words, size_t order) {
  std::vector<uint64_t> residues(words.begin() + static_cast<ptrdiff_t>(std::min(order, words.size())), words.end());
  for (size_t i = order; i < words.size(); ++i) {
    const uint64_t expected = order == 0 ? 0 : order == 1 ? words[i - 1] : 2 * words[i - 1] - words[i - 2];
    residues[i - order] = order == 0 ? words[i] : folded(words[i] - expected);
  }
  return residues;
}

uint8_t width_of(std::span<const uint64_t> block) noexcept {
  uint64_t all = 0;
  for (const uint64_t word : block) all |= word;
  return static_cast<uint8_t>(std::bit_width(all));
}

size_t bytes_for(size_t words, size_t width) noexcept { return (words * width + 7) / 8; }

template <typename Use>
void each_block(std::span<const uint64_t> words, const Use& use) {
  for (size_t begin = 0; begin < words.size(); begin += kBlock) {
    use(words.subspan(begin, std::min(kBlock, words.size() - begin)));
  }
}

size_t packed_size(std::span<const uint64_t> residues) {
  size_t size = 0;
  each_block(residues, [&](auto block) { size += 1 + bytes_for(block.size(), width_of(block)); });
  return size;
}

void put_word(uint64_t word, std::string& out) {
  char bytes[sizeof word];
  store_little(bytes, word);
  out.append(bytes, sizeof word);
}

void put_block(std::span<const uint64_t> block, std::string& out) {
  const uint8_t width = width_of(block);
  out.push_back(static_cast<char>(width));
  uint64_t pending = 0;
  unsigned filled = 0;
  const auto put_byte = [&] {
    out.push_back(static_cast<char>(pending));
    pending >>= 8;
    filled -= 8;
  };
  for (const uint64_t word : block) {
    // In two parts, so that what is pending never outgrows its word.
    for (unsigned done = 0; done < width; done += 32) {
      const unsigned bits = std::min(32u, width - done);
      const uint64_t part = (word >> done) & ((uint64_t{1} << bits) - 1);
      pending |= part << filled;
      filled += bits;
      while (filled >= 8) put_byte();
    }
  }
  if (filled > 0) out.push_back(static_cast<char>(pending));
}

// A byte for the form and the order, the first words, then blocks of what is left when each word is foretold from
// those before it.
void put_column(Form form, std::span<const uint64_t> words, std::string& out) {
  size_t best = 0;
  size_t least = ~size_t{0};
  for (size_t order = 0; order <= kMostOrder; ++order) {
    const size_t size = 8 * std::min(order, words.size()) + packed_size(differences(words, order));
    if (size < least) {
      least = size;
      best = order;
    }
  }
  out.push_back(static_cast<char>(static_cast<size_t>(form) << 4 | best));
  for (size_t i = 0; i < std::min(best, words.size()); ++i) put_word(words[i], out);
  const auto residues = differences(words, best);
  each_block(residues, [&](auto block) { put_block(block, out); });
}

uint64_t load_word(const char* at) noexcept { return load_little<uint64_t>(at); }

// Takes a column apart, word by word.
class ColumnTaker {
 public:
  explicit ColumnTaker(std::string_view packed) : rest_(packed) {}

  std::string_view rest() const noexcept { return rest_; }

  // False when the bytes do not hold that many words. `choose` is told which form they have, and what to call with a
  // function that is to be told of each word.
  template <typename Choose>
  bool take(size_t count, const Choose& choose) noexcept {
    if (rest_.empty()) return false;
    const auto head = static_cast<uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    const size_t order = head & 0xf;
    if (order > kMostOrder) return false;
    return choose(static_cast<Form>(head >> 4), [&](const auto& use) { return take_words(count, order, use); });
  }

 private:
  template <typename Use>
  bool take_words(size_t count, size_t order, const Use& use) noexcept {
    uint64_t last = 0, before = 0;
    size_t at = 0;
    for (; at < std::min(order, count); ++at) {
      if (rest_.size() < 8) return false;
      before = last;
      last = load_word(rest_.data());
      rest_.remove_prefix(8);
      use(at, last);
    }
    uint64_t words[kBlock];
    while (at < count) {
      const size_t size = std::min(kBlock, count - at);
      if (!take_block(size, words)) return false;
      for (size_t i = 0; i < size; ++i, ++at) {
        const uint64_t expected = order == 0 ? 0 : order == 1 ? last : 2 * last - before;
        before = last;
        last = order == 0 ? words[i] : expected + unfolded(words[i]);
        use(at, last);
      }
    }
    return true;
  }

  bool take_block(size_t size, uint64_t* words) noexcept {
    if (rest_.empty()) return false;
    const auto width = static_cast<uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    const size_t bytes = bytes_for(size, width);
    if (width > 64 || bytes > rest_.size()) return false;
    if (width == 0) {
      std::fill_n(words, size, 0);
      return true;
    }
    char room[kBlock * 8 + kSlack];
    const char* from = rest_.data();
    if (rest_.size() < bytes + kSlack) {
      std::memcpy(room, from, bytes);
      std::memset(room + bytes, 0, kSlack);
      from = room;
    }
    const uint64_t mask = ~uint64_t{0} >> (64 - width);
    for (size_t i = 0, bit = 0; i < size; ++i, bit += width) {
      const char* const at = from + bit / 8;
      const unsigned shift = bit % 8;
      uint64_t word = load_word(at) >> shift;
      if (width + shift > 64) word |= load_word(at + 8) << (64 - shift);
      words[i] = word & mask;
    }
    rest_.remove_prefix(bytes);
    return true;
  }

  std::string_view rest_;
};

bool take_numbers(ColumnTaker& taker, size_t count, double* to) noexcept {
  return taker.take(count, [&](Form form, const auto& words) {
    if (form == Form::doubles) return words([&](size_t at, uint64_t word) { to[at] = from_ordered(word); });
    if (form == Form::floats) return words([&](size_t at, uint64_t word) { to[at] = from_ordered_float(word); });
    return false;
  });
}

template <typename Integer>
bool take_integers(ColumnTaker& taker, size_t count, Integer* to) noexcept {
  return taker.take(count, [&](Form form, const auto& words) {
    if (form != Form::integers) return false;
    return words([&](size_t at, uint64_t word) { to[at] = static_cast<Integer>(word); });
  });
}

void put_numbers(std::span<const double> numbers, std::string& out) {
  std::vector<uint64_t> words(numbers.size());
  const bool floats = are_floats(numbers);
  std::ranges::transform(numbers, words.begin(),
                         [&](double number) { return floats ? ordered(static_cast<float>(number)) : ordered(number); });
  put_column(floats ? Form::floats : Form::doubles, words, out);
}

}  // namespace

void pack_columns(std::span<const int64_t> steps, std::span<const double> wall_times, std::span<const double> values,
                  std::string& out) {
  put_column(Form::integers, std::vector<uint64_t>(steps.begin(), steps.end()), out);
  put_numbers(wall_times, out);
  put_numbers(values, out);
}

bool unpack_columns(std::string_view packed, size_t count, int64_t* steps, double* wall_times,
                    double* values) noexcept {
  if (count / kMostPointsPerByte > packed.size()) return false;
  ColumnTaker taker(packed);
  return take_integers(taker, count, steps) && take_numbers(taker, count, wall_times) &&
         take_numbers(taker, count, values) && taker.rest().empty();
}

void pack_words(std::span<const uint64_t> words, std::string& out) { put_column(Form::integers, words, out); }

bool unpack_words(std::string_view& packed, size_t count, uint64_t* words) noexcept {
  ColumnTaker taker(packed);
  if (!take_integers(taker, count, words)) return false;
  packed = taker.rest();
  return true;
}

}  // namespace aboard
