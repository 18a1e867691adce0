// Workload files (models/workloads/*.yaml): a network given by its layer shapes, with seeded
// tensors. Their values are chosen so that the network lives: by construction, without running it,
// every ofmap of 64 or more elements has at least 32 distinct values and at most a quarter of them
// at either clamp. docs/reference/files.md describes the format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "core/network/graph_shapes.h"

namespace qsim::formats {

struct Workload {
  Graph graph;  // valid (core/network/graph.h)
  Tensor input;
};

// `batch` replaces the file's own. The same file and batch give the same bytes everywhere. With
// Tensors::kShapes nothing is drawn, so that it takes no time and no memory, and all but the bytes
// of the tensors is as if it was. Throws Error with file:line:column for a malformed file or a
// shape that does not work out.
Workload load_workload(const std::filesystem::path& path, std::optional<std::int64_t> batch = {},
                       Tensors tensors = Tensors::kDrawn);
inline Graph load_workload_shapes(const std::filesystem::path& path,
                                  std::optional<std::int64_t> batch = {}) {
  return load_workload(path, batch, Tensors::kShapes).graph;
}

}  // namespace qsim::formats
