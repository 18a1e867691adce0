// ONNX Runtime as a witness: runs models through tools/ort/run_onnx.py, which first checks that
// ONNX Runtime is exact on this processor.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace qsim {

struct OrtRun {
  std::filesystem::path model;
  std::filesystem::path input;   // .npy in the model's own layout
  std::filesystem::path outdir;  // each output goes to <outdir>/<name>.npy
};

// The environment that tools/ort/install.sh made: $QSIM_ORT_DIR, or ort/ in the build folder.
// Nothing when there is none.
std::optional<std::filesystem::path> find_ort();

// Runs all models in one process, on one thread. `optimization` is "all" or "disabled"; `list` is
// where the list of runs is written. `plain`: a session as users open it, which is not exact on
// every processor where int8 weights beyond -64..64 meet uint8 data. Returns "", or what the
// process printed when it failed.
std::string run_ort(const std::filesystem::path& ort, const std::vector<OrtRun>& runs,
                    const std::string& optimization, const std::filesystem::path& list,
                    bool plain = false);

// The one .npy file of a folder.
std::filesystem::path only_npy(const std::filesystem::path& folder);

}  // namespace qsim
