// SPDX-License-Identifier: Apache-2.0
// The protobuf wire format: an encoder that appends to a string and a decoder that never reads out of bounds.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace aboard::wire {

enum class WireType : uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

// Appends fields of one message to a string that the caller owns.
class Encoder {
 public:
  explicit Encoder(std::string& out) noexcept : out_(out) {}

  void varint(uint32_t field, uint64_t value);
  void signed_varint(uint32_t field, int64_t value) { varint(field, static_cast<uint64_t>(value)); }
  void fixed32(uint32_t field, uint32_t value);
  void fixed64(uint32_t field, uint64_t value);
  void float32(uint32_t field, float value);
  void float64(uint32_t field, double value);
  void bytes(uint32_t field, std::string_view value);
  // Key and length of a bytes field whose `size` content bytes the caller appends next.
  void bytes_header(uint32_t field, size_t size);
  void packed_float64(uint32_t field, std::span<const double> values);
  void packed_float32(uint32_t field, std::span<const float> values);
  void packed_varints(uint32_t field, std::span<const int64_t> values);

 private:
  void key(uint32_t field, WireType type);
  void raw_varint(uint64_t value);
  std::string& out_;
};

size_t varint_size(uint64_t value) noexcept;
// Takes a varint from the front; false, and nothing is taken, when there is none.
bool take_varint(std::string_view& from, uint64_t& value) noexcept;

// One field of a message. `bytes` is set for WireType::bytes, `scalar` for all others.
struct Field {
  uint32_t number = 0;
  WireType type = WireType::varint;
  uint64_t scalar = 0;
  std::string_view bytes;

  float as_float32() const noexcept;
  double as_float64() const noexcept;
  int64_t as_int64() const noexcept { return static_cast<int64_t>(scalar); }
};

// Walks the fields of a message in untrusted bytes. After `next` returned false, `ok` tells the end from damage.
class Decoder {
 public:
  explicit Decoder(std::string_view message) noexcept : left_(message) {}
  bool next(Field& field) noexcept;
  bool ok() const noexcept { return ok_; }

 private:
  bool fail() noexcept;
  bool read_fixed(size_t size, uint64_t& value) noexcept;
  std::string_view left_;
  bool ok_ = true;
};

}  // namespace aboard::wire
