// What an ONNX file declares of its input and output: element type and shape.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

namespace qsim {

inline constexpr std::int64_t kSymbolic = -1;

struct Declaration {
  int data_type = 0;  // onnx::TensorProto::DataType
  bool has_shape = false;
  std::vector<std::int64_t> shape;  // kSymbolic where the dimension has a name or nothing
};

// Throws Error for what is not a tensor and for a dimension below 1. `where` opens the message.
Declaration read_declaration(const onnx::ValueInfoProto& info, const std::string& where);

// "[N, 3, 32, 32]", symbolic dimensions written '?'.
std::string declared_shape_text(const Declaration& declaration);

}  // namespace qsim
