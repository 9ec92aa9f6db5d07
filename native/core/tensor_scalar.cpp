// SPDX-License-Identifier: Apache-2.0
#include "tensor_scalar.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "little_endian.hpp"
#include "wire.hpp"

namespace aboard {
namespace {

// tensorflow.DataType.
enum DataType : int64_t {
  kFloat = 1,
  kDouble = 2,
  kInt32 = 3,
  kUint8 = 4,
  kInt16 = 5,
  kInt8 = 6,
  kInt64 = 9,
  kBool = 10,
  kBfloat16 = 14,
  kUint16 = 17,
  kHalf = 19,
  kUint32 = 22,
  kUint64 = 23,
};

double half_to_double(uint16_t bits) noexcept {
  const int exponent = (bits >> 10) & 0x1f;
  const double fraction = bits & 0x3ff;
  double magnitude;
  if (exponent == 0) {
    magnitude = std::ldexp(fraction, -24);
  } else if (exponent == 0x1f) {
    magnitude = fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else {
    magnitude = std::ldexp(fraction + 1024, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

double bfloat16_to_double(uint16_t bits) noexcept { return std::bit_cast<float>(uint32_t{bits} << 16); }

size_t element_bytes(int64_t dtype) noexcept {
  switch (dtype) {
    case kDouble:
    case kInt64:
    case kUint64:
      return 8;
    case kFloat:
    case kInt32:
    case kUint32:
      return 4;
    case kHalf:
    case kBfloat16:
    case kInt16:
    case kUint16:
      return 2;
    case kInt8:
    case kUint8:
    case kBool:
      return 1;
    default:
      return 0;
  }
}

// `bits` as they lie in memory, or as a wire value whose low bits are these.
std::optional<double> from_bits(int64_t dtype, uint64_t bits) noexcept {
  switch (dtype) {
    case kFloat:
      return std::bit_cast<float>(static_cast<uint32_t>(bits));
    case kDouble:
      return std::bit_cast<double>(bits);
    case kHalf:
      return half_to_double(static_cast<uint16_t>(bits));
    case kBfloat16:
      return bfloat16_to_double(static_cast<uint16_t>(bits));
    case kInt8:
      return static_cast<int8_t>(bits);
    case kInt16:
      return static_cast<int16_t>(bits);
    case kInt32:
      return static_cast<int32_t>(bits);
    case kInt64:
      return static_cast<double>(static_cast<int64_t>(bits));
    case kUint8:
      return static_cast<uint8_t>(bits);
    case kUint16:
      return static_cast<uint16_t>(bits);
    case kUint32:
      return static_cast<uint32_t>(bits);
    case kUint64:
      return static_cast<double>(bits);
    case kBool:
      return bits != 0 ? 1 : 0;
    default:
      return std::nullopt;
  }
}

// Number of the TensorProto field with elements of this type.
uint32_t elements_field(int64_t dtype) noexcept {
  switch (dtype) {
    case kFloat:
      return 5;
    case kDouble:
      return 6;
    case kInt64:
      return 10;
    case kBool:
      return 11;
    case kHalf:
    case kBfloat16:
      return 13;
    case kUint32:
      return 16;
    case kUint64:
      return 17;
    default:
      return 7;
  }
}

constexpr uint32_t kFirstElementsField = 5, kLastElementsField = 17, kStringsField = 8;

wire::WireType element_type(uint32_t field) noexcept {
  return field == 5 ? wire::WireType::fixed32 : field == 6 ? wire::WireType::fixed64 : wire::WireType::varint;
}

std::optional<uint64_t> first_packed(std::string_view packed, wire::WireType type) {
  if (type != wire::WireType::varint) {
    const size_t size = type == wire::WireType::fixed32 ? 4 : 8;
    if (packed.size() < size) return std::nullopt;
    return load_little<uint64_t>(packed.data(), size);
  }
  uint64_t value;
  return wire::take_varint(packed, value) ? std::optional(value) : std::nullopt;
}

// Whether all dimensions of a TensorShapeProto are 1; false when it is damaged, too.
bool is_one_element(std::string_view shape) {
  wire::Decoder dimensions(shape);
  for (wire::Field dimension; dimensions.next(dimension);) {
    if (dimension.number != 2 || dimension.type != wire::WireType::bytes) continue;
    int64_t size = 0;
    wire::Decoder fields(dimension.bytes);
    for (wire::Field field; fields.next(field);) {
      if (field.number == 1 && field.type == wire::WireType::varint) size = field.as_int64();
    }
    if (!fields.ok() || size != 1) return false;
  }
  return dimensions.ok();
}

}  // namespace

// Without decode_tensor, which makes lists: this runs once per point.
std::optional<double> tensor_scalar(std::string_view tensor_proto) {
  int64_t dtype = 0;
  std::string_view content;
  std::array<wire::Field, kLastElementsField + 1> first;  // by field; unset ones have number 0
  bool has_elements = false;
  wire::Decoder decoder(tensor_proto);
  for (wire::Field field; decoder.next(field);) {
    if (field.number == 1 && field.type == wire::WireType::varint) {
      dtype = field.as_int64();
    } else if (field.number == 2 && field.type == wire::WireType::bytes) {
      if (!is_one_element(field.bytes)) return std::nullopt;
    } else if (field.number == 4 && field.type == wire::WireType::bytes) {
      content = field.bytes;
    } else if (field.number >= kFirstElementsField && field.number <= kLastElementsField &&
               field.number != kStringsField) {
      has_elements = true;
      if (first[field.number].number == 0) first[field.number] = field;
    }
  }
  const size_t bytes = element_bytes(dtype);
  if (!decoder.ok() || bytes == 0) return std::nullopt;
  if (!content.empty()) {
    if (content.size() != bytes) return std::nullopt;
    return from_bits(dtype, load_little<uint64_t>(content.data(), bytes));
  }
  if (!has_elements) return 0.0;  // proto3 leaves out a zero
  const wire::Field& element = first[elements_field(dtype)];
  const wire::WireType type = element_type(elements_field(dtype));
  if (element.number == 0) return std::nullopt;
  if (element.type == type) return from_bits(dtype, element.scalar);
  if (element.type != wire::WireType::bytes) return std::nullopt;
  const auto bits = first_packed(element.bytes, type);
  return bits ? from_bits(dtype, *bits) : std::nullopt;
}

}  // namespace aboard
