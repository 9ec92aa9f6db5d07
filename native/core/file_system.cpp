// SPDX-License-Identifier: Apache-2.0
#include "file_system.hpp"

#include <cerrno>

#if defined(__linux__)
#include <fcntl.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#else
#include <sys/mount.h>
#include <sys/param.h>
#endif

namespace aboard {

#if defined(__linux__)

namespace {

constexpr std::array<unsigned long, 12> kLocalKinds = {
    0xEF53,      // ext2, ext3, ext4
    0x58465342,  // XFS
    0x9123683E,  // Btrfs
    0x01021994,  // tmpfs
    0x858458F6,  // ramfs
    0x794C7630,  // overlayfs
    0x2FC12FC1,  // ZFS
    0xF2F52010,  // F2FS
    0xCA451A4E,  // bcachefs
    0x4D44,      // FAT
    0x2011BAB0,  // exFAT
    0x52654973,  // ReiserFS
};

}  // namespace

bool is_on_local_file_system(int file) noexcept {
  struct statfs status;
  if (::fstatfs(file, &status) != 0) return false;
  const auto kind = static_cast<unsigned long>(status.f_type) & 0xFFFFFFFFul;
  return std::find(kLocalKinds.begin(), kLocalKinds.end(), kind) != kLocalKinds.end();
}

int punch_hole(int file, uint64_t begin, uint64_t end) noexcept {
  if (begin >= end) return 0;
  const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  return ::fallocate(file, mode, static_cast<off_t>(begin), static_cast<off_t>(end - begin)) == 0 ? 0 : errno;
}

#else

int punch_hole(int, uint64_t, uint64_t) noexcept { return ENOTSUP; }

bool is_on_local_file_system(int file) noexcept {
  struct statfs status;
  return ::fstatfs(file, &status) == 0 && (status.f_flags & MNT_LOCAL) != 0;
}

#endif

}  // namespace aboard
