// SPDX-License-Identifier: Apache-2.0
#include "file_range.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace aboard {

std::optional<std::string> read_file_range(const std::string& path, uint64_t offset, uint64_t length) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return std::nullopt;
  struct Closing {
    int file;
    ~Closing() { ::close(file); }
  } const closing{file};
  struct stat status;
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const auto size = static_cast<uint64_t>(status.st_size);
  if (offset > size || length > size - offset) return std::nullopt;  // before memory is taken for it
  std::string bytes(static_cast<size_t>(length), '\0');
  for (size_t filled = 0; filled < bytes.size();) {
    const ssize_t got =
        ::pread(file, bytes.data() + filled, bytes.size() - filled, static_cast<off_t>(offset + filled));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    filled += static_cast<size_t>(got);
  }
  return bytes;
}

}  // namespace aboard
