// SPDX-License-Identifier: Apache-2.0
// Reads a part of a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace aboard {

// Exactly these bytes, or nothing. Opens the file each time and maps nothing, so whatever happens to it ends nobody.
std::optional<std::string> read_file_range(const std::string& path, uint64_t offset, uint64_t length);

}  // namespace aboard
