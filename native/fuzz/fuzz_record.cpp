// SPDX-License-Identifier: Apache-2.0
// Any bytes as a record file that arrives in pieces.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz.hpp"
#include "record.hpp"
#include "record_search.hpp"

namespace aboard {
namespace {

struct Outcome {
  std::vector<std::string> payloads;
  bool lost_the_way = false;  // a header was damaged
};

// What was read is what is there: framing it again gives the very bytes that it was read from.
void check_record(std::string_view file, uint64_t start, uint64_t end, std::string_view payload) {
  std::string again;
  append_record(again, payload);
  FUZZ_CHECK(end <= file.size());
  FUZZ_CHECK(file.substr(start, end - start) == again);
}

Outcome read(std::string_view file, size_t piece) {
  Outcome outcome;
  RecordReader reader;
  uint64_t offset = 0;
  const auto advance = [&] {
    FUZZ_CHECK(reader.offset() >= offset);
    offset = reader.offset();
  };
  for (size_t fed = 0; fed < file.size();) {
    const std::string_view bytes = file.substr(fed, piece);
    fed += bytes.size();
    reader.feed(bytes);
    while (true) {
      const uint64_t start = reader.offset();
      FUZZ_CHECK(start == offset);
      std::string_view payload;
      const RecordState state = reader.next(payload);
      advance();
      FUZZ_CHECK(offset <= fed);
      if (state == RecordState::complete) {
        check_record(file, start, offset, payload);
        outcome.payloads.emplace_back(payload);
      } else if (state == RecordState::bad_data) {
        FUZZ_CHECK(offset == start + payload.size() + kRecordOverheadBytes);
      } else if (state == RecordState::incomplete) {
        FUZZ_CHECK(offset == start);
        break;
      } else {
        FUZZ_CHECK(offset == start);
        outcome.lost_the_way = true;
        const bool found = reader.resynchronise();
        advance();
        if (!found) break;
        RecordReader copy = reader;
        FUZZ_CHECK(copy.next(payload) == RecordState::complete);
      }
    }
  }
  return outcome;
}

void run(std::string_view input) {
  if (input.empty()) return;
  const size_t piece = 1 + static_cast<unsigned char>(input[0]) % 64;
  const std::string_view file = input.substr(1);
  const Outcome at_once = read(file, std::max<size_t>(file.size(), 1));
  const Outcome in_pieces = read(file, piece);
  if (!at_once.lost_the_way) FUZZ_CHECK(at_once.payloads == in_pieces.payloads);
  const size_t found = find_record(file);
  if (found != std::string_view::npos) {
    Record record;
    FUZZ_CHECK(parse_record(file.substr(found), record) == RecordState::complete);
    check_record(file, found, found + record.consumed, record.payload);
  } else {
    FUZZ_CHECK(at_once.payloads.empty());
  }
}

}  // namespace
}  // namespace aboard

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  aboard::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
