// From an ONNX TensorProto to values: raw bytes, typed fields, or a file beside the model. The
// stored element count must be what the dimensions say.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include "core/tensor.h"

namespace qsim {

// "int8", "float16", ... of onnx::TensorProto::DataType.
std::string onnx_dtype_name(int data_type);

// A tensor of int8, uint8, int32 or float32; other types are refused. External data is looked for
// beneath `folder`, the model's. `where` opens every error.
Tensor decode_tensor(const onnx::TensorProto& proto, const std::filesystem::path& folder,
                     const std::string& where);

// The elements of a tensor of int64 (the shapes that Reshape reads), of at most one dimension.
std::vector<std::int64_t> decode_int64s(const onnx::TensorProto& proto,
                                        const std::filesystem::path& folder,
                                        const std::string& where);

}  // namespace qsim
