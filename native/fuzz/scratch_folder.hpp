// SPDX-License-Identifier: Apache-2.0
// Where a fuzz target puts its files; gone when the process ends.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "fuzz.hpp"

namespace aboard {

// In memory where there is such a place: a disk would be all that is tested.
inline const std::filesystem::path& folder() {
  namespace fs = std::filesystem;
  static const fs::path path = [] {
    std::string name = (fs::is_directory("/dev/shm") ? "/dev/shm" : fs::temp_directory_path().string());
    name += "/aboard-fuzz-XXXXXX";
    FUZZ_CHECK(::mkdtemp(name.data()) != nullptr);
    std::atexit([] {
      std::error_code ignored;
      fs::remove_all(folder(), ignored);
    });
    return fs::path(name);
  }();
  return path;
}

}  // namespace aboard
