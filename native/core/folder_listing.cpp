// SPDX-License-Identifier: Apache-2.0
#include "folder_listing.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "file_names.hpp"
#include "posix_io.hpp"

namespace aboard {
namespace {

constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

struct CloseFolder {
  void operator()(DIR* folder) const noexcept { ::closedir(folder); }
};

uint64_t mixed(uint64_t state, uint64_t value) noexcept {
  state = (state ^ value) * 0x9e3779b97f4a7c15;
  return state ^ (state >> 32);
}

PathKind kind_of(mode_t mode) noexcept {
  if (S_ISDIR(mode)) return PathKind::folder;
  return S_ISREG(mode) ? PathKind::file : PathKind::other;
}

PathStatus failed(int error) {
  PathStatus status;
  status.error = error;
  status.mark = mixed(1, static_cast<uint64_t>(error)) | 1;
  return status;
}

PathStatus status_from(const struct stat& from) {
  PathStatus status;
  status.kind = kind_of(from.st_mode);
  status.identity = {static_cast<uint64_t>(from.st_dev), static_cast<uint64_t>(from.st_ino)};
  status.bytes = static_cast<uint64_t>(from.st_size);
  status.modified_ns = nanoseconds(from.st_mtim);
  status.changed_ns = std::max(status.modified_ns, nanoseconds(from.st_ctim));
  uint64_t mark = 0;
  for (const uint64_t part :
       {status.identity.device, status.identity.inode, status.bytes, static_cast<uint64_t>(status.modified_ns),
        static_cast<uint64_t>(nanoseconds(from.st_ctim)), static_cast<uint64_t>(from.st_mode)}) {
    mark = mixed(mark, part);
  }
  status.mark = mark | 1;
  return status;
}

// What an entry of this type is, seen from `folder`; nothing when it is of no interest.
std::optional<FolderEntry> entry_from(int folder, const char* name, mode_t type, uint64_t inode, bool follow) {
  FolderEntry entry{name, inode, kind_of(type), S_ISLNK(type)};
  if (entry.is_link && !follow) return std::nullopt;
  struct stat status;
  // A link that leads nowhere is what it is called: the file may be there later.
  if (entry.is_link && ::fstatat(folder, name, &status, 0) == 0) entry.kind = kind_of(status.st_mode);
  if (entry.kind != PathKind::folder && !is_event_file(entry.name)) return std::nullopt;
  return entry;
}

std::optional<FolderEntry> entry_at(int folder, const char* name, bool follow) {
  struct stat status;
  if (::fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  return entry_from(folder, name, status.st_mode, static_cast<uint64_t>(status.st_ino), follow);
}

std::optional<FolderEntry> entry_of(int folder, const dirent& found, bool follow) {
  const std::string_view name = found.d_name;
  if (name == "." || name == "..") return std::nullopt;
  const auto inode = static_cast<uint64_t>(found.d_ino);
  switch (found.d_type) {
    case DT_UNKNOWN:
      return entry_at(folder, found.d_name, follow);
    case DT_DIR:
      return entry_from(folder, found.d_name, S_IFDIR, inode, follow);
    case DT_LNK:
      return entry_from(folder, found.d_name, S_IFLNK, inode, follow);
    case DT_REG:
      return entry_from(folder, found.d_name, S_IFREG, inode, follow);
    default:
      return entry_from(folder, found.d_name, S_IFIFO, inode, follow);
  }
}

}  // namespace

PathStatus status_of(const ReadPath& path, bool past_caches) {
  struct stat status;
  if (past_caches) {
    const Fd file(path.open(kOpenFlags));
    if (file.is_open()) return ::fstat(file.get(), &status) == 0 ? status_from(status) : failed(errno);
  }
  return path.status(&status) == 0 ? status_from(status) : failed(errno);
}

FolderListing list_folder(const ReadPath& path) {
  FolderListing listing;
  Fd owned(path.open(kOpenFlags | O_DIRECTORY));
  const int file = owned.get();
  const std::unique_ptr<DIR, CloseFolder> folder(owned.is_open() ? ::fdopendir(file) : nullptr);
  if (!folder) {
    listing.folder = failed(errno);
    return listing;
  }
  owned.release();  // to `folder`
  struct stat status;
  listing.folder = ::fstat(file, &status) == 0 ? status_from(status) : failed(errno);
  while (listing.folder.error == 0) {
    errno = 0;
    const dirent* found = ::readdir(folder.get());
    if (!found) {
      if (errno != 0) listing.folder = failed(errno);
      break;
    }
    if (auto entry = entry_of(file, *found, !path.is_confined())) listing.entries.push_back(*std::move(entry));
  }
  std::sort(listing.entries.begin(), listing.entries.end(),
            [](const FolderEntry& left, const FolderEntry& right) { return left.name < right.name; });
  return listing;
}

std::optional<FolderEntry> entry_of(const ReadPath& folder, const std::string& name) {
  const Fd file(folder.open(kOpenFlags | O_DIRECTORY));
  return file.is_open() ? entry_at(file.get(), name.c_str(), !folder.is_confined()) : std::nullopt;
}

std::string joined_path(const std::string& folder, const std::string& name) {
  std::string path;
  path.reserve(folder.size() + name.size() + 1);
  path = folder;
  if (!path.ends_with('/')) path += '/';
  path += name;
  return path;
}

}  // namespace aboard
