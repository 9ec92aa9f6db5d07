// SPDX-License-Identifier: Apache-2.0
// The container of an index: arrays that can be used where they lie, and a directory that says what they are.
//
// A header, then arrays at multiples of eight bytes, then the directory. Header, directory and each array have a
// checksum of their own. The bytes are those of the machine's memory: a cache is not meant to travel.
#pragma once

#include <cstdint>
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

}  // namespace aboard
