// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target without libFuzzer: every input given, then mutations of them, the same ones each time.
//
//   fuzz_record [-mutations=N] [-seed=N] FILE|FOLDER...
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz.hpp"

namespace {

namespace fs = std::filesystem;

using Random = std::mt19937_64;

size_t below(Random& random, size_t end) { return end == 0 ? 0 : static_cast<size_t>(random() % end); }

void run(const std::string& input) {
  // In a block of exactly this size, so that the address sanitizer sees every byte read behind it.
  const std::vector<uint8_t> bytes(input.begin(), input.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

void mutate_once(std::string& input, const std::vector<std::string>& corpus, Random& random) {
  static constexpr unsigned char kTelling[] = {0x00, 0x01, 0x7f, 0x80, 0xff, 0x0a, 0x12};
  const size_t at = below(random, input.size() + 1);
  const size_t size = below(random, std::min<size_t>(input.size() - at, 64) + 1);
  const std::string& other = corpus[below(random, corpus.size())];
  switch (below(random, 7)) {
    case 0:
      if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << below(random, 8)));
      break;
    case 1:
      if (at < input.size()) input[at] = static_cast<char>(kTelling[below(random, std::size(kTelling))]);
      break;
    case 2:
      input.erase(at, size);
      break;
    case 3:
      input.insert(at, input.substr(at, size));
      break;
    case 4:
      input.insert(at, 1 + below(random, 16), static_cast<char>(random() & 0xff));
      break;
    case 5:
      input.resize(at);
      break;
    default: {
      const size_t from = below(random, other.size() + 1);
      input.insert(at, other, from, below(random, 200));
    }
  }
}

std::vector<std::string> read_inputs(const fs::path& path) {
  std::vector<fs::path> files;
  if (fs::is_directory(path)) {
    for (const auto& entry : fs::directory_iterator(path)) files.push_back(entry.path());
    std::sort(files.begin(), files.end());  // the same order everywhere, so that a seed means the same
  } else {
    files.push_back(path);
  }
  std::vector<std::string> inputs;
  for (const auto& file : files) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) {
      std::fprintf(stderr, "cannot read %s\n", file.c_str());
      std::exit(2);
    }
    inputs.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return inputs;
}

}  // namespace

int main(int argc, char** argv) {
  size_t mutations = 10000;
  uint64_t seed = 1;
  std::vector<std::string> corpus;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("-mutations=")) {
      mutations = std::stoul(std::string(argument.substr(11)));
    } else if (argument.starts_with("-seed=")) {
      seed = std::stoull(std::string(argument.substr(6)));
    } else {
      for (auto& input : read_inputs(argument)) corpus.push_back(std::move(input));
    }
  }
  if (corpus.empty()) {
    std::fprintf(stderr, "no inputs: a fuzz target that runs nothing proves nothing\n");
    return 2;
  }
  for (const auto& input : corpus) run(input);
  run("");
  Random random(seed);
  for (size_t i = 0; i < mutations; ++i) {
    std::string input = corpus[below(random, corpus.size())];
    for (size_t times = 1 + below(random, 4); times > 0; --times) mutate_once(input, corpus, random);
    run(input);
  }
  std::printf("%zu inputs and %zu mutations passed\n", corpus.size(), mutations);
  return 0;
}
