// The element types of an ONNX file that are a DType.
#pragma once

#include <onnx/onnx_pb.h>

#include "core/base/tensor.h"

namespace qsim::formats {

inline onnx::TensorProto::DataType onnx_dtype(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
      return onnx::TensorProto::INT8;
    case DType::kUint8:
      return onnx::TensorProto::UINT8;
    case DType::kInt16:
      return onnx::TensorProto::INT16;
    case DType::kInt32:
      return onnx::TensorProto::INT32;
    case DType::kInt64:
      return onnx::TensorProto::INT64;
    case DType::kFloat32:
      return onnx::TensorProto::FLOAT;
    case DType::kFloat64:
      return onnx::TensorProto::DOUBLE;
    case DType::kBool:
      return onnx::TensorProto::BOOL;
  }
  return onnx::TensorProto::UNDEFINED;
}

}  // namespace qsim::formats
