// import_onnx(onnx_bytes(network)) == network.graph, field by field, in both forms.
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "formats/onnx/exporter/onnx_exporter.h"
#include "formats/onnx/importer/onnx_importer.h"
#include "tests/exporter/graph_difference.h"
#include "tests/exporter/network_maker.h"
#include "tests/exporter/random_networks.h"
#include "tests/importer/model_builder.h"

namespace qsim {

using namespace formats;
namespace {

constexpr std::array kForms = {OnnxForm::kQOperator, OnnxForm::kQdq};

Graph imported(const TestFolder& folder, const std::string& bytes) {
  write_text(folder / "model.onnx", bytes);
  return import_onnx(folder / "model.onnx");
}

std::string round_trip_difference(const TestFolder& folder, const QuantizedNetwork& network) {
  for (const OnnxForm form : kForms) {
    const std::string found =
        graph_difference(network.graph, imported(folder, onnx_bytes(network, form)));
    if (!found.empty()) return (form == OnnxForm::kQdq ? "QDQ: " : "QOperator: ") + found;
  }
  return "";
}

onnx::ModelProto parsed(const std::string& bytes) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(bytes));
  return model;
}

// Operators of the file, with how often.
std::map<std::string, int> operators_of(const QuantizedNetwork& network, OnnxForm form) {
  std::map<std::string, int> counts;
  const onnx::ModelProto model = parsed(onnx_bytes(network, form));
  for (const auto& node : model.graph().node()) ++counts[node.op_type()];
  return counts;
}

TEST(Export, ARandomNetworkComesBackAsItWas) {
  const TestFolder folder;
  std::map<std::string, int> operations;
  std::map<std::string, int> styles;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const QuantizedNetwork network = random_network(seed);
    EXPECT_EQ(round_trip_difference(folder, network), "");
    for (std::size_t i = 0; i < network.graph.layers.size(); ++i) {
      const Operation& operation = network.graph.layers[i].operation;
      const auto* table = std::get_if<LookupTable>(&operation);
      const std::string name(operation_name(operation));
      ++operations[table != nullptr ? name + " " + table->function : name];
      const auto* conv = std::get_if<Conv2d>(&operation);
      if (conv == nullptr) continue;
      ++styles[conv->requantization.is_dyadic() ? "scales" : "shifts"];
      ++styles[conv->weights.dtype == DType::kInt16 ? "nine bits" : "eight bits"];
      ++styles[network.weights[i].scales.size() > 1 ? "per channel" : "per tensor"];
      ++styles[network.weights[i].zero_points.empty() ? "int8 weights" : "uint8 weights"];
      ++styles[network.graph.output_of(i).is_unsigned() ? "uint8" : "int8"];
      ++styles[conv->groups > 1 ? "groups" : "one group"];
    }
    ++styles[network.graph.host.layout == HostInterface::Layout::kNhwc ? "NHWC" : "NCHW"];
    ++styles[network.graph.host.tail.is_empty() ? "no tail" : "tail"];
  }
  EXPECT_EQ(operations.size(), 16U);  // of 9 kinds of layers and 7 functions of tables
  EXPECT_EQ(styles.size(), 16U);
  for (const auto& [name, count] : operations) EXPECT_GE(count, 10) << name;
  for (const auto& [name, count] : styles) EXPECT_GE(count, 10) << name;
}

// A chain in the given style with each kind of clamp, by hand.
QuantizedNetwork chain(const NetworkStyle& style) {
  NetworkMaker maker(7, style, {1, 8, 8, 3});
  maker.conv(4, {3, 3, 1, 1, 1, 1, 1, 1});
  maker.max_pool({2, 2, 2, 2}, false);
  maker.flatten(Flatten::Order::kChw);
  maker.fully_connected(5);
  maker.graph().host.flat_output = true;
  maker.graph().host.float_input = true;
  maker.graph().host.float_output = true;
  return maker.finish();
}

TEST(Export, EveryClampComesBack) {
  const TestFolder folder;
  for (const bool is_unsigned : {false, true}) {
    QuantizedNetwork network = chain({.is_unsigned = is_unsigned});
    auto& conv = std::get<Conv2d>(network.graph.layers[0].operation);
    const Value& out = network.graph.output_of(0);
    for (std::int32_t lo = out.min(); lo <= out.max(); lo += 15) {
      for (std::int32_t hi = lo; hi <= out.max(); hi += 17) {
        conv.requantization.lo = lo;
        conv.requantization.hi = hi;
        ASSERT_EQ(round_trip_difference(folder, network), "") << lo << ".." << hi;
      }
    }
  }
}

