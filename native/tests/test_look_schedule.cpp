// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "log_support.hpp"
#include "look_schedule.hpp"

namespace aboard::testing {
namespace {

TEST(a_share_of_time_is_paid_back) {
  TimeShare share(0.1);
  CHECK(share.earn(1) > 0.09);
  share.spend(0.5);
  CHECK(share.earn(2) < 0);
  CHECK(share.earn(6) > 0);
  CHECK(share.earn(1000) < 0.21);
}

TEST(turns_go_round) {
  LookRing ring;
  for (uint64_t id = 1; id <= 3; ++id) ring.add(id);
  std::vector<uint64_t> seen;
  for (int i = 0; i < 7; ++i) {
    seen.push_back(ring.current());
    if (seen.size() == 2) {
      ring.drop();
    } else {
      ring.pass();
    }
  }
  CHECK(seen == std::vector<uint64_t>({1, 2, 3, 1, 3, 1, 3}));
}

}  // namespace
}  // namespace aboard::testing
