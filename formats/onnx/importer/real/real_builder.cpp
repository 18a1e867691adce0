#include "formats/onnx/importer/real/real_builder.h"

#include <algorithm>

#include "core/base/limits.h"
#include "core/base/printable.h"
#include "formats/onnx/importer/declared_ends.h"
#include "formats/onnx/importer/tensor_proto.h"

namespace qsim::formats {
namespace {

void check_size(const NodeReader& node, const ImageShape& shape, Axes axes) {
  for (const std::int64_t dim : shape.nhwc()) {
    if (dim >= 1) continue;
    node.malformed("an output of shape " + shape_text(onnx_shape(shape, axes)),
                   "at least one element");
  }
  const std::int64_t elems = element_count(shape.nhwc());
  if (elems <= kMaxTensorElems) return;
  node.refuse("a tensor of " + std::to_string(elems) + " elements",
              "at most " + std::to_string(kMaxTensorElems));
}

ChannelMap identity_map(std::int64_t channels) {
  const auto count = static_cast<std::size_t>(channels);
  return {std::vector<double>(count, 1.0), std::vector<double>(count, 0.0), true};
}

}  // namespace

RealBuilder::RealBuilder(const ModelGraph& model, std::int64_t batch) : model_(model) {
  const DeclaredInput declared = read_input(model_, batch);
  if (declared.data_type != onnx::TensorProto::FLOAT) {
    throw_unsupported(declared.where + ": is " + onnx_dtype_name(declared.data_type) +
                      "; supported: float32");
  }
  Graph& graph = mapped_.graph;
  graph.name = model_.name;
  graph.input_value() = real_value(declared.shape);
  graph.host.layout = HostInterface::Layout::kNchw;
  graph.host.float_input = true;
  graph.host.float_output = true;
  tensors_[model_.input->name()] = {0, declared.axes, {}, {}};
}

ImageShape RealBuilder::shape(const RealTensor& tensor) const {
  return padded(mapped_.graph.tensors[tensor.id].shape, tensor.pads);
}

const RealTensor* RealBuilder::find(const NodeReader& node, int index) const {
  if (!node.has_input(index)) return nullptr;
  const auto found = tensors_.find(node.input(index));
  return found == tensors_.end() ? nullptr : &found->second;
}

RealTensor RealBuilder::host_tensor(const NodeReader& node, int index) const {
  const RealTensor* found = find(node, index);
  if (!node.has_input(index)) {
    node.malformed("input " + std::to_string(index) + " is absent", "a tensor");
  }
  if (found == nullptr) {
    node.refuse(
        "input " + std::to_string(index) + " '" + echoed(node.input(index)) + "' is a constant",
        "a tensor that the graph computes");
  }
  return *found;
}

RealTensor RealBuilder::tensor(const NodeReader& node, int index) const {
  RealTensor found = host_tensor(node, index);
  if (!found.tail.is_empty()) {
    node.refuse("reads what Softmax or ArgMax gives",
                "Softmax and ArgMax at the end of the graph only");
  }
  return found;
}

RealTensor RealBuilder::tensor(const NodeReader& node, int index, Axes axes) const {
  RealTensor found = tensor(node, index);
  if (found.axes != axes) {
    node.refuse("reads a tensor " + shape_with_axes(shape(found), found.axes), axes_name(axes));
  }
  return found;
}

void RealBuilder::define(const NodeReader& node, const RealTensor& tensor) {
  tensors_[node.output()] = tensor;
  if (tensor.id == mapped_.graph.input || tensor.pads != Pads{} || !tensor.tail.is_empty()) return;
  // Layers write their tensors in order, the first of them tensor 1.
  Layer& writer = mapped_.graph.layers[tensor.id - 1];
  if (writer.tensor.empty()) writer.tensor = node.output();
}

void RealBuilder::set_integers(const std::string& constant, StoredIntegers integers) {
  integers_[constant] = std::move(integers);
}

const StoredIntegers* RealBuilder::integers(const NodeReader& node, int index) const {
  const auto found = integers_.find(node.input(index));
  return found == integers_.end() ? nullptr : &found->second;
}

void RealBuilder::set_layer_integers(RealLayerWeights weights) {
  mapped_.integers.back() = std::move(weights);
}

void RealBuilder::define_rounded(const NodeReader& node, const TensorRule& rule) {
  const RealTensor read = without_pads(node, tensor(node, 0));
  const bool is_read_alone = std::ranges::all_of(tensors_, [&](const auto& entry) {
    return entry.second.id != read.id ||
           (model_.reads_of(entry.first) <= 1 && entry.first != model_.output->name());
  });
  if (!is_read_alone || mapped_.rules.contains(read.id)) {
    node.refuse("rounds a tensor that is also read as it is", "a tensor that it alone reads");
  }
  mapped_.rules.emplace(read.id, rule);
  define(node, read);
}

const Layer* RealBuilder::writer_of(const RealTensor& tensor) const {
  return tensor.id == mapped_.graph.input ? nullptr : &mapped_.graph.layers[tensor.id - 1];
}

RealTensor RealBuilder::add_layer(const NodeReader& node, const std::string& name,
                                  Operation operation, const std::vector<RealTensor>& inputs,
                                  const ImageShape& shape, Axes axes,
                                  std::optional<ChannelMap> map) {
  check_size(node, shape, axes);
  std::vector<TensorId> ids;
  for (const RealTensor& input : inputs) {
    QSIM_CHECK(input.pads == Pads{}, "a layer that reads pads");
    ids.push_back(input.id);
  }
  mapped_.maps.push_back(std::move(map));
  mapped_.integers.emplace_back();
  const TensorId id = append(mapped_.graph, name, std::move(operation), std::move(ids),
                             real_value(shape), node.location());
  return {id, axes, {}, {}};
}

void RealBuilder::define_layer(const NodeReader& node, Operation operation,
                               const std::vector<RealTensor>& inputs, const ImageShape& shape,
                               Axes axes, std::optional<ChannelMap> map) {
  define(node, add_layer(node, node.layer_name(), std::move(operation), inputs, shape, axes,
                         std::move(map)));
}

void RealBuilder::define_map(const NodeReader& node, const RealTensor& input, ChannelMap map) {
  const ImageShape output = shape(input);
  Window window;
  window.pad_top = input.pads.top;
  window.pad_left = input.pads.left;
  window.pad_bottom = input.pads.bottom;
  window.pad_right = input.pads.right;
  RealTensor read = input;
  read.pads = {};
  map.is_alone = true;
  define_layer(node, map_layer(output.channels, window), {read}, output, input.axes,
               std::move(map));
}

void RealBuilder::define_flat(const NodeReader& node, const std::string& name,
                              const RealTensor& input, Axes axes) {
  const RealTensor read = without_pads(node, input);
  const ImageShape in = shape(read);
  const auto order = input.axes == Axes::kNhwc ? Flatten::Order::kHwc : Flatten::Order::kChw;
  define(node, add_layer(node, name, Flatten{order}, {read}, {in.batch, 1, 1, elems_of_picture(in)},
                         axes));
}

RealTensor RealBuilder::without_pads(const NodeReader& node, const RealTensor& tensor) {
  if (tensor.pads == Pads{}) return tensor;
  const ImageShape output = shape(tensor);
  Window window;
  window.pad_top = tensor.pads.top;
  window.pad_left = tensor.pads.left;
  window.pad_bottom = tensor.pads.bottom;
  window.pad_right = tensor.pads.right;
  RealTensor read = tensor;
  read.pads = {};
  return add_layer(node, node.layer_name() + "/pad" + std::to_string(mapped_.graph.layers.size()),
                   map_layer(output.channels, window), {read}, output, tensor.axes,
                   identity_map(output.channels));
}

bool RealBuilder::reinterpret_input_as_nhwc(const NodeReader& node) {
  using Layout = HostInterface::Layout;
  Graph& graph = mapped_.graph;
  const RealTensor input = tensor(node, 0);
  const bool is_read_once = std::ranges::all_of(tensors_, [&](const auto& entry) {
    return entry.second.id != graph.input || model_.reads_of(entry.first) <= 1;
  });
  const bool untouched = graph.layers.empty() && input.axes == Axes::kNchw && is_read_once &&
                         input.pads == Pads{} && graph.host.layout == Layout::kNchw;
  if (!untouched) return false;
  ImageShape& shape = graph.input_value().shape;
  shape = {shape.batch, shape.channels, shape.height, shape.width};
  graph.host.layout = Layout::kNhwc;
  return true;
}

void RealBuilder::check_output(const RealTensor& output) const {
  if (output.id == mapped_.graph.input) refuse_graph_without_layers(model_);
  Shape shape = onnx_shape(this->shape(output), output.axes);
  if (output.tail.arg_max) shape.resize(1);
  if (output.tail.arg_max_keeps_axis) shape.push_back(1);
  check_declared_output(
      model_, output.tail.arg_max ? onnx::TensorProto::INT64 : onnx::TensorProto::FLOAT, shape);
  check_output_axes(model_, output.axes, mapped_.graph.host.layout);
}

HybridNetwork RealBuilder::finish() && {
  const auto found = tensors_.find(model_.output->name());
  if (found == tensors_.end()) refuse_graph_without_layers(model_);
  RealTensor output = found->second;
  const auto last = std::ranges::find_if(model_.nodes, [&](const ModelNode& node) {
    return std::ranges::find(node.proto->output(), model_.output->name()) !=
           node.proto->output().end();
  });
  if (last != model_.nodes.end()) output = without_pads(NodeReader(model_, *last), output);
  check_output(output);
  mapped_.graph.host.tail = output.tail;
  mapped_.graph.host.flat_output = output.axes == Axes::kNk;
  mapped_.graph.output = output.id;
  return folded(std::move(mapped_));
}

}  // namespace qsim::formats