TEST(Export, AClampThatTheTypeDoesCostsNoNode) {
  QuantizedNetwork network = chain({});
  auto& conv = std::get<Conv2d>(network.graph.layers[0].operation);
  auto& fc = std::get<FullyConnected>(network.graph.layers[3].operation);
  conv.requantization.lo = fc.requantization.lo = 0;
  conv.requantization.hi = fc.requantization.hi = 255;
  using Counts = std::map<std::string, int>;
  EXPECT_EQ(operators_of(network, OnnxForm::kQOperator), (Counts{{"QuantizeLinear", 1},
                                                                 {"QLinearConv", 1},
                                                                 {"MaxPool", 1},
                                                                 {"Flatten", 1},
                                                                 {"QGemm", 1},
                                                                 {"DequantizeLinear", 1}}));
  EXPECT_EQ(operators_of(network, OnnxForm::kQdq), (Counts{{"QuantizeLinear", 5},
                                                           {"Conv", 1},
                                                           {"MaxPool", 1},
                                                           {"Flatten", 1},
                                                           {"Gemm", 1},
                                                           {"DequantizeLinear", 9}}));
}

TEST(Export, AnOperandOfOneElementKeepsItsPlace) {
  const TestFolder folder;
  NetworkMaker maker(3, {}, {1, 2, 2, 2});
  const TensorId a = maker.conv(1, {2, 2, 1, 1});
  const TensorId b = maker.conv(1, Window{});
  maker.add(a, b);
  EXPECT_EQ(round_trip_difference(folder, maker.finish()), "");
}

TEST(Export, TablesOfAConcatAreItsOwn) {
  NetworkMaker maker(1, {}, {1, 4, 4, 2});
  const TensorId input = maker.last();
  const TensorId other = maker.conv(2, Window{});
  maker.concat({input, other, input});
  const QuantizedNetwork network = maker.finish();
  const TestFolder folder;
  EXPECT_EQ(round_trip_difference(folder, network), "");
  ASSERT_GE(network.graph.layers.size(), 3U);  // at least one table
  EXPECT_EQ(operators_of(network, OnnxForm::kQOperator).at("QLinearConcat"), 1);
  const onnx::ModelProto model = parsed(onnx_bytes(network, OnnxForm::kQOperator));
  for (const auto& node : model.graph().node()) {
    EXPECT_EQ(node.name().find("/requantize"), std::string::npos) << node.name();
  }
}

TEST(Export, NamesOfNodesAndTensorsAreUniqueWhateverLayersAreCalled) {
  const TestFolder folder;
  QuantizedNetwork network = chain({.is_unsigned = false});
  const char* const names[] = {"input", "output", "input/scale", "output/weights"};
  for (std::size_t i = 0; i < 4; ++i) network.graph.layers[i].name = names[i];
  EXPECT_EQ(round_trip_difference(folder, network), "");
  for (const OnnxForm form : kForms) {
    const onnx::ModelProto model = parsed(onnx_bytes(network, form));
    std::set<std::string> nodes;
    std::set<std::string> tensors;
    for (const auto& node : model.graph().node()) {
      EXPECT_TRUE(nodes.insert(node.name()).second) << node.name();
      EXPECT_TRUE(tensors.insert(node.output(0)).second) << node.output(0);
    }
    for (const auto& constant : model.graph().initializer()) {
      EXPECT_TRUE(tensors.insert(constant.name()).second) << constant.name();
    }
  }
}

TEST(Export, AnActivationIsCalledAfterItsLayer) {
  const QuantizedNetwork network = chain({.is_unsigned = false});
  for (const OnnxForm form : kForms) {
    const onnx::ModelProto model = parsed(onnx_bytes(network, form));
    std::set<std::string> outputs;
    for (const auto& node : model.graph().node()) outputs.insert(node.output(0));
    for (const Layer& layer : network.graph.layers) EXPECT_TRUE(outputs.contains(layer.name));
    EXPECT_EQ(model.graph().input(0).name(), "input");
    EXPECT_EQ(model.graph().output(0).name(), "output");
  }
}

TEST(Export, ABatchOfOneIsAnyBatchAndAnotherOneIsFixed) {
  const TestFolder folder;
  QuantizedNetwork network = chain({});
  write_text(folder / "model.onnx", onnx_bytes(network, OnnxForm::kQdq));
  EXPECT_EQ(import_onnx(folder / "model.onnx", 5).output_value().shape.batch, 5);
  for (Value& tensor : network.graph.tensors) tensor.shape.batch = 3;
  EXPECT_EQ(round_trip_difference(folder, network), "");
}

TEST(Export, TheSameNetworkGivesTheSameBytes) {
  EXPECT_EQ(onnx_bytes(random_network(5), OnnxForm::kQdq),
            onnx_bytes(random_network(5), OnnxForm::kQdq));
  EXPECT_NE(onnx_bytes(random_network(5), OnnxForm::kQdq),
            onnx_bytes(random_network(5), OnnxForm::kQOperator));
}

}  // namespace
}  // namespace qsim
