// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>

#include "check.hpp"
#include "json_text.hpp"

namespace aboard::testing {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

std::string json(std::string_view text) {
  std::string out = "before ";
  append_json_string(out, text);
  return out.substr(7);
}

TEST(strings_are_escaped) {
  CHECK_EQ(json(""), "\"\""s);
  CHECK_EQ(json("plain/tag"), "\"plain/tag\""s);
  CHECK_EQ(json("a\"b\\c\nd\te\x7f"), "\"a\\\"b\\\\c\\nd\\u0009e\\u007f\""s);
  CHECK_EQ(json("\0"sv.substr(0, 1)), "\"\\u0000\""s);
  CHECK_EQ(json("</script>&"), "\"\\u003c/script\\u003e\\u0026\""s);
  CHECK_EQ(json("é🚀"), "\"é🚀\""s);
}

TEST(what_is_no_utf8_is_replaced) {
  const std::string mark = "\xef\xbf\xbd";
  CHECK(is_utf8("aé日🚀"));
  CHECK_EQ(as_utf8("aé日🚀"), "aé日🚀"s);
  CHECK_EQ(as_utf8("caf\xe9"), "caf" + mark);
  CHECK_EQ(as_utf8("\xff\xfe!"), mark + mark + "!");
  CHECK_EQ(as_utf8("\x80"), mark);
  CHECK_EQ(as_utf8("\xc0\xaf"), mark + mark);                        // too long
  CHECK_EQ(as_utf8("\xed\xa0\x80"), mark + mark + mark);             // a surrogate
  CHECK_EQ(as_utf8("\xf4\x90\x80\x80"), mark + mark + mark + mark);  // beyond Unicode
  CHECK_EQ(as_utf8("\xe6\x97"), mark);                               // the beginning of a character is one
  CHECK_EQ(as_utf8("\xf0\x9f\x9a!"), mark + "!");
  CHECK(!is_utf8("\xf0\x9f"));
}

}  // namespace
}  // namespace aboard::testing
