// SPDX-License-Identifier: Apache-2.0
#include "tag_meaning.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace aboard {
namespace {

using namespace std::string_view_literals;

constexpr auto kClassOfPlugin = std::to_array<std::pair<std::string_view, DataClass>>({
    {"scalars", DataClass::scalar},
    {"histograms", DataClass::tensor},
    {"text", DataClass::tensor},
    {"hparams", DataClass::tensor},
    {"pr_curves", DataClass::tensor},
    {"mesh", DataClass::tensor},
    {"custom_scalars", DataClass::tensor},
    {"images", DataClass::blob_sequence},
    {"audio", DataClass::blob_sequence},
    {"graph_run_metadata", DataClass::blob_sequence},
    {"graph_run_metadata_graph", DataClass::blob_sequence},
    {"graph_keras_model", DataClass::blob_sequence},
});

DataClass class_of_plugin(std::string_view plugin) noexcept {
  const auto found = std::ranges::find(kClassOfPlugin, plugin, &std::pair<std::string_view, DataClass>::first);
  return found == kClassOfPlugin.end() ? DataClass::unknown : found->second;
}

TagMeaning of_old_style(std::string_view plugin, std::string_view content, DataClass data_class) noexcept {
  return {.plugin = plugin, .content = content, .display_name = {}, .description = {}, .data_class = data_class};
}

}  // namespace

TagMeaning meaning_of(std::string_view name, TagSource source, ValueKind kind, std::string_view metadata) noexcept {
  if (source == TagSource::graph || source == TagSource::meta_graph) {
    return of_old_style("graphs", {}, DataClass::blob_sequence);
  }
  if (source == TagSource::run_metadata) return of_old_style("graph_tagged_run_metadata", {}, DataClass::blob_sequence);

  MetadataView given;
  decode_metadata(metadata, given);  // what is readable before damage is used
  TagMeaning meaning;
  switch (kind) {
    case ValueKind::simple_value:
      meaning = of_old_style("scalars", {}, DataClass::scalar);
      break;
    case ValueKind::histogram:
      meaning = of_old_style("histograms", {}, DataClass::tensor);
      break;
    case ValueKind::image:  // with converted_to_tensor
      meaning = of_old_style("images", "\x10\x01"sv, DataClass::blob_sequence);
      break;
    case ValueKind::audio:  // WAV, with converted_to_tensor
      meaning = of_old_style("audio", "\x10\x0b\x18\x01"sv, DataClass::blob_sequence);
      break;
    case ValueKind::tensor:
    case ValueKind::nothing: {
      const bool known = given.data_class > 0 && given.data_class <= static_cast<int>(DataClass::blob_sequence);
      return {.plugin = given.plugin_name,
              .content = given.plugin_content,
              .display_name = given.display_name,
              .description = given.description,
              .data_class = known ? static_cast<DataClass>(given.data_class) : class_of_plugin(given.plugin_name)};
    }
  }
  meaning.display_name = given.display_name.empty() ? name : given.display_name;
  meaning.description = given.description;
  return meaning;
}

}  // namespace aboard
