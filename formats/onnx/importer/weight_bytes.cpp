#include "formats/onnx/importer/weight_bytes.h"

#include <set>

#include "core/base/limits.h"

namespace qsim::formats {
namespace {

using onnx::TensorProto;

// Elements that the dimensions declare; 0 of what no tensor can have.
std::int64_t declared_elems(const TensorProto& proto) {
  std::int64_t elems = 1;
  for (const std::int64_t dim : proto.dims()) {
    if (dim <= 0 || dim > kMaxTensorElems / elems) return 0;
    elems *= dim;
  }
  return elems;
}

// Bytes of an element that becomes one of the graph's; 0 of one that does not.
std::int64_t elem_bytes(int data_type, bool is_real) {
  if (is_real) return data_type == TensorProto::FLOAT ? 4 : 0;
  if (data_type == TensorProto::INT8 || data_type == TensorProto::UINT8) return 1;
  return data_type == TensorProto::INT32 ? 4 : 0;
}

// Bytes of one of the graph's tensors made of `proto`.
std::int64_t tensor_bytes(const ModelFile& file, const TensorProto& proto, bool is_real) {
  const std::int64_t each = elem_bytes(proto.data_type(), is_real);
  if (each == 0) return 0;
  if (proto.data_location() == TensorProto::EXTERNAL) return declared_elems(proto) * each;
  const auto left_in_file = file.raw_data.find(&proto);
  if (left_in_file != file.raw_data.end()) return left_in_file->second.bytes;
  if (proto.has_raw_data()) return std::ssize(proto.raw_data());
  return (is_real ? proto.float_data_size() : proto.int32_data_size()) * each;
}

}  // namespace

// At most 9 inputs of 10,000 nodes, 8 GiB each: below 2^50.
std::int64_t weight_bytes(const ModelGraph& graph, const std::vector<ModelNode>& nodes,
                          bool is_real) {
  std::int64_t bytes = 0;
  for (const ModelNode& node : nodes) {
    for (const std::string& input :
         std::set(node.proto->input().begin(), node.proto->input().end())) {
      const TensorProto* constant = graph.constant(input);
      if (constant != nullptr) bytes += tensor_bytes(*graph.file, *constant, is_real);
    }
  }
  return bytes;
}

}  // namespace qsim::formats
