#include "formats/onnx/exporter/tensor_writer.h"

#include "core/base/error.h"

namespace qsim::formats {
namespace {

std::size_t index_of(TensorRank rank) { return static_cast<std::size_t>(rank); }

}  // namespace

TensorWriter::TensorWriter(const Graph& graph, OnnxForm form, ModelWriter& model)
    : graph_(graph), form_(form), model_(model), names_(graph.tensors.size()) {
  for (const Layer& layer : graph.layers) names_[layer.output].base = layer.name;
}

void TensorWriter::define(TensorId id, const std::string& levels, TensorRank rank) {
  names_[id].levels[index_of(rank)] = levels;
  names_[id].rank = rank;
}

TensorNames TensorWriter::quantization(TensorId id) {
  Names& names = names_[id];
  if (names.scale.empty()) {
    const Value& value = graph_.tensors[id];
    names.scale = model_.add_float(names.base + "/scale", value.scale->real());
    names.zero_point = model_.add_constant(names.base + "/zero_point", onnx_dtype(value.dtype), {},
                                           std::string(1, static_cast<char>(value.zero_point)));
  }
  return {names.scale, names.zero_point};
}

std::string TensorWriter::dequantize(const std::string& levels, TensorId id,
                                     const std::string& wanted) {
  const TensorNames own = quantization(id);
  return model_.add_node("DequantizeLinear", wanted, {levels, own[0], own[1]}).output(0);
}

void TensorWriter::quantize(const std::string& reals, TensorId id, const std::string& levels) {
  const TensorNames own = quantization(id);
  model_.add_node("QuantizeLinear", model_.new_name(levels + "/quantize"), {reals, own[0], own[1]},
                  levels);
}

// Between real numbers in the QDQ form, so that ONNX Runtime may do with the levels what it does
// with those of a layer.
std::string TensorWriter::changed_rank(TensorId id, TensorRank rank) {
  const TensorRank own = names_[id].rank;
  const std::string base = names_[id].base;
  const std::string axes = model_.add_ints(base + "/axes", {2, 3});
  const char* const op_type = rank == TensorRank::kVector ? "Squeeze" : "Unsqueeze";
  const std::string wanted = base + (rank == TensorRank::kVector ? "/vector" : "/picture");
  if (form_ == OnnxForm::kQOperator) {
    return model_.add_node(op_type, wanted, {levels(id, own), axes}).output(0);
  }
  const onnx::NodeProto& node = model_.add_node(op_type, wanted + "/real", {reals(id, own), axes});
  const std::string levels = model_.new_name(wanted);
  quantize(node.output(0), id, levels);
  return levels;
}

std::string TensorWriter::levels(TensorId id, TensorRank rank) {
  std::string& name = names_[id].levels[index_of(rank)];
  if (name.empty()) name = changed_rank(id, rank);
  return name;
}

std::string TensorWriter::reals(TensorId id, TensorRank rank) {
  std::string& name = names_[id].reals[index_of(rank)];
  if (name.empty()) {
    const std::string own = levels(id, rank);
    name = dequantize(own, id, own + "/dequantize");
  }
  return name;
}

TensorNames TensorWriter::quantized(TensorId id, TensorRank rank) {
  TensorNames names = {levels(id, rank)};
  for (const std::string& name : quantization(id)) names.push_back(name);
  return names;
}

}  // namespace qsim::formats
