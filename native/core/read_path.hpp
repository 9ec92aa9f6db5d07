// SPDX-License-Identifier: Apache-2.0
// Paths of folders and files that are read, and how they are opened where no link may lead out of a root.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>

namespace aboard {

// A path to read from. With a root, no component below that root may be a symbolic link at the moment of opening, also
// when somebody swaps a folder for a link at the same time. The way to the root itself is trusted. Without a root,
// links are followed.
class ReadPath {
 public:
  ReadPath(std::string text) : text_(std::move(text)) {}  // NOLINT: a plain path is one without a root
  ReadPath(const char* text) : text_(text) {}             // NOLINT
  // Nothing can be opened when `text` is not `root` or below it.
  ReadPath(std::string text, std::string_view root);

  const std::string& text() const noexcept { return text_; }
  bool is_confined() const noexcept { return root_bytes_ != kNoRoot; }
  // What `name` is in this folder, with the same root.
  ReadPath child(std::string_view name) const;

  // The following return what the functions of the system return, and set errno: ELOOP for a link, EXDEV for a path
  // that is not below its root or names `..`.
  int open(int flags) const;
  int status(struct stat* status) const;
  // What `open` does where the kernel has no openat2: one folder at a time.
  int open_by_steps(int flags) const;

 private:
  static constexpr size_t kNoRoot = std::string::npos, kOutside = kNoRoot - 1;

  std::string root() const { return text_.substr(0, root_bytes_); }
  std::string below_root() const;
  bool check() const noexcept;

  std::string text_;
  size_t root_bytes_ = kNoRoot;  // how much of the text is the root
};

}  // namespace aboard
