// An ONNX file parsed as protobuf, nothing more: no name is resolved and no shape is checked here.
#pragma once

#include <filesystem>
#include <map>

#include <onnx/onnx_pb.h>

#include "compiler/importer/model_outline.h"

namespace qsim {

struct ModelFile {
  std::filesystem::path path;
  onnx::ModelProto proto;
  // Of the initializers whose raw_data was left in the file; their `proto` has none.
  std::map<const onnx::TensorProto*, FileRange> raw_data;
};

// Throws Error (exit code 3) when the file is missing, unreadable, longer than kMaxModelBytes
// (core/limits.h), a git-LFS pointer, or not a whole protobuf message with a graph.
ModelFile read_model_file(const std::filesystem::path& path);

}  // namespace qsim
