// From a float ONNX file to a Graph: batch normalization folded, dropout and identities gone.
// docs/reference/onnx.md lists the operators and derives the folding.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>

#include "core/network/hybrid_network.h"
#include "formats/files/held_file.h"

namespace qsim::formats {

struct RealImportOptions {
  std::int64_t batch = 1;  // replaces a symbolic batch dimension
  std::function<void(const std::filesystem::path&)> on_external = {};  // as ImportOptions
};

// Throws Error as import_onnx does; every node that is not supported is in details(). A quantized
// file is refused by name.
Graph import_real_onnx(const std::shared_ptr<const HeldFile>& held,
                       const RealImportOptions& options = {});

// Reads a file whose weights alone are integers, or whose layers find the ranges of what they read,
// or whose tensors are rounded by nodes of the domain "qsim". docs/reference/onnx.md is the
// format. Throws Error as import_real_onnx() does.
HybridNetwork import_hybrid_onnx(const std::shared_ptr<const HeldFile>& held,
                                 const RealImportOptions& options = {});

// Whether a file is one of these: golden runs it, and import_onnx() refuses it by name.
bool is_hybrid_onnx(const std::shared_ptr<const HeldFile>& held);

// Whether the file's graph has no quantized operator: `qsim run` refuses it then, and `qsim
// quantize` takes it.
bool is_float_onnx(const std::shared_ptr<const HeldFile>& held);

}  // namespace qsim::formats
