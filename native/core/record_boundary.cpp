// SPDX-License-Identifier: Apache-2.0
#include "record_boundary.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "file_window.hpp"
#include "little_endian.hpp"
#include "record.hpp"
#include "record_search.hpp"

namespace aboard {
namespace {

constexpr size_t kWindowBytes = 256 << 10;
constexpr uint64_t kSearchBytes = uint64_t{4} << 20;

// Where the next valid record after a damaged header begins.
std::optional<uint64_t> search(FileWindow& window, uint64_t from, uint64_t size) {
  const uint64_t end = from + std::min(kSearchBytes, size - from);
  RecordSearch search;
  search.begin(from);
  const RecordSearch::Limits limits{end, kSearchBytes, RecordSearch::kPatience * (end - from)};
  const uint64_t next =
      search.advance(limits, [&](uint64_t position, size_t needed) { return window.at(position, needed); });
  return search.is_active ? std::nullopt : std::optional(next);
}

}  // namespace

RecordBoundary find_boundary(int file, uint64_t start, uint64_t limit, uint64_t size) {
  RecordBoundary found{.end = start};
  FileWindow window(file, size, kWindowBytes);
  uint64_t at = start;  // runs ahead of the end only over damage
  while (at < size && (found.end == start || at < limit)) {
    const std::string_view header = window.at(at, kRecordHeaderBytes);
    if (header.size() < kRecordHeaderBytes) break;
    if (!is_valid_header(header.data())) {
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
