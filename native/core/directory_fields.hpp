// SPDX-License-Identifier: Apache-2.0
// The directory of an index file or a packed logdir, field by field: numbers as they lie in memory, texts behind their
// length.
//
// Writer and reader have the same functions, so that one function describes the order of fields for both.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace aboard {

class DirectoryWriter {
 public:
  template <typename... Values>
  void numbers(const Values&... values) {
    (put(values), ...);
  }
  void flag(bool value) { put(uint8_t{value}); }
  template <typename Enum>
  void one_of(std::initializer_list<Enum>, Enum value) {
    put(static_cast<uint8_t>(value));
  }
  // Both in one byte.
  template <typename Enum>
  void flag_and_one_of(bool flag, std::initializer_list<Enum>, Enum value) {
    put(static_cast<uint8_t>(uint8_t{flag} | static_cast<uint8_t>(value) << 1));
  }
  void text(std::string_view text) {
    put(uint64_t{text.size()});
    bytes_.append(text);
  }
  template <typename Value>
  void list(const std::vector<Value>& values) {
    put(uint64_t{values.size()});
    for (const Value& value : values) put(value);
  }
  std::string_view bytes() const noexcept { return bytes_; }

 private:
  template <typename Value>
  void put(const Value& value) {
    static_assert(std::has_unique_object_representations_v<Value> || std::is_same_v<Value, double>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }

  std::string bytes_;
};

// Reads what DirectoryWriter wrote. Behind the end everything is zero, and `ok` says so.
class DirectoryReader {
 public:
  explicit DirectoryReader(std::string_view bytes) : rest_(bytes) {}

  bool ok() const noexcept { return ok_; }
  bool at_end() const noexcept { return ok_ && rest_.empty(); }

  template <typename... Values>
  void numbers(Values&... values) {
    ((values = take<Values>()), ...);
  }
  void flag(bool& value) {
    const auto number = take<uint8_t>();
    ok_ = ok_ && number <= 1;
    value = number == 1;
  }
  // Any value that is not in `known` is not ok.
  template <typename Enum>
  void one_of(std::initializer_list<Enum> known, Enum& value) {
    set_one_of(take<uint8_t>(), known, value);
  }
  template <typename Enum>
  void flag_and_one_of(bool& flag, std::initializer_list<Enum> known, Enum& value) {
    const auto number = take<uint8_t>();
    flag = (number & 1) != 0;
    set_one_of(static_cast<uint8_t>(number >> 1), known, value);
  }
  void text(std::string& text) { text = take_text(); }
  template <typename Value>
  void list(std::vector<Value>& values) {
    values.resize(take_count(sizeof(Value)));
    for (Value& value : values) value = take<Value>();
  }

  template <typename Value>
  Value take() {
    static_assert(std::is_trivially_copyable_v<Value>);
    Value value{};
    const std::string_view bytes = take_bytes(sizeof value);
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  // Valid for as long as the directory.
  std::string_view take_text() { return take_bytes(take<uint64_t>()); }
  // A number of things of which each takes at least `least_bytes`.
  size_t take_count(size_t least_bytes) {
    const auto count = take<uint64_t>();
    if (count > rest_.size() / least_bytes) ok_ = false;
    return ok_ ? static_cast<size_t>(count) : 0;
  }

 private:
  template <typename Enum>
  void set_one_of(uint8_t number, std::initializer_list<Enum> known, Enum& value) {
    value = static_cast<Enum>(number);
    ok_ = ok_ && std::find(known.begin(), known.end(), value) != known.end();
  }
  std::string_view take_bytes(uint64_t size) {
    if (!ok_ || size > rest_.size()) {
      ok_ = false;
      return {};
    }
    const std::string_view bytes = rest_.substr(0, static_cast<size_t>(size));
    rest_.remove_prefix(bytes.size());
    return bytes;
  }

  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace aboard
