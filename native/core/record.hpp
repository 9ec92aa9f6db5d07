// SPDX-License-Identifier: Apache-2.0
// TFRecord framing: length, masked CRC of the length, payload, masked CRC of the payload.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace aboard {

constexpr size_t kRecordHeaderBytes = 12;
constexpr size_t kRecordFooterBytes = 4;
constexpr size_t kRecordOverheadBytes = kRecordHeaderBytes + kRecordFooterBytes;

void append_record(std::string& out, std::string_view payload);

// Reserves room for a header, so that a payload can be encoded in place behind it.
size_t begin_record(std::string& out);
// Fills in the header at `start` for everything appended since `begin_record`, and adds the footer.
void end_record(std::string& out, size_t start);

enum class RecordState {
  complete,    // payload is valid
  incomplete,  // more bytes are needed; nothing was consumed
  bad_length,  // the header is damaged: where the next record begins is unknown
  bad_data,    // the payload's checksum is wrong; the next record begins right behind it
};

struct Record {
  std::string_view payload;
  size_t consumed = 0;  // bytes of the window this record takes; 0 unless complete or bad_data
};

// Looks at the start of `window`. The payload points into the window.
RecordState parse_record(std::string_view window, Record& record) noexcept;

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
  // Of a search that found nothing yet, as file positions: how far it got, and headers whose records are not all there.
  bool searching_ = false;
  uint64_t searched_ = 0;
  std::vector<uint64_t> waiting_;
  uint64_t wasted_ = 0;  // bytes of payloads that turned out to be none
};

}  // namespace aboard
