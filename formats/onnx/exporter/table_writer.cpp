// The layers that are functions of one level: tables, PRelu and Relu; and Concat, of whose QLinear
// form tables are a part.
#include <algorithm>

#include "core/base/error.h"
#include "core/network/float_rules.h"
#include "formats/onnx/exporter/layer_writer.h"

namespace qsim::formats {
namespace {

constexpr const char* kRequantize = "requantize";
constexpr const char* kClip = "clip";

}  // namespace

// Whether the importer makes a clamp after this tensor a part of the layer that writes it.
bool LayerWriter::absorbs_clamp(TensorId tensor) const {
  return readers_[tensor] == 1 && writers_[tensor] &&
         clamp_of(network_.graph.layers[*writers_[tensor]].operation).has_value();
}

void LayerWriter::write(const Relu&) {
  const TensorRank rank = tensors_.rank(operand());
  if (!absorbs_clamp(operand())) {
    add_layer("Relu", {tensors_.reals(operand(), rank)}, rank, true);
  } else if (input().dtype == DType::kInt8 && input().zero_point == 0) {
    add_layer("Relu", {tensors_.levels(operand(), rank)}, rank, false);
  } else {
    refuse("a ReLU of a tensor that nothing else reads",
           "the clamp of the layer before it, or int8 of zero_point 0");
  }
}

void LayerWriter::write(const LookupTable& table) {
  const TensorRank rank = tensors_.rank(operand());
  if (table.function == kRequantize && table.bytes == requantizing_table(input(), output())) {
    const TensorNames own = tensors_.quantization(layer().output);
    std::string x = tensors_.reals(operand(), rank);
    if (readers_[operand()] == 1 && input().dtype == output().dtype) x = add_empty_pad(x, rank);
    model_.add_node("QuantizeLinear", layer().name, {x, own[0], own[1]}, layer().name);
    tensors_.define(layer().output, layer().name, rank);
    return;
  }
  const auto& activation = network_.activations[index_];
  if (activation && operation_name(Operation(*activation)) == table.function &&
      table.bytes == table_of(*activation, input(), output())) {
    write_activation(*activation, rank);
  } else if (!write_clipped(table, rank)) {
    refuse("a table of '" + table.function + "'",
           "those of requantize and of the activations of a float network");
  }
}

Tensor onnx_slopes(const PRelu& prelu, bool is_vector) {
  Tensor slopes = prelu.slopes;
  if (!is_vector && slopes.elems() > 1) slopes.shape = {slopes.elems(), 1, 1};
  return slopes;
}

void LayerWriter::write(const PRelu& prelu) {
  const TensorRank rank = tensors_.rank(operand());
  const std::string slopes = model_.add_constant(layer().name + "/slopes",
                                                 onnx_slopes(prelu, rank == TensorRank::kVector));
  add_layer("PRelu", {tensors_.reals(operand(), rank), slopes}, rank, true);
}

// A Pad by nothing. Without it ONNX Runtime would drop the two inner ones of QuantizeLinear,
// DequantizeLinear, QuantizeLinear, DequantizeLinear, and change the scale of the other two.
std::string LayerWriter::add_empty_pad(const std::string& reals, TensorRank rank) {
  const Ints none(rank == TensorRank::kVector ? 4 : 8, 0);
  const std::string name = model_.new_name(layer().name + "/apart");
  const std::string pads = model_.add_ints(name + "/pads", none);
  return model_.add_node("Pad", name, {reals, pads}, name).output(0);
}

// An activation, or a change of quantization, whose levels are then clipped: levels of fewer bits
// than the type has. False where the table is none.
bool LayerWriter::write_clipped(const LookupTable& table, TensorRank rank) {
  const auto& activation = network_.activations[index_];
  if (table.function != kClip) return false;
  const ByteTable whole =
      activation ? table_of(*activation, input(), output()) : requantizing_table(input(), output());
  const auto level = [&](std::uint8_t byte) { return level_of_byte(byte, output().dtype); };
  std::int32_t lo = output().max();
  std::int32_t hi = output().min();
  for (const std::uint8_t byte : table.bytes) {
    lo = std::min(lo, level(byte));
    hi = std::max(hi, level(byte));
  }
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (level(table.bytes[i]) != std::clamp(level(whole[i]), lo, hi)) return false;
  }
  std::string reals = tensors_.reals(operand(), rank);
  if (activation)
    reals = add_activation(*activation, model_.new_name(layer().name + "/unclipped"), reals);
  const std::string clipped = add_clip(layer().name, reals, real_of(lo), real_of(hi));
  tensors_.quantize(clipped, layer().output, layer().name);
  tensors_.define(layer().output, layer().name, rank);
  return true;
}

