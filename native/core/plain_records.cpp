// SPDX-License-Identifier: Apache-2.0
#include "plain_records.hpp"

#include <bit>
#include <cstring>

#include "crc32c.hpp"
#include "event.hpp"
#include "little_endian.hpp"
#include "record.hpp"

namespace aboard {
namespace {

constexpr size_t kLengthBytes = sizeof(uint64_t);
constexpr size_t kShortestPayload = 9 + 2 + 2 + 2 + 5;  // no step, no tag
constexpr uint64_t kLongestPayload = 1 << 16;           // longer ones are left to others

struct AnyCrc {
  static uint32_t of_length(const char* at) noexcept { return crc32c({at, kLengthBytes}); }
  static uint32_t of(const char* at, size_t size) noexcept { return crc32c({at, size}); }
};

#if defined(__x86_64__)
// As assembler: an intrinsic could only be inlined into functions that are compiled for such CPUs alone.
struct InlinedCrc {
  template <typename Word>
  static uint64_t add(uint64_t crc, const char* at) noexcept {
    Word word;
    std::memcpy(&word, at, sizeof word);
    if constexpr (sizeof word == 8) {
      __asm__("crc32q %1, %0" : "+r"(crc) : "r"(word));
    } else if constexpr (sizeof word == 4) {
      __asm__("crc32l %k1, %k0" : "+r"(crc) : "r"(word));
    } else if constexpr (sizeof word == 2) {
      __asm__("crc32w %w1, %k0" : "+r"(crc) : "r"(word));
    } else {
      __asm__("crc32b %b1, %k0" : "+r"(crc) : "q"(word));
    }
    return crc;
  }
  static uint32_t of_length(const char* at) noexcept { return ~static_cast<uint32_t>(add<uint64_t>(0xffffffffu, at)); }
  static uint32_t of(const char* at, size_t size) noexcept {
    uint64_t crc = 0xffffffffu;
    for (; size >= 8; at += 8, size -= 8) crc = add<uint64_t>(crc, at);
    if (size & 4) crc = add<uint32_t>(crc, at), at += 4;
    if (size & 2) crc = add<uint16_t>(crc, at), at += 2;
    if (size & 1) crc = add<uint8_t>(crc, at);
    return ~static_cast<uint32_t>(crc);
  }
};
#endif

template <typename Value>
Value load(const char* at) noexcept {
  Value value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// The usual form of what decode_plain_scalar knows: lengths of one byte, and a step. False says nothing.
inline bool decode_usual(const char* at, size_t size, PlainRecord& record) noexcept {
  const char* const end = at + size;
  if (at[0] != 0x09 || at[9] != 0x10) return false;
  record.wall_time = load<double>(at + 1);
  at += 10;
  uint64_t step = 0;
  int shift = 0;
  for (; static_cast<signed char>(*at) < 0; ++at, shift += 7) {
    if (shift > 28) return false;
    step |= uint64_t{static_cast<unsigned char>(*at) & 0x7fu} << shift;
  }
  record.step = static_cast<int64_t>(step | uint64_t{static_cast<unsigned char>(*at)} << shift);
  ++at;
  // Keys and lengths: summary, value, tag. Each of the first two reaches to the end.
  const auto left = static_cast<size_t>(end - at);
  if (left < 11 || left >= 0x80) return false;
  const auto tag_bytes = left - 11;
  if (at[0] != 0x2a || static_cast<size_t>(at[1]) != left - 2 || at[2] != 0x0a ||
      static_cast<size_t>(at[3]) != left - 4 || at[4] != 0x0a || static_cast<size_t>(at[5]) != tag_bytes ||
      end[-5] != 0x15) {
    return false;
  }
  record.tag_begin = at + 6;
  record.tag_bytes = static_cast<uint32_t>(tag_bytes);
  record.value = load<float>(end - 4);
  return true;
}

bool decode_any(std::string_view payload, PlainRecord& record) noexcept {
  PlainScalar scalar;
  if (!decode_plain_scalar(payload, scalar)) return false;
  record.wall_time = scalar.wall_time;
  record.step = scalar.step;
  record.tag_begin = scalar.tag.data();
  record.tag_bytes = static_cast<uint32_t>(scalar.tag.size());
  record.value = scalar.value;
  return true;
}

template <typename Crc>
PlainRecords decode(std::string_view bytes, std::span<PlainRecord> records) noexcept {
  PlainRecords decoded;
  if constexpr (std::endian::native != std::endian::little) return decoded;
  const char* at = bytes.data();
  size_t left = bytes.size();
  while (decoded.count < records.size() && left >= kRecordOverheadBytes + kShortestPayload) {
    const auto length = load<uint64_t>(at);
    if (length < kShortestPayload || length > kLongestPayload || length > left - kRecordOverheadBytes ||
        mask_crc(Crc::of_length(at)) != load<uint32_t>(at + kLengthBytes)) {
      break;
    }
    const auto size = static_cast<size_t>(length);
    const char* const payload = at + kRecordHeaderBytes;
    if (mask_crc(Crc::of(payload, size)) != load<uint32_t>(payload + size)) break;
    PlainRecord& record = records[decoded.count];
    if (!decode_usual(payload, size, record) && !decode_any({payload, size}, record)) break;
    record.bytes = size + kRecordOverheadBytes;
    ++decoded.count;
    at += record.bytes;
    left -= record.bytes;
  }
  decoded.bytes = bytes.size() - left;
  return decoded;
}

plain_records_impl::Function choose() noexcept {
  const auto hardware = plain_records_impl::hardware();
  return hardware != nullptr ? hardware : &plain_records_impl::portable;
}

}  // namespace

namespace plain_records_impl {

PlainRecords portable(std::string_view bytes, std::span<PlainRecord> records) noexcept {
  return decode<AnyCrc>(bytes, records);
}

Function hardware() noexcept {
#if defined(__x86_64__)
  if (crc32c_impl::hardware() != nullptr) return &decode<InlinedCrc>;
#endif
  return nullptr;
}

}  // namespace plain_records_impl

PlainRecords decode_plain_records(std::string_view bytes, std::span<PlainRecord> records) noexcept {
  static const plain_records_impl::Function function = choose();
  return function(bytes, records);
}

}  // namespace aboard
