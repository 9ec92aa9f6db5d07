// SPDX-License-Identifier: Apache-2.0
#include "wire.hpp"

#include <bit>

#include "little_endian.hpp"

namespace aboard::wire {
namespace {

constexpr uint32_t kLargestFieldNumber = (1u << 29) - 1;
constexpr int kLongestVarint = 10;

}  // namespace

void Encoder::raw_varint(uint64_t value) {
  char bytes[kLongestVarint];
  size_t size = 0;
  for (; value >= 0x80; value >>= 7) bytes[size++] = static_cast<char>(value | 0x80);
  bytes[size++] = static_cast<char>(value);
  out_.append(bytes, size);
}

void Encoder::key(uint32_t field, WireType type) { raw_varint(uint64_t{field} << 3 | static_cast<uint64_t>(type)); }

void Encoder::varint(uint32_t field, uint64_t value) {
  key(field, WireType::varint);
  raw_varint(value);
}

void Encoder::fixed32(uint32_t field, uint32_t value) {
  key(field, WireType::fixed32);
  append_little(out_, value);
}

void Encoder::fixed64(uint32_t field, uint64_t value) {
  key(field, WireType::fixed64);
  append_little(out_, value);
}

void Encoder::float32(uint32_t field, float value) { fixed32(field, std::bit_cast<uint32_t>(value)); }

void Encoder::float64(uint32_t field, double value) { fixed64(field, std::bit_cast<uint64_t>(value)); }

void Encoder::bytes_header(uint32_t field, size_t size) {
  key(field, WireType::bytes);
  raw_varint(size);
}

void Encoder::bytes(uint32_t field, std::string_view value) {
  bytes_header(field, value.size());
  out_.append(value);
}

void Encoder::packed_float64(uint32_t field, std::span<const double> values) {
  bytes_header(field, values.size() * sizeof(double));
  for (const double value : values) append_little(out_, std::bit_cast<uint64_t>(value));
}

void Encoder::packed_float32(uint32_t field, std::span<const float> values) {
  bytes_header(field, values.size() * sizeof(float));
  for (const float value : values) append_little(out_, std::bit_cast<uint32_t>(value));
}

void Encoder::packed_varints(uint32_t field, std::span<const int64_t> values) {
  size_t size = 0;
  for (const int64_t value : values) size += varint_size(static_cast<uint64_t>(value));
  bytes_header(field, size);
  for (const int64_t value : values) raw_varint(static_cast<uint64_t>(value));
}

size_t varint_size(uint64_t value) noexcept {
  return value == 0 ? 1 : (static_cast<size_t>(std::bit_width(value)) + 6) / 7;
}

float Field::as_float32() const noexcept { return std::bit_cast<float>(static_cast<uint32_t>(scalar)); }

double Field::as_float64() const noexcept { return std::bit_cast<double>(scalar); }

bool Decoder::fail() noexcept {
  ok_ = false;
  left_ = {};
  return false;
}

bool take_varint(std::string_view& from, uint64_t& value) noexcept {
  value = 0;
  for (int i = 0; i < kLongestVarint && static_cast<size_t>(i) < from.size(); ++i) {
    const auto byte = static_cast<unsigned char>(from[static_cast<size_t>(i)]);
    // The tenth byte carries one bit; more would be a number beyond 64 bits.
    if (i == kLongestVarint - 1 && byte > 1) return false;
    value |= uint64_t{byte & 0x7fu} << (7 * i);
    if (byte < 0x80) {
      from.remove_prefix(static_cast<size_t>(i) + 1);
      return true;
    }
  }
  return false;
}

bool Decoder::read_fixed(size_t size, uint64_t& value) noexcept {
  if (left_.size() < size) return false;
  value = load_little<uint64_t>(left_.data(), size);
  left_.remove_prefix(size);
  return true;
}

bool Decoder::next(Field& field) noexcept {
  if (left_.empty()) return false;
  uint64_t key;
  if (!take_varint(left_, key)) return fail();
  const uint64_t number = key >> 3;
  if (number == 0 || number > kLargestFieldNumber) return fail();
  field = Field{};
  field.number = static_cast<uint32_t>(number);
  field.type = static_cast<WireType>(key & 7);
  switch (field.type) {
    case WireType::varint:
      return take_varint(left_, field.scalar) || fail();
    case WireType::fixed64:
      return read_fixed(8, field.scalar) || fail();
    case WireType::fixed32:
      return read_fixed(4, field.scalar) || fail();
    case WireType::bytes: {
      uint64_t size;
      if (!take_varint(left_, size) || size > left_.size()) return fail();
      field.bytes = left_.substr(0, size);
      left_.remove_prefix(size);
      return true;
    }
  }
  return fail();  // groups (3, 4) were never used by the messages of event files
}

}  // namespace aboard::wire
