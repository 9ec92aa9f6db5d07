// SPDX-License-Identifier: Apache-2.0
// Which files are event files.
#pragma once

#include <string_view>

namespace aboard {

// Whether TensorBoard would read the file: "tfevents" anywhere in its own name, folders left aside.
constexpr bool is_event_file(std::string_view path) noexcept {
  const size_t slash = path.rfind('/');
  return path.substr(slash == std::string_view::npos ? 0 : slash + 1).find("tfevents") != std::string_view::npos;
}

}  // namespace aboard
