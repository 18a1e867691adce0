#include "tests/exporter/random_networks.h"

#include <vector>

#include "tests/exporter/network_maker.h"

namespace qsim {
namespace {

using Kind = Activation::Kind;

Activation random_activation(NetworkMaker& maker) {
  const auto tenth = [&] { return static_cast<float>(maker.pick(1, 9)) / 10.0F; };
  switch (maker.pick(0, 5)) {
    case 0:
      return {Kind::kRelu};
    case 1:
      return {.kind = Kind::kClip, .lo = -tenth(), .hi = 6.0F};
    case 2:
      return {.kind = Kind::kLeakyRelu, .alpha = tenth()};
    case 3:
      return {Kind::kSigmoid};
    case 4:
      return {.kind = Kind::kHardSigmoid, .alpha = tenth(), .beta = 0.5F};
    default:
      return {Kind::kHardSwish};
  }
}

// A tensor of the same picture size as the last one, which may be itself.
TensorId partner(NetworkMaker& maker, bool same_channels) {
  std::vector<TensorId> found;
  const ImageShape own = maker.current().shape;
  for (TensorId id = 0; id < maker.graph().tensors.size(); ++id) {
    ImageShape shape = maker.graph().tensors[id].shape;
    if (!same_channels) shape.channels = own.channels;
    if (shape == own) found.push_back(id);
  }
  const auto last = static_cast<std::int64_t>(found.size()) - 1;
  return found[static_cast<std::size_t>(maker.pick(0, last))];
}

// What a ReLU that stays a layer reads: int8 of zero_point 0, or no layer that has a clamp.
bool can_relu(const NetworkMaker& maker) {
  const Value& current = maker.current();
  if (current.dtype == DType::kInt8 && current.zero_point == 0) return true;
  if (maker.graph().layers.empty()) return false;
  return row_of(maker.graph().layers.back().operation).selects_levels;
}

void add_picture_layer(NetworkMaker& maker, const RandomNetworkOptions& options) {
  const std::int64_t channels = maker.current().shape.channels;
  switch (maker.pick(0, 11)) {
    case 0:
    case 1:
    case 2:
      maker.conv(maker.pick(1, 6), maker.window(4, true, true));
      break;
    case 3:
      maker.conv(channels * 2, maker.window(3, true), channels);
      break;
    case 4:
      maker.max_pool(maker.window(3, true), maker.chance(0.5));
      break;
    case 5:
      if (!options.average_windows) break;
      maker.average_pool(maker.window(3, true), maker.chance(0.5), maker.chance(0.5));
      break;
    case 6:
      maker.add(maker.last(), partner(maker, true));
      break;
    case 7:
      maker.add(partner(maker, true), maker.last());
      break;
    case 8:
      maker.concat({partner(maker, false), maker.last()});
      break;
    case 9:
      if (maker.chance(0.7)) {
        maker.activation(random_activation(maker));
      } else if (maker.chance(0.7)) {
        maker.clipped(random_activation(maker));
      } else {
        maker.clipped({});
      }
      break;
    case 10:
      if (options.requantize_alone) maker.requantize();
      break;
    default:
      if (channels > 1 && maker.chance(0.5)) {
        maker.prelu();
      } else if (can_relu(maker)) {
        maker.relu();
      }
  }
}

void add_vector_layers(NetworkMaker& maker) {
  if (maker.chance(0.5)) maker.global_pool();
  const ImageShape& shape = maker.current().shape;
  const bool one_pixel = shape.height == 1 && shape.width == 1;
  if (!one_pixel || maker.chance(0.5)) {
    maker.flatten(maker.chance(0.3) ? Flatten::Order::kHwc : Flatten::Order::kChw);
  }
  maker.fully_connected(maker.pick(1, 12));
  if (maker.chance(0.3)) maker.add(maker.last(), partner(maker, true));
  if (maker.chance(0.3)) maker.conv(maker.pick(1, 6), Window{});
  if (maker.chance(0.3)) maker.concat({maker.last(), partner(maker, false)});
  if (maker.chance(0.5)) maker.fully_connected(maker.pick(2, 10));
}

}  // namespace

QuantizedNetwork random_network(std::uint64_t seed, const RandomNetworkOptions& options) {
  Random random(seed ^ 0x5EED);
  NetworkStyle style;
  style.is_unsigned = random.chance(0.5);
  style.powers_of_two = random.chance(0.4);
  style.uint8_weights = random.chance(0.25) && !options.narrow_weights;
  style.narrow_weights = options.narrow_weights;
  style.per_channel = random.chance(0.5);
  style.mixed_types = options.mixed_types && random.chance(0.15);
  const bool vectors = random.chance(0.1);
  const ImageShape input{random.chance(0.7) ? 1 : 2, vectors ? 1 : random.uniform(1, 9),
                         vectors ? 1 : random.uniform(1, 9), random.uniform(1, 5)};
  NetworkMaker maker(seed, style, input);
  if (vectors) {
    maker.fully_connected(maker.pick(1, 12));
  } else if (maker.chance(0.3)) {
    maker.max_pool(maker.window(3, true), maker.chance(0.5));
    maker.conv(maker.pick(1, 6), maker.window(3, true));
  } else {
    maker.conv(maker.pick(1, 6), maker.window(3, true));
  }
  for (std::int64_t i = vectors ? 0 : maker.pick(0, 9); i > 0; --i) {
    add_picture_layer(maker, options);
  }
  if (vectors || maker.chance(0.6)) add_vector_layers(maker);
  maker.choose_host();
  if (!options.tails) maker.graph().host.tail = {};
  return maker.finish();
}

}  // namespace qsim
