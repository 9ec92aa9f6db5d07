// SPDX-License-Identifier: Apache-2.0
// Files of the operating system: a descriptor that closes itself, and transfers that a signal does not cut short.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace aboard {

// Owns a descriptor; negative when there is none. Closing leaves errno alone.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int value) noexcept : value_(value) {}
  Fd(Fd&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Fd() { reset(); }

  int get() const noexcept { return value_; }
  bool is_open() const noexcept { return value_ >= 0; }
  void reset(int value = -1) noexcept {
    if (value_ >= 0) {
      const int error = errno;
      ::close(value_);
      errno = error;
    }
    value_ = value;
  }
  int release() noexcept { return std::exchange(value_, -1); }

 private:
  int value_ = -1;
};

struct Transfer {
  size_t bytes = 0;
  int error = 0;  // errno of what ended the transfer early; 0 also at the end of a file
};

// Reads until `size` bytes are there, the file ends or an error occurs.
Transfer pread_full(int file, char* to, size_t size, uint64_t offset) noexcept;
// Write until all is written or an error occurs.
Transfer write_full(int file, std::string_view bytes) noexcept;
Transfer pwrite_full(int file, std::string_view bytes, uint64_t offset) noexcept;

// Exactly these bytes, or nothing. Opens the file each time and maps nothing: a file that is truncated meanwhile causes
// no SIGBUS.
std::optional<std::string> read_file_range(const std::string& path, uint64_t offset, uint64_t length);

inline int64_t nanoseconds(const timespec& time) noexcept {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace aboard
