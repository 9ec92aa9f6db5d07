// SPDX-License-Identifier: Apache-2.0
// The tags of a logdir by plugin and name, with what each is to TensorBoard: a million of them in some fifty megabytes.
//
// Every function first takes in the tags that the logdir has found since, and may be called from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fork_safety.hpp"
#include "logdir.hpp"
#include "tag_meaning.hpp"

namespace aboard {

class TagIndex final : private ForkAware {
 public:
  explicit TagIndex(std::shared_ptr<const Logdir> logdir) : logdir_(std::move(logdir)) { enroll_for_fork(*this); }
  ~TagIndex() { retire_from_fork(*this); }
  TagIndex(const TagIndex&) = delete;
  TagIndex& operator=(const TagIndex&) = delete;

  // Names and other text are valid UTF-8; the content of a plugin is any bytes.
  struct Found {
    size_t number = 0;
    std::string name;
    TagSource source = TagSource::summary;
    ValueKind kind = ValueKind::nothing;
    std::string plugin;
    std::string content;
    std::string display_name;
    std::string description;
    DataClass data_class = DataClass::unknown;
    TagStatus status{};
  };
  struct Described {
    std::string name;
    std::string description;
  };
  using Texts = std::map<std::string, std::string, std::less<>>;

  const Logdir& logdir() const noexcept { return *logdir_; }
  // No other index of this process has it, or will.
  uint64_t serial() const noexcept { return serial_; }
  size_t size();
  std::vector<std::string> plugins();
  std::optional<Found> find(std::string_view plugin, std::string_view name);
  // The number of a tag of this data class.
  std::optional<size_t> number(std::string_view plugin, DataClass data_class, std::string_view name);
  // Tags that have points, in the order in which they were first seen.
  std::vector<Found> with_points(std::string_view plugin, DataClass data_class);

  // What the following list are tags with points, without those of a format that TensorBoard does not know yet.
  std::vector<Described> descriptions(std::string_view plugin, DataClass data_class);
  // Appends ["a", "b"]; false, and nothing is appended, when there is no tag at all.
  bool append_names(std::string& out, std::string_view plugin, DataClass data_class);
  // Appends {"a": {"displayName": "…", "description": "…"}}, with descriptions as `html` has them, in JSON; or nothing.
  bool append_display_names(std::string& out, std::string_view plugin, DataClass data_class, const Texts& html);

 private:
  void after_fork_in_child() noexcept override;

  static constexpr uint32_t kNone = UINT32_MAX;

  struct Item {
    size_t name_begin;
    uint32_t name_size;
    uint32_t number;
    uint32_t plugin;  // in `plugins_`
    uint32_t extra;   // in `extras_`, or kNone
    TagSource source;
    ValueKind kind;
    DataClass data_class;
    bool is_from_the_future;  // of a format that TensorBoard does not know yet
    bool is_called_as_named;  // its display name is its name
  };
  // What few tags have.
  struct Extra {
    std::string content;
    std::string display_name;
    std::string description;
  };
  using Items = std::vector<Item>::const_iterator;

  void update();
  void add(const TagInfo& tag, size_t number);
  uint32_t plugin_number(std::string plugin);
  std::string_view name_of(const Item& item) const { return {names_.data() + item.name_begin, item.name_size}; }
  std::string_view display_name_of(const Item& item) const;
  std::string_view description_of(const Item& item) const;
  bool comes_before(const Item& a, const Item& b) const;
  std::pair<Items, Items> of_plugin(std::string_view plugin) const;
  const Item* item(std::string_view plugin, std::string_view name) const;
  Found found(const Item& item) const;
  template <typename Take>
  void each_with_points(std::string_view plugin, DataClass data_class, const Take& take) const;
  template <typename Take>
  void each_known(std::string_view plugin, DataClass data_class, const Take& take);

  static inline std::atomic<uint64_t> last_serial_{0};

  const std::shared_ptr<const Logdir> logdir_;
  const uint64_t serial_ = ++last_serial_;
  ForkableMutex mutex_;  // guards everything below; taken before the locks of the logdir
  uint64_t generation_ = UINT64_MAX;
  size_t taken_ = 0;
  std::vector<Item> items_;  // by plugin and name; of several that are called the same, the first that was seen
  std::string names_;
  std::vector<Extra> extras_;
  std::vector<std::string> plugins_;
  std::map<std::string, uint32_t, std::less<>> plugin_numbers_;
};

}  // namespace aboard
