// SPDX-License-Identifier: Apache-2.0
#include "index_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <ctime>

#include "crc32c.hpp"
#include "file_system.hpp"
#include "mapped_memory.hpp"
#include "posix_io.hpp"

namespace aboard {
namespace {

constexpr uint64_t kMagic = 0x7865646e69416261;
constexpr uint32_t kVersion = 3;
constexpr size_t kBufferBytes = 1 << 20;
constexpr time_t kTouchedAgainAfter = 3600;

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

bool reads(int file, char* to, size_t size, uint64_t offset) {
  return pread_full(file, to, size, offset).bytes == size;
}

// Pages are only touched when somebody looks at an array, who then asks first whether they can be.
class MappedImage final : public IndexImage {
 public:
  // The system grants a process so many mappings, and the rest of the process needs some too.
  static constexpr int kMost = 1 << 14;
  static bool may_be_more() noexcept { return count_.load() < kMost; }

  MappedImage(int file, size_t size) : size_(size) {
    ++count_;
    if (!read_directory(file, size)) return;
    void* at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
    if (at == MAP_FAILED) return;
    at_ = at;
    set_bytes({static_cast<const char*>(at_), size_});
  }
  ~MappedImage() override {
    if (at_ != nullptr) ::munmap(at_, size_);
    --count_;
  }
  bool valid() const noexcept { return at_ != nullptr; }

 private:
  static inline std::atomic<int> count_{0};
  void* at_ = nullptr;
  size_t size_;
};

class ReadImage final : public IndexImage {
 public:
  ReadImage(int file, size_t size) {
    if (!read_directory(file, size)) return;
    // Bytes, in which arrays of any kind may come to be, and which `new` aligns for all of them.
    bytes_ = std::make_unique_for_overwrite<std::byte[]>(size);
    auto* const to = reinterpret_cast<char*>(bytes_.get());
    valid_ = reads(file, to, size, 0);
    set_bytes({to, size});
  }
  bool valid() const noexcept { return valid_; }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  bool valid_ = false;
};

template <typename Image>
std::shared_ptr<const IndexImage> image_of(int file, size_t size) {
  auto image = std::make_shared<Image>(file, size);
  return image->valid() ? image : nullptr;
}

// Elsewhere another machine could take pages away from under a mapping; and where the system cannot say whether a page
// can be read, one that cannot would end the process.
bool may_be_mapped(int file) {
  return MappedImage::may_be_more() && can_tell_what_is_readable() && is_on_local_file_system(file);
}

}  // namespace

IndexWriter::IndexWriter(std::string path) : path_(std::move(path)) {
  static std::atomic<uint64_t> count{0};
  aside_ = path_ + "." + std::to_string(::getpid()) + "-" + std::to_string(++count) + ".aside";
  file_.reset(::open(aside_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file_.is_open()) error_ = errno;
  buffer_.assign(sizeof(Header), '\0');
}

IndexWriter::~IndexWriter() {
  if (file_.is_open() && !committed_) ::unlink(aside_.c_str());
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
  write_at(bytes, offset_);
  offset_ += bytes.size();
}

void IndexWriter::write_at(std::string_view bytes, uint64_t offset) {
  if (error_ == 0) error_ = pwrite_full(file_.get(), bytes, offset).error;
}

void IndexWriter::write_out() {
  write_at(buffer_, offset_);
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
  write_at({reinterpret_cast<const char*>(&header), sizeof header}, 0);
  if (error_ == 0 && ::rename(aside_.c_str(), path_.c_str()) != 0) error_ = errno;
  committed_ = error_ == 0;
  return error_;
}

// By its descriptor: its name may mean another one by now.
std::shared_ptr<const IndexImage> IndexWriter::image() const {
  if (!committed_ || !may_be_mapped(file_.get())) return nullptr;
  return image_of<MappedImage>(file_.get(), static_cast<size_t>(offset_));
}

std::shared_ptr<const IndexImage> IndexImage::open(const std::string& path) {
  const Fd opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!opened.is_open()) return nullptr;
  const int file = opened.get();
  std::shared_ptr<const IndexImage> image;
  struct stat status;
  // Only what this person wrote: somebody else's could show anything.
  if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid() &&
      static_cast<uint64_t>(status.st_size) >= sizeof(Header)) {
    const auto size = static_cast<size_t>(status.st_size);
    image = may_be_mapped(file) ? image_of<MappedImage>(file, size) : image_of<ReadImage>(file, size);
    // Was used: the cache forgets the others first. Not more often than that needs, as it may wait for the disk.
    if (image && std::time(nullptr) - status.st_mtime > kTouchedAgainAfter) ::futimens(file, nullptr);
  }
  return image;
}

bool IndexImage::read_directory(int file, size_t size) {
  Header header;
  if (!reads(file, reinterpret_cast<char*>(&header), sizeof header, 0)) return false;
  if (header.magic != kMagic || header.version != kVersion || header.checksum != checksum_of(header) ||
      header.size != size || header.directory_offset > size ||
      header.directory_size != size - header.directory_offset) {
    return false;
  }
  directory_.resize(static_cast<size_t>(header.directory_size));
  return reads(file, directory_.data(), directory_.size(), header.directory_offset) &&
         crc32c(directory_) == header.directory_checksum;
}

bool IndexImage::is_right(std::span<const std::byte> bytes, uint32_t checksum) noexcept {
  return is_readable(bytes.data(), bytes.size()) &&
         crc32c({reinterpret_cast<const char*>(bytes.data()), bytes.size()}) == checksum;
}

}  // namespace aboard
