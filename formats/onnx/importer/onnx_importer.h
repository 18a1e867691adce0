// From a quantized ONNX file to a Graph. Strict: what is not in docs/reference/onnx.md is
// refused by the node's name, never approximated. It quantizes nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/network/graph.h"
#include "formats/files/held_file.h"

namespace qsim::formats {

// A node that ONNX Runtime runs in float32 although the file quantizes what is around it; here it
// is its quantized operator, so a few bytes may differ (docs/reference/onnx.md).
struct FloatNode {
  std::string name;
  std::string op;
  std::string reason;  // why ONNX Runtime does not fuse it
  int index = 0;       // in the file
};

struct ImportOptions {
  // Replaces a symbolic batch dimension; a model whose batch is fixed keeps it, and any `batch` but
  // 1 or that number is refused.
  std::int64_t batch = 1;
  // How all layers round. Absent: as ONNX Runtime rounds; and a chain whose scales are powers of
  // two gets shifts with rounding half to even (core/network/graph_cleanup.h).
  std::optional<RequantizerRounding> rounding = {};
  // Whether a layer that a file quantizes after a move is quantized before it
  // (formats/onnx/importer/move_rewrites.h). ONNX Runtime runs such a layer in float32.
  bool quantizes_before_moves = true;
  // Unless empty, is told of each file of external data before it is read, and may throw Error.
  std::function<void(const std::filesystem::path&)> on_external = {};
  // Unless empty, is told of each such node of a model that is supported, in their order.
  std::function<void(const FloatNode&)> on_float_node = {};
};

// Reads an ONNX model (a graph of quantized operators, opset 7 to 25) and the external data files
// beneath its folder.
// Throws Error naming the file, the node, what was found and what is allowed: exit code 3 for a
// missing, malformed or truncated model and for one that is written to meanwhile, exit code 4 for
// one that is not supported; its details() are then further nodes that are not. The Graph returned
// has passed validate().
Graph import_onnx(const std::filesystem::path& path, const ImportOptions& options = {});
Graph import_onnx(const std::filesystem::path& path, std::int64_t batch);
// The same for a file that the caller keeps open: even if another file takes its name meanwhile, it
// is this file that was imported.
Graph import_onnx(const std::shared_ptr<const HeldFile>& held, const ImportOptions& options = {});

}  // namespace qsim::formats
