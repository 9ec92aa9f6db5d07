// SPDX-License-Identifier: Apache-2.0
// What a tag is to TensorBoard: its plugin, and whether it holds numbers, arrays or blobs.
//
// Old writers say less than new ones: what TensorBoard's compatibility layers would add is added here, by rule.
#pragma once

#include <string_view>

#include "logdir.hpp"

namespace aboard {

// SummaryMetadata.DataClass.
enum class DataClass : uint8_t { unknown = 0, scalar = 1, tensor = 2, blob_sequence = 3 };

struct TagMeaning {
  std::string_view plugin;
  std::string_view content;
  std::string_view display_name;
  std::string_view description;
  DataClass data_class = DataClass::unknown;
};

// What the tag means of which the first value was like this. Points into the tag's name and metadata, and to constants.
TagMeaning meaning_of(std::string_view name, TagSource source, ValueKind kind, std::string_view metadata) noexcept;

}  // namespace aboard
