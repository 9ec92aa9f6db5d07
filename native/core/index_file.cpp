// SPDX-License-Identifier: Apache-2.0
#include "index_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

#include "crc32c.hpp"
#include "file_system.hpp"

namespace aboard {
namespace {

constexpr uint64_t kMagic = 0x7865646e69416261;
constexpr uint32_t kVersion = 1;
constexpr size_t kBufferBytes = 1 << 20;

// The magic number also tells the order of bytes.
struct Header {
  uint64_t magic = kMagic;
  uint32_t version = kVersion;
  uint32_t directory_checksum = 0;
  uint64_t directory_offset = 0;
  uint64_t directory_size = 0;
  uint64_t size = 0;  // of the whole file
  uint32_t unused = 0;
  uint32_t checksum = 0;  // of what stands before
};
static_assert(sizeof(Header) == 48);

uint32_t checksum_of(const Header& header) {
  return crc32c({reinterpret_cast<const char*>(&header), offsetof(Header, checksum)});
}

bool write_all(int file, std::string_view bytes, uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t done = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(done));
    offset += static_cast<uint64_t>(done);
  }
  return true;
}

class MappedImage final : public IndexImage {
 public:
  MappedImage(int file, size_t size) : size_(size) {
    void* at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
    if (at == MAP_FAILED) return;
    at_ = at;
#ifdef MADV_POPULATE_READ
    // Pages that the disk no longer gives are told here; later they would end the process.
    if (::madvise(at_, size_, MADV_POPULATE_READ) != 0 && errno != EINVAL) return;
#endif
    valid_ = take({static_cast<const char*>(at_), size_});
  }
  ~MappedImage() override {
    if (at_ != nullptr) ::munmap(at_, size_);
  }
  bool valid() const noexcept { return valid_; }

 private:
  void* at_ = nullptr;
  size_t size_;
  bool valid_ = false;
};

class ReadImage final : public IndexImage {
 public:
  ReadImage(int file, size_t size) : bytes_(std::make_unique_for_overwrite<uint64_t[]>(size / 8 + 1)) {
    auto* const to = reinterpret_cast<char*>(bytes_.get());
    for (size_t filled = 0; filled < size;) {
      const ssize_t got = ::pread(file, to + filled, size - filled, static_cast<off_t>(filled));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return;
      filled += static_cast<size_t>(got);
    }
    valid_ = take({to, size});
  }
  bool valid() const noexcept { return valid_; }

 private:
  std::unique_ptr<uint64_t[]> bytes_;
  bool valid_ = false;
};

template <typename Image>
std::shared_ptr<const IndexImage> image_of(int file, size_t size) {
  auto image = std::make_shared<Image>(file, size);
  return image->valid() ? image : nullptr;
}

}  // namespace

IndexWriter::IndexWriter(std::string path) : path_(std::move(path)) {
  static std::atomic<uint64_t> count{0};
  aside_ = path_ + "." + std::to_string(::getpid()) + "-" + std::to_string(++count) + ".aside";
  file_ = ::open(aside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file_ < 0) error_ = errno;
  buffer_.assign(sizeof(Header), '\0');
}

IndexWriter::~IndexWriter() {
  if (file_ < 0) return;
  ::close(file_);
  ::unlink(aside_.c_str());
}

IndexArray IndexWriter::append_bytes(std::string_view bytes) {
  const IndexArray array{.offset = offset_ + buffer_.size(), .checksum = crc32c(bytes)};
  write(bytes);
  return array;
}

void IndexWriter::write(std::string_view bytes) {
  if (buffer_.size() + bytes.size() > kBufferBytes) write_out();
  if (bytes.size() <= kBufferBytes) {
    buffer_.append(bytes);
    return;
  }
  if (error_ == 0 && !write_all(file_, bytes, offset_)) error_ = errno != 0 ? errno : EIO;
  offset_ += bytes.size();
}

void IndexWriter::write_out() {
  if (error_ == 0 && !write_all(file_, buffer_, offset_)) error_ = errno != 0 ? errno : EIO;
  offset_ += buffer_.size();
  buffer_.clear();
}

// Not forced onto the disk: what a crash of the machine leaves does not match its checksums.
int IndexWriter::commit(std::string_view directory) {
  Header header;
  header.directory_offset = offset_ + buffer_.size();
  header.directory_size = directory.size();
  header.directory_checksum = crc32c(directory);
  header.size = header.directory_offset + directory.size();
  header.checksum = checksum_of(header);
  write(directory);
  write_out();
  if (error_ == 0 && !write_all(file_, {reinterpret_cast<const char*>(&header), sizeof header}, 0)) error_ = errno;
  if (error_ == 0 && ::rename(aside_.c_str(), path_.c_str()) != 0) error_ = errno;
  if (error_ == 0) {
    ::close(file_);
    file_ = -1;
  }
  return error_;
}

std::shared_ptr<const IndexImage> IndexImage::open(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return nullptr;
  std::shared_ptr<const IndexImage> image;
  struct stat status;
  // Only what this person wrote: somebody else's could show anything.
  if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid() &&
      static_cast<uint64_t>(status.st_size) >= sizeof(Header)) {
    const auto size = static_cast<size_t>(status.st_size);
    // Elsewhere another machine could take pages away from under a mapping.
    image = is_on_local_file_system(file) ? image_of<MappedImage>(file, size) : image_of<ReadImage>(file, size);
    if (image) ::futimens(file, nullptr);  // was used: the cache forgets the others first
  }
  ::close(file);
  return image;
}

bool IndexImage::take(std::string_view bytes) {
  Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != kMagic || header.version != kVersion || header.checksum != checksum_of(header) ||
      header.size != bytes.size() || header.directory_offset > bytes.size() ||
      header.directory_size != bytes.size() - header.directory_offset) {
    return false;
  }
  bytes_ = bytes;
  directory_ = bytes.substr(static_cast<size_t>(header.directory_offset));
  return crc32c(directory_) == header.directory_checksum;
}

std::optional<std::string_view> IndexImage::checked(const IndexArray& place, uint64_t size) const {
  if (place.offset % 8 != 0 || place.offset > bytes_.size() || size > bytes_.size() - place.offset) return std::nullopt;
  const std::string_view bytes = bytes_.substr(static_cast<size_t>(place.offset), static_cast<size_t>(size));
  if (crc32c(bytes) != place.checksum) return std::nullopt;
  return bytes;
}

}  // namespace aboard
