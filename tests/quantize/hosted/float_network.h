// Float networks of a host with random weights, for tests of what quantizing makes of them.
#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "golden/host/host_executor.h"
#include "quantize/hosted/host_folding.h"
#include "quantize/hosted/host_plan.h"
#include "tests/golden/host/host_network_builder.h"
#include "tests/golden/host/one_node.h"

namespace qsim::quantize {

using golden::f32;
using golden::Int;
using golden::Integers;
using golden::list;

class FloatNetwork : public HostNetworkBuilder {
 public:
  explicit FloatNetwork(std::uint64_t seed = 1) : random_(seed) {}

  Tensor reals(Shape shape, double scale = 1, double shift = 0) {
    Tensor tensor(DType::kFloat32, std::move(shape));
    for (float& x : tensor.as<float>()) {
      x = static_cast<float>(scale * static_cast<double>(random_.uniform(-1000, 1000)) / 500 +
                             shift);
    }
    return tensor;
  }
  HostValueId weights(Shape shape) {
    const double terms = static_cast<double>(element_count(shape)) / static_cast<double>(shape[0]);
    return constant(reals(std::move(shape), 1 / std::sqrt(terms)));
  }
  HostValueId picture(Shape shape = {1, 3, 6, 6}) {
    return input(DType::kFloat32, std::move(shape));
  }
  HostValueId conv(HostValueId x, Int channels, Int out, Int kernel = 3) {
    const Int pad = kernel / 2;
    return add("Conv", {x, weights({out, channels, kernel, kernel}), constant(reals({out}, 0.1))},
               {{"pads", Integers{pad, pad, pad, pad}}});
  }
  HostValueId norm(HostValueId x, Int channels) {
    return add("BatchNormalization",
               {x, constant(reals({channels}, 0.1, 1)), constant(reals({channels}, 0.2)),
                constant(reals({channels}, 0.2)), constant(reals({channels}, 0.1, 1))});
  }
  HostValueId silu(HostValueId x) { return add("Mul", {x, add("Sigmoid", {x})}); }

  // Shaped and folded; `outputs` are the network's.
  HostNetwork folded(const std::vector<HostValueId>& outputs) {
    for (const HostValueId id : outputs) output(id);
    golden::fold_and_shape(network);
    return folded_network(network);
  }
  // A tensor for each input.
  std::vector<Tensor> sample(const HostNetwork& of) {
    std::vector<Tensor> tensors;
    for (const HostValueId id : of.inputs) {
      tensors.push_back(reals(of.values[id].array.tensor.shape));
    }
    return tensors;
  }

 private:
  Random random_;
};

inline std::vector<std::string> operators_of(const HostNetwork& network) {
  std::vector<std::string> operators;
  for (const HostNode& node : network.nodes) operators.push_back(node.op);
  return operators;
}

}  // namespace qsim::quantize
