// SPDX-License-Identifier: Apache-2.0
#include "tag_index.hpp"

#include <algorithm>
#include <tuple>

#include "json_text.hpp"
#include "wire.hpp"

namespace aboard {
namespace {

constexpr size_t kFewerAreAskedOneByOne = 8;  // times as many tags are there

// The field `version`, which is the first of every plugin's data; TensorBoard shows only what it knows: 0.
bool has_unknown_version(std::string_view content) {
  int64_t version = 0;
  wire::Decoder decoder(content);
  for (wire::Field field; decoder.next(field);) {
    if (field.number == 1 && field.type == wire::WireType::varint) version = field.as_int64();
  }
  return version > 0;
}

}  // namespace

// What another thread of the parent was changing is taken from the logdir once more.
void TagIndex::after_fork_in_child() noexcept {
  if (mutex_.reclaim()) return;
  generation_ = UINT64_MAX;
  abandon(items_);
  abandon(names_);
  abandon(extras_);
  abandon(plugins_);
  abandon(plugin_numbers_);
}

size_t TagIndex::size() {
  const std::lock_guard lock(mutex_);
  update();
  return items_.size();
}

std::vector<std::string> TagIndex::plugins() {
  const std::lock_guard lock(mutex_);
  update();
  return plugins_;
}

std::optional<TagIndex::Found> TagIndex::find(std::string_view plugin, std::string_view name) {
  const std::lock_guard lock(mutex_);
  update();
  const Item* item = this->item(plugin, name);
  if (item == nullptr) return std::nullopt;
  Found found = this->found(*item);
  if (const auto status = logdir_->tag_status(item->number)) found.status = *status;
  return found;
}

std::optional<size_t> TagIndex::number(std::string_view plugin, DataClass data_class, std::string_view name) {
  const std::lock_guard lock(mutex_);
  update();
  const Item* item = this->item(plugin, name);
  return item != nullptr && item->data_class == data_class ? std::optional<size_t>(item->number) : std::nullopt;
}

std::vector<TagIndex::Found> TagIndex::with_points(std::string_view plugin, DataClass data_class) {
  const std::lock_guard lock(mutex_);
  update();
  std::vector<Found> all;
  each_with_points(plugin, data_class, [&](const Item& item, const TagStatus& status) {
    all.push_back(found(item));
    all.back().status = status;
  });
  std::ranges::sort(all, {}, &Found::number);
  return all;
}

std::vector<TagIndex::Described> TagIndex::descriptions(std::string_view plugin, DataClass data_class) {
  std::vector<Described> all;
  each_known(plugin, data_class, [&](const Item& item) {
    const std::string_view description = description_of(item);
    if (!description.empty()) all.push_back({std::string(name_of(item)), std::string(description)});
  });
  return all;
}

bool TagIndex::append_names(std::string& out, std::string_view plugin, DataClass data_class) {
  const size_t before = out.size();
  each_known(plugin, data_class, [&](const Item& item) {
    out.push_back(out.size() == before ? '[' : ',');
    append_json_string(out, name_of(item));
  });
  if (out.size() == before) return false;
  out.push_back(']');
  return true;
}

bool TagIndex::append_display_names(std::string& out, std::string_view plugin, DataClass data_class,
                                    const Texts& html) {
  const size_t before = out.size();
  each_known(plugin, data_class, [&](const Item& item) {
    out.push_back(out.size() == before ? '{' : ',');
    append_json_string(out, name_of(item));
    out += ":{\"displayName\":";
    append_json_string(out, display_name_of(item));
    out += ",\"description\":";
    const auto described = html.find(description_of(item));
    out += described == html.end() ? "\"\"" : described->second;
    out.push_back('}');
  });
  if (out.size() == before) return false;
  out.push_back('}');
  return true;
}

void TagIndex::update() {
  const uint64_t generation = logdir_->generation();
  if (generation != generation_) {
    generation_ = generation;
    taken_ = 0;
    items_.clear();
    names_.clear();
    extras_.clear();
    plugins_.clear();
    plugin_numbers_.clear();
  }
  const std::vector<TagInfo> tags = logdir_->tags(taken_);
  if (tags.empty()) return;
  const auto before = static_cast<std::ptrdiff_t>(items_.size());
  for (const TagInfo& tag : tags) {
    if (tag.present) add(tag, taken_);
    ++taken_;
  }
  const auto comes_before = [this](const Item& a, const Item& b) { return this->comes_before(a, b); };
  std::sort(items_.begin() + before, items_.end(), comes_before);
  std::inplace_merge(items_.begin(), items_.begin() + before, items_.end(), comes_before);
  const auto is_called_the_same = [this](const Item& a, const Item& b) {
    return a.plugin == b.plugin && name_of(a) == name_of(b);
  };
  items_.erase(std::unique(items_.begin(), items_.end(), is_called_the_same), items_.end());
}

void TagIndex::add(const TagInfo& tag, size_t number) {
  const TagMeaning meaning = meaning_of(tag.name, tag.source, tag.kind, tag.metadata);
  const std::string name = as_utf8(tag.name);
  Item item{.name_begin = names_.size(),
            .name_size = static_cast<uint32_t>(name.size()),
            .number = static_cast<uint32_t>(number),
            .plugin = plugin_number(as_utf8(meaning.plugin)),
            .extra = kNone,
            .source = tag.source,
            .kind = tag.kind,
            .data_class = meaning.data_class,
            .is_from_the_future = has_unknown_version(meaning.content),
            .is_called_as_named = meaning.display_name == tag.name};
  names_ += name;
  const bool has_display_name = !item.is_called_as_named && !meaning.display_name.empty();
  if (has_display_name || !meaning.content.empty() || !meaning.description.empty()) {
    item.extra = static_cast<uint32_t>(extras_.size());
    extras_.push_back({std::string(meaning.content), has_display_name ? as_utf8(meaning.display_name) : std::string(),
                       as_utf8(meaning.description)});
  }
  items_.push_back(item);
}

uint32_t TagIndex::plugin_number(std::string plugin) {
  const auto [at, is_new] = plugin_numbers_.try_emplace(plugin, static_cast<uint32_t>(plugins_.size()));
  if (is_new) plugins_.push_back(std::move(plugin));
  return at->second;
}

std::string_view TagIndex::display_name_of(const Item& item) const {
  if (item.is_called_as_named) return name_of(item);
  return item.extra == kNone ? std::string_view() : extras_[item.extra].display_name;
}

std::string_view TagIndex::description_of(const Item& item) const {
  return item.extra == kNone ? std::string_view() : extras_[item.extra].description;
}

bool TagIndex::comes_before(const Item& a, const Item& b) const {
  if (a.plugin != b.plugin) return a.plugin < b.plugin;
  const int order = name_of(a).compare(name_of(b));
  return order != 0 ? order < 0 : a.number < b.number;
}

std::pair<TagIndex::Items, TagIndex::Items> TagIndex::of_plugin(std::string_view plugin) const {
  const auto number = plugin_numbers_.find(plugin);
  if (number == plugin_numbers_.end()) return {items_.end(), items_.end()};
  const auto range = std::ranges::equal_range(items_, number->second, {}, &Item::plugin);
  return {range.begin(), range.end()};
}

const TagIndex::Item* TagIndex::item(std::string_view plugin, std::string_view name) const {
  const auto [begin, end] = of_plugin(plugin);
  const auto at =
      std::lower_bound(begin, end, name, [this](const Item& a, std::string_view b) { return name_of(a) < b; });
  return at != end && name_of(*at) == name ? &*at : nullptr;
}

TagIndex::Found TagIndex::found(const Item& item) const {
  return {.number = item.number,
          .name = std::string(name_of(item)),
          .source = item.source,
          .kind = item.kind,
          .plugin = plugins_[item.plugin],
          .content = item.extra == kNone ? std::string() : extras_[item.extra].content,
          .display_name = std::string(display_name_of(item)),
          .description = std::string(description_of(item)),
          .data_class = item.data_class,
          .status = {}};
}

template <typename Take>
void TagIndex::each_with_points(std::string_view plugin, DataClass data_class, const Take& take) const {
  const auto [begin, end] = of_plugin(plugin);
  const bool are_few = static_cast<size_t>(end - begin) * kFewerAreAskedOneByOne < taken_;
  // The logdir may have been read anew meanwhile; the next call sees it whole.
  const std::vector<TagStatus> statuses = are_few || begin == end ? std::vector<TagStatus>() : logdir_->tag_statuses();
  for (auto item = begin; item != end; ++item) {
    if (item->data_class != data_class) continue;
    if (item->number < statuses.size()) {
      if (statuses[item->number].count > 0) take(*item, statuses[item->number]);
    } else if (const auto status = are_few ? logdir_->tag_status(item->number) : std::nullopt) {
      if (status->count > 0) take(*item, *status);
    }
  }
}

template <typename Take>
void TagIndex::each_known(std::string_view plugin, DataClass data_class, const Take& take) {
  const std::lock_guard lock(mutex_);
  update();
  each_with_points(plugin, data_class, [&](const Item& item, const TagStatus&) {
    if (!item.is_from_the_future) take(item);
  });
}

}  // namespace aboard
