// From a float ONNX file to a RealGraph: batch normalization folded, dropout and identities gone.
// docs/reference/float_import.md lists the operators and derives the folding.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>

#include "core/real_graph.h"
#include "files/held_file.h"

namespace qsim {

struct RealImportOptions {
  std::int64_t batch = 1;  // replaces a symbolic batch dimension
  std::function<void(const std::filesystem::path&)> on_external = {};  // as ImportOptions
};

// Throws Error as import_onnx does; every node that is not supported is in details(). A quantized
// file is refused by name.
RealGraph import_real_onnx(const std::shared_ptr<const HeldFile>& held,
                           const RealImportOptions& options = {});

// Whether the file's graph has no quantized operator: `qsim run` refuses it then, and `qsim
// quantize` takes it.
bool is_float_onnx(const std::shared_ptr<const HeldFile>& held);

}  // namespace qsim
