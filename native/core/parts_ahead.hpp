// SPDX-License-Identifier: Apache-2.0
// A large event file that one thread reads from beginning to end while others decode parts that it will come to.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "decoded_part.hpp"
#include "posix_io.hpp"
#include "read_path.hpp"
#include "reading_crew.hpp"

namespace aboard {

class PartsAhead final : public SharedWork {
 public:
  // The bytes [begin, end) of the file that has this identity, in parts of `part_bytes`. Of these, `most_ahead` are
  // decoded ahead of where reading is: each holds as much memory as its points take.
  PartsAhead(const ReadPath& path, uint64_t device, uint64_t inode, uint64_t begin, uint64_t end, uint64_t part_bytes,
             size_t most_ahead);

  // Decodes the next part that nobody has.
  bool help() noexcept override;

  // For the one thread that reads, part after part.
  size_t count() const noexcept { return parts_.size(); }
  uint64_t limit(size_t part) const noexcept;
  // The part as another thread has decoded it. Null: the caller reads it itself. Meanwhile helps, if it has to wait.
  std::unique_ptr<DecodedPart> take(size_t part);
  // Has its memory used for further parts.
  void give_back(std::unique_ptr<DecodedPart> part);
  // Decodes no more parts: they are of no use in this file.
  void stop();

 private:
  enum class PartState : uint8_t { free, in_work, decoded, taken };
  // What is used again: fresh memory costs more than decoding into it.
  struct Memory {
    std::unique_ptr<DecodedPart> part;
    std::vector<char> buffer;
  };
  struct Part {
    PartState state = PartState::free;
    std::unique_ptr<DecodedPart> decoded;
  };

  uint64_t begin_of(size_t part) const noexcept { return begin_ + part * part_bytes_; }
  bool decode_one(std::unique_lock<std::mutex>& lock) noexcept;
  std::unique_ptr<DecodedPart> decode(size_t number, Memory& memory) const noexcept;

  const uint64_t begin_, end_, part_bytes_;
  const size_t most_ahead_;
  Fd file_;
  std::mutex mutex_;  // guards everything below
  std::condition_variable decoded_;
  std::vector<Part> parts_;
  std::vector<std::unique_ptr<DecodedPart>> spare_parts_;
  std::vector<std::vector<char>> spare_buffers_;
  size_t reading_ = 0;  // the part that the reading thread is at
  bool stopped_ = false;
};

}  // namespace aboard
