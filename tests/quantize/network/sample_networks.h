// Small float networks, seeded, with a picture for each.
#pragma once

#include <string>

#include "core/base/random.h"
#include "core/network/graph.h"
#include "tests/quantize/network/plain_network.h"

namespace qsim::quantize {

class SampleNetwork {
 public:
  explicit SampleNetwork(const ImageShape& input, std::uint64_t seed = 1);

  const Graph& graph() const { return graph_; }
  Graph& graph() { return graph_; }
  TensorId output() const { return graph_.output; }

  // 3x3 with pads of 1 unless `kernel` is 1. Appended to tensor `input`; so are the others.
  TensorId conv(TensorId input, std::int64_t channels, std::int64_t kernel = 3,
                std::int64_t stride = 1, std::int64_t groups = 1);
  TensorId linear(TensorId input, std::int64_t channels);
  TensorId relu(TensorId input);
  TensorId clip(TensorId input, float lo, float hi);
  TensorId activation(TensorId input, const Activation& activation);
  // A slope a channel.
  TensorId prelu(TensorId input);
  TensorId max_pool(TensorId input, std::int64_t kernel = 2);
  TensorId average_pool(TensorId input, std::int64_t kernel, bool with_pads = false);
  TensorId add(TensorId a, TensorId b);
  TensorId concat(std::vector<TensorId> inputs);
  TensorId flatten(TensorId input, Flatten::Order order = Flatten::Order::kChw);

  Conv2d& conv_at(std::size_t layer);
  // Normal values, of the input's shape.
  PlainTensor picture();

 private:
  Tensor normal(const Shape& shape, double deviation);
  std::string name(const std::string& kind);
  TensorId append(const std::string& kind, Operation operation, std::vector<TensorId> inputs,
                  const ImageShape& output);

  Graph graph_;
  Random random_;
};

// The picture that most tests' networks read.
inline constexpr ImageShape kPicture{1, 8, 8, 3};

// A convolution of kPicture with a ReLU, and a convolution.
SampleNetwork chain();

// Numbers from -1.95 to 1.95 of the input's shape.
Tensor seeded_input(std::uint64_t seed, const Graph& graph);

// A network of 3 to 12 layers of any kind, with branches, and at times a linear end.
SampleNetwork random_network(std::uint64_t seed);

}  // namespace qsim::quantize
