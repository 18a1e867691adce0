// Runs a target on files, without libFuzzer: every seed and past finding, in the ordinary tests.
// usage: fuzz_TARGET FILE|FOLDER...
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "core/io/files.h"
#include "tests/fuzz/fuzz_support.h"

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_of(int argc, char** argv) {
  std::vector<fs::path> files;
  for (int i = 1; i < argc; ++i) {
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
  const std::vector<fs::path> files = files_of(argc, argv);
  if (files.empty()) {
    std::fprintf(stderr, "usage: %s FILE|FOLDER...\n", argv[0]);
    return 2;
  }
  for (const fs::path& file : files) {
    // Before the run, so that the last line names the input of a finding.
    std::printf("%s\n", file.c_str());
    std::fflush(stdout);
    const std::vector<std::byte> bytes = qsim::read_binary_file(file);
    qsim::fuzz::fuzz_one({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  }
  std::printf("%zu inputs, no finding\n", files.size());
  return 0;
}
