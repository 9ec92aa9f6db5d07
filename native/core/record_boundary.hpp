// SPDX-License-Identifier: Apache-2.0
// Where a growing file of records can be cut, so that each part is a file of whole records.
#pragma once

#include <cstdint>

namespace aboard {

struct RecordBoundary {
  uint64_t end = 0;      // behind the last whole record; the given start when there is none
  bool damaged = false;  // what follows is no record that is still being written
  int error = 0;         // errno when the file could not be read
};

// Looks at the bytes from `start`, itself a boundary, to `size`. The end lies at or before `limit`, unless the first
// record alone reaches beyond it. Headers are checked and payloads passed over. After a damaged header the next valid
// record is searched for in the following 4 MB; what lies between counts as part of it.
RecordBoundary find_boundary(int file, uint64_t start, uint64_t limit, uint64_t size);

}  // namespace aboard
