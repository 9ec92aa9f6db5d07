// SPDX-License-Identifier: Apache-2.0
// Records in bytes that may be damaged and may still arrive: the next valid one behind a damaged header.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "little_endian.hpp"
#include "record.hpp"

namespace aboard {

// Takes linear time, also in a file made to prevent that: then it may pass over records.
struct RecordSearch {
  // By chance there is hardly ever a false header, and never many that claim the same bytes: only on purpose, to keep
  // the reader busy.
  static constexpr uint64_t kPatience = 16;  // times the size of a file, for payloads that turn out not to be one
  static constexpr size_t kMostWaiting = 16;

  bool is_active = false;
  uint64_t searched = 0;          // where the search goes on
  std::vector<uint64_t> waiting;  // headers whose records are not complete yet
  uint64_t wasted = 0;            // bytes of payloads that turned out not to be one, in all searches

  struct Limits {
    uint64_t end;         // of the bytes that are there
    uint64_t longest;     // length of a record; a longer one is noise
    uint64_t affordable;  // bytes of payloads to check in vain
  };

  void begin(uint64_t offset) {
    is_active = true;
    searched = offset;
    waiting.clear();
  }

  // Returns where the next record begins; `is_active` says whether none is there yet, and then it is where one may.
  // `at(position, needed)` returns the bytes there, at least `needed` of them unless reading fails.
  template <typename At>
  uint64_t advance(const Limits& limits, const At& at) {
    const auto found = [&](uint64_t position) {
      is_active = false;
      return position;
    };
    for (auto position = waiting.begin(); position != waiting.end();) {
      const RecordState state = probe(*position, limits, at);
      if (state == RecordState::complete) return found(*position);
      position = state == RecordState::incomplete ? position + 1 : waiting.erase(position);
    }
    for (; searched + kRecordHeaderBytes <= limits.end; ++searched) {
      const std::string_view header = at(searched, kRecordHeaderBytes);
      if (header.size() < kRecordHeaderBytes) break;  // reading failed
      const RecordState state = probe(searched, limits, at);
      if (state == RecordState::complete) return found(searched);
      if (state == RecordState::incomplete && waiting.size() < kMostWaiting) waiting.push_back(searched);
    }
    return waiting.empty() ? searched : waiting.front();
  }

  // As parse_record, for a place where a record may begin or not.
  template <typename At>
  RecordState probe(uint64_t position, const Limits& limits, const At& at) {
    const std::string_view header = at(position, kRecordHeaderBytes);
    if (header.size() < kRecordHeaderBytes) return RecordState::incomplete;
    const auto length = load_little<uint64_t>(header.data());
    if (length > limits.longest || !is_valid_header(header.data())) return RecordState::bad_length;
    if (length + kRecordOverheadBytes > limits.end - position) return RecordState::incomplete;
    if (wasted + length > limits.affordable) return RecordState::bad_data;
    Record record;
    const RecordState state = parse_record(at(position, static_cast<size_t>(length) + kRecordOverheadBytes), record);
    if (state == RecordState::bad_data) wasted += length;
    return state;
  }
};

// Position of the first whole, valid record in `window`, or npos: the way on after a damaged header. Takes linear time
// also in a window made to prevent that, in which it may pass over records.
size_t find_record(std::string_view window) noexcept;

// Reads records from bytes that arrive in pieces of any size, as from a file that is still growing.
class RecordReader {
 public:
  void feed(std::string_view bytes);
  // The payload stays valid until the next call of any method.
  RecordState next(std::string_view& payload);
  // Skips to the next valid record after `bad_length`. False: none in what was fed so far; feed more and try again.
  // What was searched in vain is skipped too and never searched again; `next` says `bad_length` until a record is
  // found.
  bool resynchronise();
  // File position of the next unread record: start feeding from here to resume in another process.
  uint64_t offset() const noexcept { return base_ + at_; }
  // Bytes fed so far.
  uint64_t fed() const noexcept { return base_ + buffer_.size(); }

 private:
  std::string buffer_;
  size_t at_ = 0;
  uint64_t base_ = 0;
  RecordSearch search_;  // positions are those of the file
};

}  // namespace aboard
