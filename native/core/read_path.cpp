// SPDX-License-Identifier: Apache-2.0
#include "read_path.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include "posix_io.hpp"

#if defined(__linux__) && __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#include <sys/syscall.h>
#endif

namespace aboard {
namespace {

#if defined(__linux__)
constexpr int kFolderFlags = O_PATH | O_DIRECTORY | O_CLOEXEC;  // needs no permission to read
#else
constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
#endif

int failed_with(int error) noexcept {
  errno = error;
  return -1;
}

// Systems report a link that is not followed as ELOOP, EMLINK or ENOTDIR.
int open_step(int folder, const std::string& name, int flags) {
  const int file = ::openat(folder, name.c_str(), flags | O_NOFOLLOW);
  struct stat status;
#if defined(O_PATH)
  // The link itself would be opened.
  if (file >= 0 && (flags & O_PATH) && ::fstat(file, &status) == 0 && S_ISLNK(status.st_mode)) {
    ::close(file);
    return failed_with(ELOOP);
  }
#endif
  if (file >= 0 || (errno != ENOTDIR && errno != EMLINK)) return file;
  const int error = errno;
  const bool is_link = ::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode);
  return failed_with(is_link ? ELOOP : error);
}

#if defined(RESOLVE_BENEATH) && defined(SYS_openat2)
constexpr uint64_t kNoLinks = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS, kBeneath = RESOLVE_BENEATH;

// False when the kernel, or what guards the process, does not know the call.
bool open_restricted(int folder, const std::string& path, int flags, uint64_t restrictions, int& file) {
  static std::atomic<bool> is_missing{false};
  if (is_missing.load(std::memory_order_relaxed)) return false;
  open_how how{};
  how.flags = static_cast<uint64_t>(flags);
  how.resolve = restrictions;
  file = static_cast<int>(::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how));
  if (file >= 0 || (errno != ENOSYS && errno != EPERM && errno != EAGAIN && errno != EINVAL)) return true;
  if (errno == ENOSYS) is_missing = true;
  return false;
}
#else
constexpr uint64_t kNoLinks = 0, kBeneath = 0;
bool open_restricted(int, const std::string&, int, uint64_t, int&) { return false; }
#endif

}  // namespace

ReadPath::ReadPath(std::string text, std::string_view root) : text_(std::move(text)), root_bytes_(kOutside) {
  while (root.size() > 1 && root.ends_with('/')) root.remove_suffix(1);
  if (root.empty() || !text_.starts_with(root)) return;
  if (text_.size() == root.size() || root == "/" || text_[root.size()] == '/') root_bytes_ = root.size();
}

ReadPath ReadPath::child(std::string_view name) const {
  ReadPath path(*this);
  if (!path.text_.ends_with('/')) path.text_ += '/';
  path.text_ += name;
  return path;
}

// Without slashes at its ends.
std::string ReadPath::below_root() const {
  const size_t begin = text_.find_first_not_of('/', root_bytes_);
  if (begin == std::string::npos) return "";
  return text_.substr(begin, text_.find_last_not_of('/') + 1 - begin);
}

bool ReadPath::check() const noexcept {
  if (root_bytes_ == kOutside) return false;
  for (size_t begin = root_bytes_; begin < text_.size();) {
    const size_t end = std::min(text_.find('/', begin), text_.size());
    if (std::string_view(text_).substr(begin, end - begin) == "..") return false;
    begin = end + 1;
  }
  return true;
}

int ReadPath::open(int flags) const {
  if (!is_confined()) return ::open(text_.c_str(), flags);
  if (!check()) return failed_with(EXDEV);
  const std::string below = below_root();
  if (below.empty()) return ::open(text_.c_str(), flags);
  int file = -1;
  // One call instead of three, where the way to the root has no links either. `..` below the root was refused above.
  const std::string whole = text_.substr(0, text_.find_last_not_of('/') + 1);
  if (open_restricted(AT_FDCWD, whole, flags, kNoLinks, file) && (file >= 0 || errno != ELOOP)) return file;
  const Fd root_folder(::open(root().c_str(), kFolderFlags));
  if (root_folder.get() < 0) return -1;
  return open_restricted(root_folder.get(), below, flags, kNoLinks | kBeneath, file) ? file : open_by_steps(flags);
}

int ReadPath::open_by_steps(int flags) const {
  if (!check()) return failed_with(EXDEV);
  const std::string below = below_root();
  if (below.empty()) return ::open(text_.c_str(), flags);
  Fd folder(::open(root().c_str(), kFolderFlags));
  if (folder.get() < 0) return -1;
  for (size_t begin = 0;;) {
    const size_t end = below.find('/', begin);
    const std::string name = below.substr(begin, end - begin);
    if (end == std::string::npos) return open_step(folder.get(), name, flags);
    begin = end + 1;
    if (name.empty() || name == ".") continue;
    const int next = open_step(folder.get(), name, kFolderFlags);
    if (next < 0) return -1;
    folder.reset(next);
  }
}

int ReadPath::status(struct stat* status) const {
  if (!is_confined()) return ::stat(text_.c_str(), status);
  if (!check()) return failed_with(EXDEV);
  const std::string below = below_root();
  if (below.empty()) return ::stat(text_.c_str(), status);
#if defined(O_PATH)
  const Fd file(open(O_PATH | O_CLOEXEC));
  return file.get() < 0 ? -1 : ::fstat(file.get(), status);
#else
  ReadPath above(*this);
  const size_t last = text_.find_last_not_of('/') + 1;
  const size_t slash = text_.rfind('/', last - 1);
  above.text_.resize(std::max(slash, root_bytes_));
  const Fd folder(above.open(kFolderFlags));
  if (folder.get() < 0) return -1;
  const std::string name = text_.substr(slash + 1, last - slash - 1);
  if (::fstatat(folder.get(), name.c_str(), status, AT_SYMLINK_NOFOLLOW) != 0) return -1;
  return S_ISLNK(status->st_mode) ? failed_with(ELOOP) : 0;
#endif
}

}  // namespace aboard
