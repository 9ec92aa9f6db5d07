// SPDX-License-Identifier: Apache-2.0
#include "record_boundary.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <string_view>

#include "crc32c.hpp"
#include "little_endian.hpp"
#include "record.hpp"

namespace aboard {
namespace {

constexpr size_t kWindowBytes = 256 << 10;
constexpr uint64_t kSearchBytes = uint64_t{4} << 20;
constexpr size_t kLengthBytes = 8;

// Bytes of a file around the place that is looked at.
class Window {
 public:
  Window(int file, uint64_t size) : file_(file), size_(size) {}

  // Up to `wanted` bytes at `offset`; fewer at the end of the file, or after an error.
  std::string_view at(uint64_t offset, size_t wanted) {
    if (offset < begin_ || offset + wanted > begin_ + bytes_.size()) load(offset);
    const auto from = static_cast<size_t>(offset - begin_);
    return std::string_view(bytes_).substr(std::min(from, bytes_.size()), wanted);
  }

  int error() const noexcept { return error_; }

 private:
  void load(uint64_t offset) {
    begin_ = offset;
    bytes_.resize(static_cast<size_t>(std::min<uint64_t>(kWindowBytes, size_ - std::min(offset, size_))));
    size_t got = 0;
    while (got < bytes_.size()) {
      const ssize_t count = ::pread(file_, bytes_.data() + got, bytes_.size() - got, static_cast<off_t>(offset + got));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) error_ = errno;
      if (count <= 0) break;
      got += static_cast<size_t>(count);
    }
    bytes_.resize(got);
  }

  int file_;
  uint64_t size_;
  uint64_t begin_ = 0;
  std::string bytes_;
  int error_ = 0;
};

bool is_valid(std::string_view header) noexcept {
  return masked_crc32c(header.substr(0, kLengthBytes)) == load_little<uint32_t>(header.data() + kLengthBytes);
}

// Where the next valid record after a damaged header begins.
std::optional<uint64_t> search(Window& window, uint64_t from, uint64_t size) {
  RecordReader reader;
  std::string_view payload;
  const uint64_t end = std::min(size, from + std::min(kSearchBytes, size - from));
  for (uint64_t position = from; position < end;) {
    const std::string_view bytes =
        window.at(position, std::min<size_t>(kWindowBytes, static_cast<size_t>(end - position)));
    if (bytes.empty()) return std::nullopt;
    reader.feed(bytes);
    position += bytes.size();
    if (reader.next(payload) == RecordState::incomplete) continue;
    if (reader.resynchronise()) return from + reader.offset();
  }
  return std::nullopt;
}

}  // namespace

RecordBoundary find_boundary(int file, uint64_t start, uint64_t limit, uint64_t size) {
  RecordBoundary found{.end = start};
  Window window(file, size);
  uint64_t at = start;  // runs ahead of the end only over damage
  while (at < size && (found.end == start || at < limit)) {
    const std::string_view header = window.at(at, kRecordHeaderBytes);
    if (header.size() < kRecordHeaderBytes) break;
    if (!is_valid(header)) {
      const std::optional<uint64_t> next = search(window, at, size);
      found.damaged = !next;
      if (!next) break;
      at = *next;
      continue;
    }
    const uint64_t length = load_little<uint64_t>(header.data());
    if (size - at < kRecordOverheadBytes || length > size - at - kRecordOverheadBytes) break;
    at += length + kRecordOverheadBytes;
    if (at > limit && found.end != start) break;
    found.end = at;
  }
  found.error = window.error();
  return found;
}

}  // namespace aboard
