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

bool is_output_file(const std::string& name) {
  constexpr std::string_view kBegin = "output";
  constexpr std::string_view kEnd = ".npy";
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) return false;
  const std::string middle = name.substr(kBegin.size(), name.size() - kBegin.size() - kEnd.size());
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return middle.empty() || middle == "_q" ||
         (middle.size() > 1 && middle[0] == '_' &&
          std::all_of(middle.begin() + 1, middle.end(), is_digit));
}

bool is_run_file(const std::string& name) {
  return name == "config.yaml" || name == kRunFile || name == "layers.csv" || is_output_file(name);
}

bool is_eval_file(const std::string& name) {
  return name == kEvalFile || name == kPredictionsFile || name == kOutputsFile ||
         name == kKeptPredictionsFile;
}

bool is_golden_file(const std::string& name) { return is_output_file(name); }

std::string host_output_name(std::size_t index) {
  return index == 0 ? "output.npy" : "output_" + std::to_string(index) + ".npy";
}

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
