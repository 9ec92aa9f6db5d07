// SPDX-License-Identifier: Apache-2.0
// Finds tags whose steps go back within one file, and tags that hold two kinds of data, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "event.hpp"
#include "tag_table.hpp"

namespace aboard {

// Of one tag: where its steps went back first, and how often they did in all.
struct StepFall {
  std::string tag;  // the first kLongestTagKept bytes
  uint64_t offset;
  int64_t from, to;
  uint64_t count;
};

// A tag that holds two kinds of data, and where the second kind first appears. Readers show the first kind only.
struct KindClash {
  std::string tag;  // the first kLongestTagKept bytes
  uint64_t offset;
  ValueKind first, second;
};

class StepOrder {
 public:
  static constexpr size_t kMostTags = size_t{1} << 20;  // tags beyond are not followed
  static constexpr size_t kLongestTagKept = 200;

  explicit StepOrder(size_t most_falls) : most_falls_(most_falls) {}

  // A value of `tag`, in the order of the file. `ValueKind::nothing` is a value whose kind is unknown.
  void add(std::string_view tag, int64_t step, uint64_t offset, ValueKind kind = ValueKind::simple_value);
  // Steps may go back here: a session says that it starts again.
  void restart() noexcept { ++session_; }

  // The first tags whose steps went back.
  const std::vector<StepFall>& falls() const noexcept { return falls_; }
  uint64_t fallen_tags() const noexcept { return fallen_tags_; }
  uint64_t total_falls() const noexcept { return total_falls_; }
  // The first tags that hold two kinds, and how many there are.
  const std::vector<KindClash>& clashes() const noexcept { return clashes_; }
  uint64_t clashing_tags() const noexcept { return clashing_tags_; }
  uint64_t tags() const noexcept { return tags_.size(); }
  bool all_followed() const noexcept { return all_followed_; }

 private:
  static constexpr uint32_t kNotFallen = 0xffffffff;
  // A tag is known by its hash alone: the key of the hash is secret, so two of a million never share one.
  struct Tag {
    uint64_t hash;
    int64_t last_step;
    uint32_t session;
    uint32_t fall;  // index of its first fall; beyond those kept: their number
    ValueKind kind;
    bool clashes = false;
  };

  void note_kind(Tag& tag, std::string_view name, ValueKind kind, uint64_t offset);
  void note_fall(Tag& tag, std::string_view name, int64_t step, uint64_t offset);

  const size_t most_falls_;
  TagTable numbers_;
  std::vector<Tag> tags_;
  std::vector<StepFall> falls_;
  std::vector<KindClash> clashes_;
  uint64_t clashing_tags_ = 0;
  uint32_t session_ = 0;
  uint64_t fallen_tags_ = 0, total_falls_ = 0;
  bool all_followed_ = true;
};

}  // namespace aboard