// The activation of real numbers; returns what it writes.
std::string LayerWriter::add_activation(const Activation& activation, const std::string& name,
                                        const std::string& reals) {
  using Kind = Activation::Kind;
  if (activation.kind == Kind::kClip) return add_clip(name, reals, activation.lo, activation.hi);
  const std::string written = model_.new_name(name + "/real");
  onnx::NodeProto& node = model_.add_node(onnx_operator(activation.kind), name, {reals}, written);
  set_slope(node, activation);
  return written;
}

void LayerWriter::write_activation(const Activation& activation, TensorRank rank) {
  using Kind = Activation::Kind;
  const bool leaky = activation.kind == Kind::kLeakyRelu;
  if (!is_real() && (leaky || activation.kind == Kind::kSigmoid)) {
    TensorNames inputs = tensors_.quantized(operand(), rank);
    for (const std::string& each : tensors_.quantization(layer().output)) inputs.push_back(each);
    onnx::NodeProto& node =
        add_layer(leaky ? "QLinearLeakyRelu" : "QLinearSigmoid", inputs, rank, false);
    node.set_domain(kMicrosoft);
    if (leaky) set_float(node, "alpha", activation.alpha);
    return;
  }
  const std::string reals =
      add_activation(activation, layer().name, tensors_.reals(operand(), rank));
  tensors_.quantize(reals, layer().output, layer().name);
  tensors_.define(layer().output, layer().name, rank);
}

// Whether layer `index` is what the importer makes of an operand of another quantization.
bool LayerWriter::is_joined_table(std::size_t index, const Layer& concat,
                                  std::size_t operand) const {
  const Layer& layer = network_.graph.layers[index];
  const auto* table = std::get_if<LookupTable>(&layer.operation);
  return table != nullptr && layer.output == concat.inputs[operand] &&
         readers_[layer.output] == 1 && table->function == kRequantize &&
         layer.name == concat.name + "/requantize" + std::to_string(operand) &&
         table->bytes ==
             requantizing_table(network_.graph.input_of(index), network_.graph.output_of(index));
}

// The tables straight before a Concat, in the order of its operands.
void LayerWriter::find_joined_tables() {
  const std::vector<Layer>& layers = network_.graph.layers;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (!std::holds_alternative<Concat>(layers[i].operation)) continue;
    std::size_t next = i;
    for (std::size_t operand = layers[i].inputs.size(); operand > 0 && next > 0; --operand) {
      if (!is_joined_table(next - 1, layers[i], operand - 1)) continue;
      joined_[--next] = true;
    }
  }
}

TensorId LayerWriter::joined_operand(std::size_t number) const {
  const TensorId id = operand(number);
  const auto& writer = writers_[id];
  return writer && joined_[*writer] ? network_.graph.layers[*writer].inputs[0] : id;
}

void LayerWriter::write(const Concat&) {
  std::vector<TensorId> operands;
  for (std::size_t i = 0; i < layer().inputs.size(); ++i) operands.push_back(joined_operand(i));
  const bool vectors = std::ranges::all_of(
      operands, [&](TensorId id) { return tensors_.rank(id) == TensorRank::kVector; });
  const TensorRank rank = vectors ? TensorRank::kVector : TensorRank::kPicture;
  const bool is_mixed = std::ranges::any_of(
      operands, [&](TensorId id) { return network_.graph.tensors[id].dtype != output().dtype; });
  const bool as_reals = is_real() || is_mixed;
  TensorNames inputs;
  if (!as_reals) inputs = tensors_.quantization(layer().output);
  for (const TensorId id : operands) {
    const TensorNames names =
        as_reals ? TensorNames{tensors_.reals(id, rank)} : tensors_.quantized(id, rank);
    inputs.insert(inputs.end(), names.begin(), names.end());
  }
  onnx::NodeProto& node = add_layer(as_reals ? "Concat" : "QLinearConcat", inputs, rank, as_reals);
  if (!as_reals) node.set_domain(kMicrosoft);
  set_int(node, "axis", 1);
}

}  // namespace qsim::formats
