// SPDX-License-Identifier: Apache-2.0
// Just enough of a test library: named tests, checks that print both values and go on, and one line of result.
#pragma once

#include <atomic>
#include <cstdio>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace check {

struct Test {
  const char* file;
  const char* name;
  void (*run)();
};

inline std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}

// Checks fail on any thread and in forked children; a child hands its count on through its exit code.
inline std::atomic<int> failures{0};

struct Registration {
  Registration(const char* file, const char* name, void (*run)()) { tests().push_back({file, name, run}); }
};

// Thrown by REQUIRE: what follows in the test would only crash.
struct Abandoned {};

template <typename Value>
std::string show(const Value& value) {
  std::ostringstream out;
  out.precision(17);
  if constexpr (std::is_convertible_v<const Value&, std::string_view>) {
    out << '"';
    for (const char c : std::string_view(value)) {
      const auto byte = static_cast<unsigned char>(c);
      constexpr const char* kDigits = "0123456789abcdef";
      if (byte >= 0x20 && byte < 0x7f) {
        out << c;
      } else {
        out << "\\x" << kDigits[byte >> 4] << kDigits[byte & 15];
      }
    }
    out << '"';
  } else if constexpr (std::is_enum_v<Value>) {
    out << "enum " << +static_cast<std::underlying_type_t<Value>>(value);
  } else if constexpr (std::is_integral_v<Value>) {
    out << +value;
  } else if constexpr (requires { out << value; }) {
    out << value;
  } else {
    out << "(a value that cannot be printed)";
  }
  return out.str();
}

inline void fail(const char* file, int line, const std::string& text) {
  failures.fetch_add(1);
  std::fprintf(stderr, "%s:%d: %s\n", file, line, text.c_str());
}

template <typename Left, typename Right>
bool equal(const char* file, int line, const char* expression, const Left& left, const Right& right) {
  if (left == right) return true;
  fail(file, line, std::string(expression) + "\n    left:  " + show(left) + "\n    right: " + show(right));
  return false;
}

// What cannot be tested here is said, never passed over in silence.
inline void skip(const std::string& why) { std::printf("  not tested here: %s\n", why.c_str()); }

}  // namespace check

#define TEST(name)                                                                \
  static void name();                                                             \
  static const ::check::Registration name##_registration(__FILE__, #name, &name); \
  static void name()

#define CHECK(condition) ((condition) ? true : (::check::fail(__FILE__, __LINE__, "CHECK(" #condition ")"), false))

#define CHECK_EQ(left, right) ::check::equal(__FILE__, __LINE__, "CHECK_EQ(" #left ", " #right ")", (left), (right))

#define REQUIRE(condition)                             \
  do {                                                 \
    if (!CHECK(condition)) throw ::check::Abandoned(); \
  } while (false)
