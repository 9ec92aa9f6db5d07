// SPDX-License-Identifier: Apache-2.0
// Runs every test; with an argument `wire` those of test_wire.cpp, with a second one those whose name contains it.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include "check.hpp"

namespace {

// Of this process and the children that it has waited for.
double processor_seconds() {
  double seconds = 0;
  for (const int whose : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    ::getrusage(whose, &usage);
    for (const timeval& time : {usage.ru_utime, usage.ru_stime}) {
      seconds += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    }
  }
  return seconds;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string file = argc > 1 ? std::string("/test_") + argv[1] + ".cpp" : "";
  const std::string_view name = argc > 2 ? argv[2] : "";
  int passed = 0, failed = 0;
  for (const auto& test : check::tests()) {
    if (!std::string_view(test.file).ends_with(file)) continue;
    if (std::string_view(test.name).find(name) == std::string_view::npos) continue;
    const int before = check::failures.load();
    const auto start = std::chrono::steady_clock::now();
    const double busy_before = processor_seconds();
    try {
      test.run();
    } catch (const check::Abandoned&) {
    } catch (const std::exception& error) {
      check::fail(test.name, 0, std::string("threw ") + error.what());
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    const double busy = processor_seconds() - busy_before;
    const bool good = check::failures.load() == before;
    ++(good ? passed : failed);
    std::printf("%s %s (%.2f s, %.2f s of processor)\n", good ? "ok    " : "FAILED", test.name, seconds.count(), busy);
    std::fflush(stdout);  // before a later test forks
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}
