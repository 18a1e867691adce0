// What ONNX cannot say is refused by the layer's name.
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "formats/onnx/exporter/onnx_exporter.h"
#include "tests/exporter/network_maker.h"

namespace qsim {

using namespace formats;
namespace {

QuantizedNetwork small(const NetworkStyle& style = {}) {
  NetworkMaker maker(2, style, {1, 4, 4, 2});
  maker.conv(3, {3, 3, 1, 1});
  maker.activation({.kind = Activation::Kind::kLeakyRelu, .alpha = 0.1F});
  maker.average_pool({2, 2, 1, 1}, false, false);
  return maker.finish();
}

std::string refusal(const QuantizedNetwork& network, ExitCode code = ExitCode::kUnsupportedModel) {
  try {
    onnx_bytes(network, OnnxForm::kQOperator);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  return "";
}

Conv2d& conv_of(QuantizedNetwork& network) {
  return std::get<Conv2d>(network.graph.layers[0].operation);
}

TEST(ExportRefuses, NothingOfASoundNetwork) { EXPECT_EQ(refusal(small()), ""); }

TEST(ExportRefuses, RequantizersThatTheScalesDoNotGive) {
  QuantizedNetwork network = small();
  conv_of(network).requantization.requantizers[0].multiplier ^= 1;
  EXPECT_EQ(refusal(network),
            "layer 'conv0': output channel 0 is not requantized; supported: (x_scale * w_scale) / "
            "y_scale in float32, rounded as float32");
  network = small();
  conv_of(network).requantization.requantizers[0].rounding = RequantizerRounding::kHalfUp;
  EXPECT_NE(refusal(network), "");
}

TEST(ExportRefuses, AnotherNumberOfScalesThanOfRequantizersOrChannels) {
  QuantizedNetwork network = small({.per_channel = true});
  network.weights[0].scales.pop_back();
  EXPECT_EQ(refusal(network),
            "layer 'conv0': 2 scales and 0 zero_points of its weights; supported: 1 or 3, one a "
            "output channel");
  network = small({.per_channel = true});
  network.weights[0].scales.resize(1);
  EXPECT_EQ(refusal(network), "layer 'conv0': 3 requantizers for 1 scales; supported: as many");
}

TEST(ExportRefuses, WeightsBeyondTheirType) {
  QuantizedNetwork network = small({.uint8_weights = true});
  network.weights[0].zero_points[0] = 256;
  EXPECT_EQ(refusal(network), "layer 'conv0': zero_point 256 of its weights; supported: 0 to 255");
  network = small();
  Tensor wide(DType::kInt16, conv_of(network).weights.shape);
  wide.as<std::int16_t>()[0] = 200;
  conv_of(network).weights = wide;
  EXPECT_EQ(refusal(network),
            "layer 'conv0': weight 200 of output channel 0 with zero_point 0; supported: -128 to "
            "127 together");
}

TEST(ExportRefuses, RoundingsThatOnnxRuntimeDoesNotHave) {
  QuantizedNetwork network = small();
  std::get<AveragePool>(network.graph.layers[2].operation).rounding =
      RequantizerRounding::kHalfEven;
  EXPECT_EQ(refusal(network),
            "layer 'average_pool2': does not round as ONNX Runtime does; supported: float32");
}

TEST(ExportRefuses, AClampBeyondFloat32) {
  QuantizedNetwork network = small();
  auto& pool = std::get<AveragePool>(network.graph.layers[2].operation);
  Value& output = network.graph.tensors[3];
  output = {output.shape, DType::kUint8, 0, Scale::of(3e38F)};
  pool.lo = 0;
  pool.hi = 100;
  EXPECT_EQ(refusal(network),
            "layer 'average_pool2': a clamp to level 100, which leaves float32; supported: finite "
            "float32 numbers");
}

TEST(ExportRefuses, TablesThatNoActivationMakes) {
  QuantizedNetwork network = small();
  std::get<LookupTable>(network.graph.layers[1].operation).bytes[3] ^= 1;
  const std::string expected =
      "layer 'leaky_relu1': a table of 'leaky_relu'; supported: those of requantize and of the "
      "activations of a float network";
  EXPECT_EQ(refusal(network), expected);
  network = small();
  network.activations[1]->kind = Activation::Kind::kSigmoid;
  EXPECT_EQ(refusal(network), expected);
  network.activations[1].reset();
  EXPECT_EQ(refusal(network), expected);
}

TEST(ExportRefuses, AReluThatTheImporterWouldTakeIntoTheLayerBeforeIt) {
  NetworkMaker maker(2, {}, {1, 4, 4, 2});
  maker.conv(3, {3, 3, 1, 1});
  maker.relu();
  EXPECT_EQ(refusal(maker.finish()),
            "layer 'relu1': a ReLU of a tensor that nothing else reads; supported: the clamp of "
            "the layer before it, or int8 of zero_point 0");
}

TEST(ExportRefuses, TensorsWithoutAScale) {
  QuantizedNetwork network = small();
  network.graph.tensors[1].scale.reset();
  EXPECT_EQ(refusal(network), "layer 'conv0': its output has no scale");
  network.graph.input_value().scale.reset();
  EXPECT_EQ(refusal(network), "the network's input has no scale");
}

// The bytes are not there: their number alone is asked for.
TEST(ExportRefuses, MoreThanProtobufHolds) {
  QuantizedNetwork network = small();
  conv_of(network).weights.shape = {1 << 16, 1 << 8, 1 << 7, 1};
  EXPECT_EQ(refusal(network, ExitCode::kBadInput),
            "network 'random 2': an ONNX file of 2147483648 bytes or more; expected at most "
            "2147483647, which is what protobuf allows");
}

}  // namespace
}  // namespace qsim
