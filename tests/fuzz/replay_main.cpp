// Runs a target on files, without libFuzzer: every seed and past finding, in the ordinary tests.
// usage: fuzz_TARGET [--require-accepted] FILE|FOLDER...
// With --require-accepted a run in which the reader takes no input fails: it shows nothing.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <vector>

#include "formats/files/files.h"
#include "tests/fuzz/fuzz_support.h"

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_of(int first, int argc, char** argv) {
  std::vector<fs::path> files;
  for (int i = first; i < argc; ++i) {
    if (!fs::is_directory(argv[i])) {
      files.emplace_back(argv[i]);
      continue;
    }
    for (const auto& entry : fs::directory_iterator(argv[i])) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  const bool must_accept = argc > 1 && std::string_view(argv[1]) == "--require-accepted";
  const std::vector<fs::path> files = files_of(must_accept ? 2 : 1, argc, argv);
  if (files.empty()) {
    std::fprintf(stderr, "usage: %s [--require-accepted] FILE|FOLDER...\n", argv[0]);
    return 2;
  }
  std::size_t accepted = 0;
  for (const fs::path& file : files) {
    // Before the run, so that the last line names the input of a finding.
    std::printf("%s\n", file.c_str());
    std::fflush(stdout);
    const std::vector<std::byte> bytes = qsim::formats::read_binary_file(file);
    const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
    accepted += qsim::fuzz::fuzz_one({data, bytes.size()}) ? 1 : 0;
  }
  std::printf("%zu inputs, %zu accepted, no finding\n", files.size(), accepted);
  if (must_accept && accepted == 0) {
    std::fprintf(stderr, "no input was accepted; at least one must be\n");
    return 1;
  }
  return 0;
}
