// SPDX-License-Identifier: Apache-2.0
#include "posix_io.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

namespace aboard {
namespace {

// Calls `step(done)` until `size` bytes are transferred; nothing transferred is an error if `at_end` is one.
template <typename Step>
Transfer transfer(size_t size, int at_end, const Step& step) noexcept {
  Transfer done;
  while (done.bytes < size) {
    const ssize_t count = step(done.bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      done.error = count < 0 ? errno : at_end;
      break;
    }
    done.bytes += static_cast<size_t>(count);
  }
  return done;
}

}  // namespace

Transfer pread_full(int file, char* to, size_t size, uint64_t offset) noexcept {
  return transfer(
      size, 0, [&](size_t done) { return ::pread(file, to + done, size - done, static_cast<off_t>(offset + done)); });
}

Transfer write_full(int file, std::string_view bytes) noexcept {
  return transfer(bytes.size(), EIO,
                  [&](size_t done) { return ::write(file, bytes.data() + done, bytes.size() - done); });
}

Transfer pwrite_full(int file, std::string_view bytes, uint64_t offset) noexcept {
  return transfer(bytes.size(), EIO, [&](size_t done) {
    return ::pwrite(file, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
  });
}

std::optional<std::string> read_file_range(const std::string& path, uint64_t offset, uint64_t length) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status;
  if (!file.is_open() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const auto size = static_cast<uint64_t>(status.st_size);
  if (offset > size || length > size - offset) return std::nullopt;  // before memory is allocated for it
  std::string bytes(static_cast<size_t>(length), '\0');
  if (pread_full(file.get(), bytes.data(), bytes.size(), offset).bytes < bytes.size()) return std::nullopt;
  return bytes;
}

}  // namespace aboard
