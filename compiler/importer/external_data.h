// Tensor data that ONNX keeps in files of its own, beside the model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <onnx/onnx_pb.h>

#include "compiler/importer/model_file.h"
#include "compiler/importer/stored_bytes.h"

namespace qsim {

// The `expected` bytes that proto.external_data points to. The location must be a relative path
// without '..' that ends, links followed, beneath `folder`: a model cannot make qsim read other
// files. `where` opens every error. `on_file`, unless empty, is told of the file before it is read.
ReadBytes open_external_data(const onnx::TensorProto& proto, std::int64_t expected,
                             const std::filesystem::path& folder, const std::string& where,
                             const OnExternalFile& on_file = {});

}  // namespace qsim
