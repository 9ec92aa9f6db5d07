// SPDX-License-Identifier: Apache-2.0
// The number in a TensorProto of one element, whatever its numeric type and encoding.
#pragma once

#include <optional>
#include <string_view>

namespace aboard {

std::optional<double> tensor_scalar(std::string_view tensor_proto);

}  // namespace aboard
