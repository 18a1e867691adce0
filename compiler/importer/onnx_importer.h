// From a quantized ONNX file to a Graph. Strict: what is not in docs/reference/onnx_import.md is
// refused by the node's name, never approximated. It quantizes nothing and fuses nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>

#include "core/graph.h"
#include "files/held_file.h"

namespace qsim {

// Reads an ONNX model (a chain of quantized operators, opset 10 to 21, power-of-two scales) and
// the external data files beneath its folder. `batch` replaces a symbolic batch dimension; a model
// whose batch is fixed keeps it, and any `batch` but 1 or that number is refused.
// Throws Error naming the file, the node, what was found and what is allowed: exit code 3 for a
// missing, malformed or truncated model and for one that is written to meanwhile, exit code 4 for
// one that is not supported. The Graph returned has passed validate().
Graph import_onnx(const std::filesystem::path& path, std::int64_t batch = 1);
// The same for a file that the caller keeps open: even if another file takes its name meanwhile, it
// is this file that was imported. `on_external`, unless empty, is told of each file of external
// data before it is read, and may throw Error.
Graph import_onnx(const std::shared_ptr<const HeldFile>& held, std::int64_t batch = 1,
                  const std::function<void(const std::filesystem::path&)>& on_external = {});

}  // namespace qsim
