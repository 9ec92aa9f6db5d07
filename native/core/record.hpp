// SPDX-License-Identifier: Apache-2.0
// TFRecord framing: length, masked CRC of the length, payload, masked CRC of the payload.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

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

// Whether the checksum of the length is right, of kRecordHeaderBytes bytes.
bool is_valid_header(const char* header) noexcept;

// Looks at the start of `window`. The payload points into the window.
RecordState parse_record(std::string_view window, Record& record) noexcept;

}  // namespace aboard
