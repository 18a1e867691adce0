#include "tests/onnx/ort_runner.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include <nlohmann/json.hpp>

#include "core/base/error.h"

namespace qsim {

namespace fs = std::filesystem;

std::optional<fs::path> find_ort() {
  const char* folder = std::getenv("QSIM_ORT_DIR");
  const fs::path path = folder != nullptr ? folder : QSIM_DEFAULT_ORT_DIR;
  if (!fs::exists(path / "installed.sha256")) return {};
  return path;
}

std::string run_ort(const fs::path& ort, const std::vector<OrtRun>& runs,
                    const std::string& optimization, const fs::path& list, bool plain) {
  nlohmann::json entries = nlohmann::json::array();
  for (const OrtRun& run : runs) {
    entries.push_back({{"model", run.model.string()},
                       {"input", run.input.string()},
                       {"outdir", run.outdir.string()}});
  }
  std::ofstream(list) << entries;
  const std::string command = "'" + (ort / "bin/python").string() +
                              "' -B '" QSIM_ORT_SCRIPT "' --optimization " + optimization +
                              (plain ? " --plain" : "") + " --batch '" + list.string() + "' 2>&1";
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return "cannot start a shell";
  std::string output;
  char buffer[4096];
  for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
    output.append(buffer, n);
  }
  const int status = ::pclose(pipe);
  if (status == 0) return "";
  return "status " + std::to_string(status) + ": " + output;
}

fs::path only_npy(const fs::path& folder) {
  fs::path found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    QSIM_CHECK(found.empty(), "two files in " + folder.string());
    found = entry.path();
  }
  QSIM_CHECK(found.extension() == ".npy", "no .npy in " + folder.string());
  return found;
}

}  // namespace qsim
