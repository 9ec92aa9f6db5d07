// SPDX-License-Identifier: Apache-2.0
// Text from files nobody vouches for: as valid UTF-8, and as a JSON string.
#pragma once

#include <string>
#include <string_view>

namespace aboard {

bool is_utf8(std::string_view bytes) noexcept;
// With U+FFFD for what is no UTF-8, in the places where Python's "replace" puts it.
std::string as_utf8(std::string_view bytes);
// Appends valid UTF-8 as a string in quotes, in which no HTML could begin either.
void append_json_string(std::string& out, std::string_view text);

}  // namespace aboard
