// SPDX-License-Identifier: Apache-2.0
#include "json_text.hpp"

#include <cstdint>

namespace aboard {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// A character at the beginning of some bytes; when it is none, as many bytes as one replacement stands for: the longest
// beginning of a character, or one byte.
struct Character {
  size_t bytes = 1;
  bool valid = false;
};

Character first_character(std::string_view bytes) noexcept {
  const auto at = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  const uint8_t lead = at(0);
  if (lead < 0x80) return {.bytes = 1, .valid = true};
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4) return {};
  // The second byte decides what is too long, a surrogate or beyond Unicode.
  const uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  size_t matching = 1;
  for (; matching < length && matching < bytes.size(); ++matching) {
    const uint8_t next = at(matching);
    if (matching == 1 ? next < low || next > high : next < 0x80 || next > 0xbf) break;
  }
  return {.bytes = matching, .valid = matching == length};
}

void append_escaped(std::string& out, char character) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (character) {
    case '"':
      out += "\\\"";
      break;
    case '\\':
      out += "\\\\";
      break;
    case '\n':
      out += "\\n";
      break;
    default:
      out += "\\u00";
      out.push_back(kHex[static_cast<uint8_t>(character) >> 4]);
      out.push_back(kHex[static_cast<uint8_t>(character) & 15]);
  }
}

constexpr bool needs_escape(char character) noexcept {
  return static_cast<uint8_t>(character) < 0x20 || character == '"' || character == '\\' || character == '<' ||
         character == '>' || character == '&' || character == 0x7f;
}

}  // namespace

bool is_utf8(std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const Character first = first_character(bytes);
    if (!first.valid) return false;
    bytes.remove_prefix(first.bytes);
  }
  return true;
}

std::string as_utf8(std::string_view bytes) {
  if (is_utf8(bytes)) return std::string(bytes);
  std::string text;
  while (!bytes.empty()) {
    const Character first = first_character(bytes);
    text += first.valid ? bytes.substr(0, first.bytes) : kReplacement;
    bytes.remove_prefix(first.bytes);
  }
  return text;
}

void append_json_string(std::string& out, std::string_view text) {
  out.push_back('"');
  size_t written = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    if (!needs_escape(text[at])) continue;
    out.append(text, written, at - written);
    append_escaped(out, text[at]);
    written = at + 1;
  }
  out.append(text, written, text.size() - written);
  out.push_back('"');
}

}  // namespace aboard
