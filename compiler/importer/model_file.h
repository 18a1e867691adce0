// An ONNX file parsed as protobuf, nothing more: no name is resolved and no shape is checked here.
#pragma once

#include <cstdint>
#include <filesystem>

#include <onnx/onnx_pb.h>

namespace qsim {

// Protobuf cannot hold more.
inline constexpr std::int64_t kMaxModelBytes = (std::int64_t{2} << 30) - 1;

struct ModelFile {
  std::filesystem::path path;
  onnx::ModelProto proto;
};

// Throws Error (exit code 3) when the file is missing, unreadable, longer than kMaxModelBytes, a
// git-LFS pointer, or not a whole protobuf message with a graph.
ModelFile read_model_file(const std::filesystem::path& path);

}  // namespace qsim
