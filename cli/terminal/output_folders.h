// The folders that commands write: the names of their files, and the one file of each that says
// what the folder holds and that it is whole.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "cli/terminal/context.h"

namespace qsim::cli {

// Whether a command may write a file of that name into its folder: `run --out`, `golden run --out`,
// `eval --out`, `export-vectors --out`. Of --dump-layers that is is_layer_trace_file
// (formats/traces/layer_trace.h).
bool is_run_file(const std::string& name);
// output.npy, output_q.npy, output_1.npy, ...: of a run's files.
bool is_output_file(const std::string& name);
bool is_eval_file(const std::string& name);
bool is_golden_file(const std::string& name);
bool is_vector_file(const std::string& name);
// The file of an output of a network with a host: output.npy, output_1.npy, ...
std::string host_output_name(std::size_t index);

inline constexpr const char* kRunFile = "run.json";
inline constexpr const char* kVectorFile = "manifest.json";
// What `eval` writes: its result, and what it keeps while it works.
inline constexpr const char* kEvalFile = "eval.json";
inline constexpr const char* kPredictionsFile = "predictions.npy";
inline constexpr const char* kOutputsFile = "outputs.npy";
inline constexpr const char* kKeptPredictionsFile = "eval.kept";

// Vectors have a folder that no other command writes into: they share names with the files of
// `run`, and a test bench may read every file of the folder. Throw Error naming the folder.
void require_only_vectors(const std::filesystem::path& folder);  // of `export-vectors`
// For all other commands: makes the folder (Context::make_folder), where it is not "".
void make_output_folder(Context& context, const std::filesystem::path& folder);

}  // namespace qsim::cli
