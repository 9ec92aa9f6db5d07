// SPDX-License-Identifier: Apache-2.0
// Which files are event files, and which of them are segments of one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

namespace aboard {

// Whether TensorBoard would read the file: "tfevents" anywhere in its own name, folders left aside.
constexpr bool is_event_file(std::string_view path) noexcept {
  const size_t slash = path.rfind('/');
  return path.substr(slash == std::string_view::npos ? 0 : slash + 1).find("tfevents") != std::string_view::npos;
}

// A piece of an event file that was shipped while it grew.
struct SegmentName {
  std::string_view file;  // of which it is a piece
  uint32_t number;        // pieces with larger ones come behind it; some numbers may be missing
};

// What `<event file>.<8 digits>` is a segment of; nothing for other names.
constexpr std::optional<SegmentName> segment_of(std::string_view path) noexcept {
  constexpr size_t kDigits = 8;
  if (path.size() <= kDigits || path[path.size() - kDigits - 1] != '.') return std::nullopt;
  const std::string_view file = path.substr(0, path.size() - kDigits - 1);
  const std::string_view digits = path.substr(path.size() - kDigits);
  if (!is_event_file(file) || !std::ranges::all_of(digits, [](char c) { return '0' <= c && c <= '9'; })) {
    return std::nullopt;
  }
  uint32_t number = 0;
  for (const char digit : digits) number = 10 * number + static_cast<uint32_t>(digit - '0');
  return SegmentName{file, number};
}

}  // namespace aboard
