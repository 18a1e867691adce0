// A layer trace: a folder with a quantized graph, one input and every layer's ofmap, as `.npy`
// files and a trace.yaml. `--dump-layers` writes one, `verify` replays one, a script can make one
// from another framework. docs/reference/files.md describes the format.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/network/graph.h"

namespace qsim::formats {

struct LayerTrace {
  Graph graph;                 // valid (core/network/graph.h)
  Tensor input;                // NHWC, dtype and shape of graph.input_value()
  std::vector<Tensor> ofmaps;  // one per layer, NHWC, dtype and shape of its output
};

// Throws Error naming the file (and line and column of trace.yaml) for anything that is missing,
// malformed, or inconsistent.
LayerTrace read_layer_trace(const std::filesystem::path& folder);

// Writes one file; as write_file_atomically of formats/files/files.h does.
using FileWriter = std::function<void(const std::filesystem::path&, std::string_view)>;

// Throws Error where the graph's trace.yaml would be longer than read_layer_trace takes
// (kMaxTraceYamlBytes): before the work, not after it. write_layer_trace does so too.
void require_layer_trace_fits(const std::filesystem::path& folder, const Graph& graph);

// Writes the folder, made if need be; trace.yaml comes last, so an unfinished one has none. Files
// of an older trace that this one does not have are removed.
void write_layer_trace(const std::filesystem::path& folder, const Graph& graph, const Tensor& input,
                       const std::vector<Tensor>& ofmaps);
// The same through a writer of the caller's.
void write_layer_trace(const std::filesystem::path& folder, const Graph& graph, const Tensor& input,
                       const std::vector<Tensor>& ofmaps, const FileWriter& write_file);

// Whether write_layer_trace may write a file of that name.
bool is_layer_trace_file(const std::string& name);

inline constexpr const char* kLayerTraceFile = "trace.yaml";
inline constexpr const char* kLayerTraceSchema = "qsim.trace/1";

}  // namespace qsim::formats
