// What the quantizer refuses, and what it says.
#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "tests/quantize/network/judged_run.h"

namespace qsim::quantize {
namespace {

Error error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {ExitCode::kOk, ""};
}

Error error_of_run(SampleNetwork& net, const Scheme& scheme) {
  return error_of([&] { run_of(net, scheme); });
}

TEST(QuantizerErrors, WeightsThatAreNotFinite) {
  SampleNetwork net = chain();
  const std::vector<TensorStatistics> statistics =
      plain_statistics(plain_run(net.graph(), net.picture()));
  const Scheme scheme = scheme_of_type(true);
  const TensorQuantizations tensors = quantize_tensors(net.graph(), statistics, scheme);
  net.conv_at(2).weights.as<float>()[5] = std::nanf("");
  const Error error = error_of([&] { quantize_network(net.graph(), tensors, scheme); });
  EXPECT_EQ(error.code(), ExitCode::kBadInput);
  EXPECT_NE(std::string(error.what()).find("conv2"), std::string::npos) << error.what();
}

TEST(QuantizerErrors, ScalesTooFarApartForARequantizer) {
  SampleNetwork net = chain();
  const Scheme scheme = scheme_of_type(true);
  TensorQuantizations tensors = quantize_tensors(
      net.graph(), plain_statistics(plain_run(net.graph(), net.picture())), scheme);
  tensors[net.graph().input]->scale = 0x1p120F;
  tensors[net.graph().layers[1].output]->scale = 0x1p-120F;
  const Error error = error_of([&] { quantize_network(net.graph(), tensors, scheme); });
  EXPECT_EQ(error.code(), ExitCode::kBadInput);
  EXPECT_EQ(std::string(error.what()).find("layer 'conv0': output channel 0 needs the scale "), 0U)
      << error.what();
}

TEST(QuantizerErrors, ABiasBeyondInt32OfOneScaleForAllChannels) {
  SampleNetwork net = chain();
  net.conv_at(2).bias.as<float>()[1] = 1e9F;
  Scheme scheme = scheme_of_type(true);
  scheme.all.weights.per_channel = false;
  scheme.all.clipping = {.rule = ClippingRule::kFixed, .fixed = {-1, 1}};
  const Error error = error_of_run(net, scheme);
  EXPECT_EQ(error.code(), ExitCode::kBadInput);
  EXPECT_EQ(
      std::string(error.what()).find("layer 'conv2': bias[1] = 1e+09 leaves int32 in units of "),
      0U)
      << error.what();
}

TEST(QuantizerErrors, AllLayersWhoseWeightsNoBytesHold) {
  SampleNetwork net = chain();
  Scheme scheme = scheme_of_type(true);
  scheme.all.weights.log2 = true;
  scheme.all.weights.levels.bits = 5;
  const Error error = error_of_run(net, scheme);
  EXPECT_EQ(error.code(), ExitCode::kUnsupportedModel);
  EXPECT_NE(std::string(error.what()).find("layer 'conv0': its weights are integers of"),
            std::string::npos)
      << error.what();
  EXPECT_NE(error.details().find("layer 'conv2'"), std::string::npos) << error.details();
}

TEST(QuantizerErrors, PsumsThatMayLeaveInt32) {
  SampleNetwork net({1, 1, 1, 70'000});
  net.linear(0, 1);
  for (float& weight :
       std::get<FullyConnected>(net.graph().layers[0].operation).weights.as<float>()) {
    weight = 1;
  }
  Scheme scheme = scheme_of_type(true);
  scheme.input.clipping = {.rule = ClippingRule::kFixed, .fixed = {0, 4}};
  const Error error = error_of_run(net, scheme);
  EXPECT_EQ(error.code(), ExitCode::kUnsupportedModel);
  EXPECT_NE(std::string(error.what()).find("may leave int32"), std::string::npos) << error.what();
}

TEST(QuantizerErrors, TwoTypesOfActivations) {
  SampleNetwork net = chain();
  Scheme scheme = scheme_of_type(true);
  scheme.input.activations.is_unsigned = false;
  EXPECT_EQ(std::string(error_of_run(net, scheme).what())
                .find("the network's input: activations are int8; expected uint8"),
            0U);
  scheme = scheme_of_type(false);
  scheme.layers["conv2"] = scheme_of_type(true).all;
  EXPECT_EQ(std::string(error_of_run(net, scheme).what())
                .find("layer 'conv2': activations are uint8; expected int8"),
            0U);
}

TEST(QuantizerErrors, ASchemeOfALayerThatIsNotThere) {
  SampleNetwork net = chain();
  Scheme scheme = scheme_of_type(true);
  scheme.layers["conv7"] = scheme.all;
  const Error error = error_of_run(net, scheme);
  EXPECT_EQ(error.code(), ExitCode::kBadInput);
  EXPECT_NE(std::string(error.what()).find("'conv7'"), std::string::npos) << error.what();
}

TEST(QuantizerErrors, TwoQuantizationsOfLinkedTensors) {
  SampleNetwork net(kPicture);
  const TensorId conv = net.conv(0, 4);
  const TensorId pool = net.max_pool(conv);
  net.conv(pool, 4);
  const Scheme scheme = scheme_of_type(true);
  TensorQuantizations tensors = quantize_tensors(
      net.graph(), plain_statistics(plain_run(net.graph(), net.picture())), scheme);
  tensors[pool]->zero_point += 1;
  const Error error = error_of([&] { quantize_network(net.graph(), tensors, scheme); });
  EXPECT_EQ(error.code(), ExitCode::kBadInput);
  EXPECT_NE(std::string(error.what()).find("the output of layer 'max_pool1'"), std::string::npos)
      << error.what();
}

}  // namespace
}  // namespace qsim::quantize
