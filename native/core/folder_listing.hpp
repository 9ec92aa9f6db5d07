// SPDX-License-Identifier: Apache-2.0
// What the file system tells about folders and files without reading them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "read_path.hpp"

namespace aboard {

struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

enum class PathKind : uint8_t { folder, file, other };

struct PathStatus {
  int error = 0;  // errno; the rest means nothing when it is not 0, but for `mark`
  PathKind kind = PathKind::other;
  FileIdentity identity;
  uint64_t bytes = 0;
  int64_t modified_ns = 0;
  int64_t changed_ns = 0;  // the content or anything else, whichever is later
  uint64_t mark = 0;       // another one after each change that the file system shows; never 0
};

// Network file systems answer for seconds from what they remember, unless the file is opened: `past_caches` does so. It
// must not be asked for where `path` may name something other than a folder or a plain file.
PathStatus status_of(const ReadPath& path, bool past_caches = false);

struct FolderEntry {
  std::string name;
  uint64_t inode = 0;  // of the entry itself, not of what a link leads to
  PathKind kind = PathKind::other;
  bool is_link = false;
};

struct FolderListing {
  PathStatus folder;  // taken before the listing
  std::vector<FolderEntry>
      entries;  // folders and event files, by name; links are what they lead to, or left out below a root
};

FolderListing list_folder(const ReadPath& path);
// One of the entries that `list_folder` would find.
std::optional<FolderEntry> entry_of(const ReadPath& folder, const std::string& name);

// `folder` and `name` with one slash between them.
std::string joined_path(const std::string& folder, const std::string& name);

}  // namespace aboard
