// import(write(graph)) == graph, for graphs of every kind that ONNX can say.
#include <set>

#include <gtest/gtest.h>

#include "formats/onnx/importer/onnx_importer.h"
#include "tests/importer/model_builder.h"
#include "tests/importer/random_graphs.h"
#include "tests/onnx/onnx_writer.h"

namespace qsim {

using namespace formats;
namespace {

TEST(RoundTrip, ARandomGraphComesBackAsItWas) {
  const TestFolder folder;
  std::set<std::string> operations;
  int channels_last = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Graph graph = seed % 3 == 0 ? random_convolution(seed) : random_chain(seed);
    write_onnx(graph, folder / "model.onnx");
    EXPECT_EQ(difference(graph, import_onnx(folder / "model.onnx")), "");
    for (const Layer& layer : graph.layers) operations.emplace(operation_name(layer.operation));
    channels_last += graph.host.layout == HostInterface::Layout::kNhwc ? 1 : 0;
  }
  EXPECT_EQ(operations,
            (std::set<std::string>{"conv2d", "flatten", "fully_connected", "max_pool", "relu"}));
  EXPECT_GT(channels_last, 20);
}

TEST(RoundTrip, AbsentScaleExponentsComeBackAsZero) {
  const TestFolder folder;
  Graph graph = random_convolution(1);
  const auto shifts = std::get<Conv2d>(graph.layers[0].operation).requantization.shifts;
  graph.input_value().scale.reset();
  graph.output_of(0).scale.reset();
  write_onnx(graph, folder / "model.onnx");
  const Graph back = import_onnx(folder / "model.onnx");
  EXPECT_EQ(back.input_value().scale_exponent(), 0);
  EXPECT_EQ(std::get<Conv2d>(back.layers[0].operation).requantization.shifts, shifts);
}

TEST(RoundTrip, AClampAtZeroBecomesARelu) {
  const TestFolder folder;
  Graph graph = random_convolution(1);
  Value& output = graph.output_of(0);
  output.dtype = DType::kInt8;
  output.zero_point = 0;
  Requantization& requantization = std::get<Conv2d>(graph.layers[0].operation).requantization;
  requantization.lo = 0;
  requantization.hi = 127;
  write_onnx(graph, folder / "model.onnx");
  const Graph back = import_onnx(folder / "model.onnx");
  ASSERT_EQ(back.layers.size(), 2U);
  EXPECT_EQ(back.layers[1].name, graph.layers[0].name + ".relu");
  EXPECT_TRUE(std::holds_alternative<Relu>(back.layers[1].operation));
}

TEST(RoundTrip, WhatOnnxCannotSayIsRefusedByTheLayersName) {
  const TestFolder folder;
  const auto refusal = [&](const Graph& graph) -> std::string {
    try {
      write_onnx(graph, folder / "model.onnx");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kUnsupportedModel);
      return error.what();
    }
    return "";
  };
  Graph rounds = random_convolution(1);
  std::get<Conv2d>(rounds.layers[0].operation).requantization.rounding = RoundingMode::kFloor;
  EXPECT_EQ(refusal(rounds), "layer 'conv0': ONNX rounds half_even only");
  Graph clamps = random_convolution(1);
  std::get<Conv2d>(clamps.layers[0].operation).requantization.hi = 100;
  EXPECT_NE(refusal(clamps).find("layer 'conv0': ONNX cannot clamp to "), std::string::npos);
}

}  // namespace
}  // namespace qsim
