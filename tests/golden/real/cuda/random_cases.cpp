#include "tests/golden/real/cuda/random_cases.h"

#include <cmath>

#include "tests/golden/real/random_layer_weights.h"
#include "tests/golden/real/random_real_graph.h"

namespace qsim::golden_test {
namespace {

using golden::DynamicRule;
using golden::FloatRule;
using golden::Log2Rule;
using golden::TensorRule;
using golden::UniformRule;

// Several tiles of pixels and of channels, and more than a chunk of products.
Graph wide_graph(Random& random) {
  const bool is_linear = random.chance(0.3);
  if (is_linear) {
    const std::int64_t inputs = random.uniform(1, 1100);
    const std::int64_t outputs = random.uniform(1, 300);
    FullyConnected linear{golden::random_floats(random, {outputs, inputs}),
                          golden::random_floats(random, {outputs})};
    return golden::single_layer({1, 1, 1, inputs}, std::move(linear), {1, 1, 1, outputs});
  }
  const std::int64_t groups = random.chance(0.7) ? 1 : random.uniform(2, 5);
  const std::int64_t fours = random.chance(0.5) ? 4 : 1;
  const ImageShape input{1, random.uniform(5, 20), random.uniform(5, 20),
                         groups * fours * random.uniform(1, 100 / groups / fours)};
  golden::RandomConv conv =
      golden::random_conv(random, input, groups * random.uniform(1, 150), groups);
  return golden::single_layer(input, std::move(conv.conv), conv.output);
}

TensorRule random_rule(Random& random) {
  const float scale = std::ldexp(static_cast<float>(random.uniform(1000, 2000)),
                                 static_cast<int>(random.uniform(-20, -8)));
  switch (random.uniform(0, 3)) {
    case 0: {
      const auto zero = static_cast<std::int32_t>(random.uniform(-200, 200));
      return UniformRule{scale, zero, zero - static_cast<std::int32_t>(random.uniform(0, 300)),
                         zero + static_cast<std::int32_t>(random.uniform(0, 300))};
    }
    case 1:
      return DynamicRule{static_cast<int>(random.uniform(2, 8)), random.chance(0.5),
                         random.chance(0.5)};
    case 2:
      return FloatRule{static_cast<FloatRule::Format>(random.uniform(0, 4)), scale};
    default: {
      const auto lo = static_cast<std::int32_t>(random.uniform(-20, 0));
      return Log2Rule{scale, lo, lo + static_cast<std::int32_t>(random.uniform(0, 20))};
    }
  }
}

void make_rules(Random& random, RealCase& made) {
  made.options.rules.resize(made.graph.tensors.size());
  for (std::optional<TensorRule>& rule : made.options.rules) {
    if (random.chance(0.6)) rule = random_rule(random);
  }
}

}  // namespace

RealCase random_real_case(std::uint64_t seed, bool is_small) {
  Random random(seed);
  RealCase made;
  made.graph =
      !is_small && random.chance(0.3) ? wide_graph(random) : golden::random_real_graph(seed);
  if (random.chance(0.5)) make_rules(random, made);
  if (random.chance(0.33)) {
    const auto mode = static_cast<golden::WeightMode>(random.uniform(0, 2));
    made.options.layer_weights =
        golden::random_layer_weights(random, made.graph, mode, random.chance(0.5));
  }
  made.options.plain = random.chance(0.25);
  Shape shape = made.graph.input_shape().nhwc();
  shape[0] = random.uniform(1, 4);
  made.input = golden::random_floats(random, shape);
  const float special[] = {NAN, -NAN, INFINITY, -INFINITY, 3e38F, -3e38F};
  if (random.chance(0.1)) {
    for (float& value : made.input.as<float>()) {
      if (random.chance(0.02)) value = special[random.uniform(0, 5)];
    }
  }
  return made;
}

}  // namespace qsim::golden_test
