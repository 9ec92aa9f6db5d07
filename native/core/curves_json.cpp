// SPDX-License-Identifier: Apache-2.0
#include "curves_json.hpp"

#include <algorithm>
#include <future>
#include <system_error>
#include <thread>
#include <vector>

namespace aboard {
namespace {

constexpr size_t kObjectBytes = 72, kTripleBytes = 44;  // of a usual point
constexpr size_t kWorthAThread = 1 << 20;               // bytes
constexpr size_t kMostThreads = 4;                      // requests come several at a time anyway

using Curves = std::span<const Curve>;

void append_in_turn(std::string& out, Curves curves, size_t budget, PointsForm form) {
  for (size_t i = 0; i < curves.size(); ++i) {
    if (i > 0) out.push_back(',');
    out += curves[i].key;
    out.push_back(':');
    append_points_json(out, curves[i].points, budget, form);
  }
}

// Cut into at most `parts` parts of about the same number of bytes.
std::vector<Curves> cut(Curves curves, size_t bytes, size_t parts, size_t budget, PointsForm form) {
  std::vector<Curves> result;
  size_t begin = 0, before = 0;
  for (size_t i = 0; i < curves.size(); ++i) {
    before += json_size(curves[i], budget, form);
    if (before * parts >= bytes * (result.size() + 1)) {
      result.push_back(curves.subspan(begin, i + 1 - begin));
      begin = i + 1;
    }
  }
  if (begin < curves.size()) result.push_back(curves.subspan(begin));
  return result;
}

}  // namespace

size_t json_size(const Curve& curve, size_t budget, PointsForm form) noexcept {
  const size_t of_point = form == PointsForm::objects ? kObjectBytes : kTripleBytes;
  return curve.key.size() + std::min(curve.points.size, budget) * of_point;
}

void append_curves_json(std::string& out, Curves curves, size_t budget, PointsForm form) {
  size_t bytes = 0;
  for (const Curve& curve : curves) bytes += json_size(curve, budget, form);
  out.reserve(out.size() + bytes + bytes / 16);
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const size_t threads = std::min({kMostThreads, cores, bytes / kWorthAThread});
  if (threads < 2) return append_in_turn(out, curves, budget, form);

  const std::vector<Curves> parts = cut(curves, bytes, threads, budget, form);
  const auto write = [&](Curves part) {
    std::string text;
    text.reserve(bytes / threads + bytes / threads / 8);
    append_in_turn(text, part, budget, form);
    return text;
  };
  std::vector<std::future<std::string>> others;
  for (size_t i = 1; i < parts.size(); ++i) {
    try {
      others.push_back(std::async(std::launch::async, write, parts[i]));
    } catch (const std::system_error&) {
      others.push_back(std::async(std::launch::deferred, write, parts[i]));  // no thread to be had
    }
  }
  append_in_turn(out, parts.front(), budget, form);
  for (auto& other : others) {
    out.push_back(',');
    out += other.get();
  }
}

}  // namespace aboard
