// SPDX-License-Identifier: Apache-2.0
// The container of an index: arrays that can be used where they lie, and a directory that says what they are.
//
// A header, then arrays at multiples of eight bytes, then the directory. Header, directory and each array have a
// checksum of their own. The bytes are those of the machine's memory: a cache is not meant to travel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "posix_io.hpp"

namespace aboard {

// An array in an index file.
struct IndexArray {
  uint64_t offset = 0;
  uint64_t count = 0;  // of elements
  uint32_t checksum = 0;
  uint32_t unused = 0;
};

class IndexImage;

// Writes an index beside its place and puts it there when it is whole. What fails is remembered and told by `commit`.
class IndexWriter {
 public:
  explicit IndexWriter(std::string path);
  ~IndexWriter();
  IndexWriter(const IndexWriter&) = delete;
  IndexWriter& operator=(const IndexWriter&) = delete;

  template <typename Element>
  IndexArray append(std::span<const Element> elements) {
    static_assert(std::is_trivially_copyable_v<Element> && sizeof(Element) % 8 == 0);
    IndexArray array = append_bytes({reinterpret_cast<const char*>(elements.data()), elements.size_bytes()});
    array.count = elements.size();
    return array;
  }
  // 0, or the number of the system's error; then the place is as it was.
  int commit(std::string_view directory);
  // What was committed, as `IndexImage::open` would find it; null where it would not be mapped.
  std::shared_ptr<const IndexImage> image() const;

 private:
  IndexArray append_bytes(std::string_view bytes);
  void write(std::string_view bytes);
  void write_out();
  void write_at(std::string_view bytes, uint64_t offset);

  const std::string path_;
  std::string aside_;
  Fd file_;
  int error_ = 0;
  bool committed_ = false;
  uint64_t offset_ = 0;
  std::string buffer_;
};

// An index whose header and directory are right. What its arrays hold is another matter.
class IndexImage {
 public:
  // Null when there is none, or none that can be used.
  static std::shared_ptr<const IndexImage> open(const std::string& path);
  virtual ~IndexImage() = default;
  IndexImage(const IndexImage&) = delete;
  IndexImage& operator=(const IndexImage&) = delete;

  std::string_view directory() const noexcept { return directory_; }
  // Where an array lies, which may be damaged: its checksum has to be compared before it is used. Nothing when it is
  // not within the index.
  template <typename Element>
  std::optional<std::span<const Element>> place_of(const IndexArray& array) const {
    static_assert(std::is_trivially_copyable_v<Element> && alignof(Element) <= 8);
    if (array.offset % 8 != 0 || array.offset > bytes_.size()) return std::nullopt;
    if (array.count > (bytes_.size() - array.offset) / sizeof(Element)) return std::nullopt;
    const char* const at = bytes_.data() + array.offset;
    return std::span(reinterpret_cast<const Element*>(at), static_cast<size_t>(array.count));
  }
  // Nothing also when the array is damaged, or cannot be read.
  template <typename Element>
  std::optional<std::span<const Element>> array(const IndexArray& array) const {
    const auto place = place_of<Element>(array);
    return place && is_right(std::as_bytes(*place), array.checksum) ? place : std::nullopt;
  }

 protected:
  IndexImage() = default;
  // Reads header and directory of an open file of this size. False when they are not right.
  bool read_directory(int file, size_t size);
  void set_bytes(std::string_view bytes) noexcept { bytes_ = bytes; }

 private:
  static bool is_right(std::span<const std::byte> bytes, uint32_t checksum) noexcept;
  std::string_view bytes_;
  std::string directory_;
};

// The directory, field by field.
class IndexFields {
 public:
  template <typename Value>
  void put(const Value& value) {
    static_assert(std::is_trivially_copyable_v<Value> && std::has_unique_object_representations_v<Value>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void put(double value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void put(std::string_view text) {
    put(uint64_t{text.size()});
    bytes_.append(text);
  }
  std::string_view bytes() const noexcept { return bytes_; }

 private:
  std::string bytes_;
};

// Reads what IndexFields wrote. Behind the end everything is zero, and `ok` says so.
class IndexFieldReader {
 public:
  explicit IndexFieldReader(std::string_view bytes) : rest_(bytes) {}

  bool ok() const noexcept { return ok_; }
  bool at_end() const noexcept { return ok_ && rest_.empty(); }

  template <typename Value>
  Value take() {
    static_assert(std::is_trivially_copyable_v<Value>);
    Value value{};
    const std::string_view bytes = take_bytes(sizeof value);
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  // One of the values in `known`; any other is not ok.
  template <typename Enum>
  Enum take_one_of(std::initializer_list<Enum> known) {
    return one_of(static_cast<uint8_t>(take<Enum>()), known);
  }
  // The same of a number that was taken before.
  template <typename Enum>
  Enum one_of(uint8_t number, std::initializer_list<Enum> known) {
    const auto value = static_cast<Enum>(number);
    ok_ = ok_ && std::find(known.begin(), known.end(), value) != known.end();
    return value;
  }
  bool take_flag() {
    const auto flag = take<uint8_t>();
    ok_ = ok_ && flag <= 1;
    return flag == 1;
  }
  std::string_view take_text() { return take_bytes(take<uint64_t>()); }
  // A number of things of which each takes at least `least_bytes`.
  size_t take_count(size_t least_bytes) {
    const auto count = take<uint64_t>();
    if (count > rest_.size() / least_bytes) ok_ = false;
    return ok_ ? static_cast<size_t>(count) : 0;
  }

 private:
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
