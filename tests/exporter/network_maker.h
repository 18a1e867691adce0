// Builds quantized networks for tests, layer by layer, with seeded weights: what the importer would
// read from a file, so that a round trip can be compared.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/network/quantized_network.h"

namespace qsim {

struct NetworkStyle {
  bool is_unsigned = true;     // activations
  bool powers_of_two = false;  // all scales
  bool uint8_weights = false;  // with zero_points
  bool per_channel = false;
  bool narrow_weights = false;  // 7 bits: sums of two products fit 16 bits
  bool mixed_types = false;     // a layer's output may have the other type
};

class NetworkMaker {
 public:
  NetworkMaker(std::uint64_t seed, const NetworkStyle& style, const ImageShape& input);

  // Each adds a layer that reads `from`, or the last tensor, and returns its output.
  TensorId conv(std::int64_t channels, const Window& window, std::int64_t groups = 1,
                std::optional<TensorId> from = {});
  TensorId fully_connected(std::int64_t channels);
  TensorId max_pool(const Window& window, bool ceil);
  TensorId average_pool(const Window& window, bool ceil, bool count_include_pad);
  TensorId global_pool();
  TensorId add(TensorId a, TensorId b);
  // Each operand of another quantization gets a table first.
  TensorId concat(std::vector<TensorId> operands);
  TensorId activation(const Activation& activation);
  // An activation, or a change of quantization, whose levels are fewer than the type has.
  TensorId clipped(std::optional<Activation> activation);
  // A slope a channel, of two channels or more.
  TensorId prelu();
  TensorId requantize();
  TensorId relu();
  TensorId flatten(Flatten::Order order);

  std::int64_t pick(std::int64_t low, std::int64_t high) { return random_.uniform(low, high); }
  bool chance(double probability) { return random_.chance(probability); }
  Window window(std::int64_t max_kernel, bool with_pads, bool with_dilation = false);
  const Value& current() const { return network_.graph.output_value(); }
  TensorId last() const { return network_.graph.output; }
  const Graph& graph() const { return network_.graph; }
  Graph& graph() { return network_.graph; }
  // Every float input and output is equally likely; layout and ends as the graph allows.
  void choose_host();
  // The network, its requantizers as shifts where the importer makes them so.
  QuantizedNetwork finish();

 private:
  Value value(const ImageShape& shape);
  Value rescaled();
  Tensor weights(const Shape& shape, WeightScales& scales);
  Requantization requantization(std::int64_t depth, const Value& input, const Value& output,
                                WeightScales& scales);
  void random_clamp(const Value& output, std::int32_t& lo, std::int32_t& hi);
  TensorId append_layer(const std::string& kind, Operation operation, std::vector<TensorId> inputs,
                        const Value& output, WeightScales scales = {},
                        std::optional<Activation> activation = {}, std::string name = {});

  Random random_;
  NetworkStyle style_;
  QuantizedNetwork network_;
};

}  // namespace qsim
