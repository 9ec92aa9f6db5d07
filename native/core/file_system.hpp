// SPDX-License-Identifier: Apache-2.0
// What the kind of a file system means for those who read from it.
#pragma once

namespace aboard {

// Whether nobody but this machine changes what is there. Kinds that are not known count as shared.
bool is_on_local_file_system(int file) noexcept;

}  // namespace aboard
