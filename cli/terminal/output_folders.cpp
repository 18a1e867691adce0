#include "cli/terminal/output_folders.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/base/error.h"
#include "core/machine/command_streams.h"
#include "formats/traces/layer_trace.h"

namespace qsim::cli {
namespace {

namespace fs = std::filesystem;

void require_without(const fs::path& folder, const char* file, const std::string& what) {
  std::error_code error;
  if (!fs::exists(folder / file, error)) return;
  throw_bad_input(folder.string() + ": holds " + what + " ('" + file +
                  "'); name another folder, or remove that one");
}

}  // namespace

bool is_run_file(const std::string& name) {
  constexpr std::array kNames = {"config.yaml", kRunFile, "layers.csv", "output.npy",
                                 "output_q.npy"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

bool is_eval_file(const std::string& name) {
  return name == kEvalFile || name == kPredictionsFile || name == kOutputsFile ||
         name == kKeptPredictionsFile;
}

bool is_golden_file(const std::string& name) { return name == "output.npy"; }

bool is_vector_file(const std::string& name) {
  constexpr std::array kSingle = {kVectorFile, "config.yaml", "program.qprog", "vectors.svh"};
  if (std::find(kSingle.begin(), kSingle.end(), name) != kSingle.end()) return true;
  const std::string stem = name.substr(0, name.rfind('.'));
  if (name != stem + ".npy" && name != stem + ".hex") return false;
  for (const std::string_view unit : kUnitNames) {
    if (stem == unit || stem == std::string(unit) + "_times") return true;
  }
  constexpr std::array kBoth = {"semaphores", "dram_before", "dram_after"};
  const bool is_layer = name.ends_with(".npy") && stem.starts_with("layer") && stem.size() > 5 &&
                        stem.find_first_not_of("0123456789", 5) == std::string::npos;
  return is_layer || std::find(kBoth.begin(), kBoth.end(), stem) != kBoth.end();
}

void make_output_folder(Context& context, const fs::path& folder) {
  if (folder.empty()) return;
  context.make_folder(folder);
  require_without(folder, kVectorFile, "the vectors of export-vectors");
}

void require_only_vectors(const fs::path& folder) {
  require_without(folder, kRunFile, "the results of a run");
  require_without(folder, formats::kLayerTraceFile, "a layer trace");
}

}  // namespace qsim::cli
