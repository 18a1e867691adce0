// Small random networks on small random machines, for tests of what the mapper chooses.
#pragma once

#include <algorithm>

#include "compiler/lowering/memory_plan.h"
#include "compiler/passes/passes.h"
#include "core/base/random.h"
#include "core/machine/energy_table.h"
#include "tests/compiler/graph_builder.h"

namespace qsim::testing {

inline ArchConfig random_machine(Random& random) {
  const std::int64_t sizes[] = {4, 8, 16};
  const auto size = [&] { return sizes[random.uniform(0, 2)]; };
  ArchConfig arch = small_arch(size(), size());
  arch.bus_bytes = size();
  for (std::int64_t ArchConfig::*memory :
       {&ArchConfig::accumulator_kib, &ArchConfig::weight_scratchpad_kib,
        &ArchConfig::act_scratchpad_kib}) {
    if (random.chance(0.3)) arch.*memory *= 4;
  }
  if (random.chance(0.3)) arch.outstanding_bursts = 1;
  if (random.chance(0.4)) arch.requantizer = RequantizerKind::kDyadic;
  return arch;
}

// A convolution of at most `channels` output channels: some of groups, some depthwise, some with
// dilation, some with weights of nine bits.
inline void add_random_conv(GraphBuilder& builder, Random& random, std::int64_t channels) {
  const ImageShape in = builder.last_output().shape;
  Window window = {random.uniform(1, 3),
                   random.uniform(1, 3),
                   random.uniform(1, 2),
                   random.uniform(1, 2),
                   1,
                   1,
                   1,
                   1};
  std::int64_t out_channels = random.uniform(1, channels);
  std::int64_t groups = 1;
  if (random.chance(0.4)) {
    do {
      groups = random.chance(0.3) ? in.channels : random.uniform(1, in.channels);
    } while (in.channels % groups != 0);
    out_channels = groups * random.uniform(1, std::max<std::int64_t>(1, channels / groups));
  }
  const bool is_wide = random.chance(0.2);
  const auto dilation = [&](std::int64_t size, std::int64_t kernel) {
    return kernel > 1 ? random.uniform(1, std::min<std::int64_t>(4, (size + 1) / (kernel - 1)))
                      : random.uniform(1, 3);
  };
  if (random.chance(0.25)) {
    window.dilation_h = dilation(in.height, window.kernel_h);
    window.dilation_w = dilation(in.width, window.kernel_w);
  }
  builder.conv(out_channels, window, 9, groups, is_wide);
}

// A tensor that a concatenation can join to the input: a convolution of it.
inline TensorId join_to_input(GraphBuilder& builder, Random& random) {
  const std::int32_t zero_point = builder.build().input_value().zero_point;
  builder.from(0).conv(random.uniform(1, 20), window(1));
  builder.last_output().zero_point = zero_point;
  return builder.last_tensor();
}

// So many convolutions, some pooled, pools and averages by themselves, and at the end at times a
// fully connected layer; of at most `most` rows and columns, and `channels` output channels. Where
// the machine is dyadic, additions and lookup tables, too.
inline Graph random_network(std::uint64_t seed, Random& random, std::int64_t layers,
                            std::int64_t most, std::int64_t channels = 40, bool is_dyadic = false) {
  GraphBuilder builder(seed, picture(random.chance(0.3) ? 3 : 1,
                                     random.uniform(std::min<std::int64_t>(3, most), most),
                                     random.uniform(std::min<std::int64_t>(3, most), most),
                                     random.uniform(1, std::min<std::int64_t>(24, channels))));
  bool has_layer = false;
  const auto shape = [&] { return builder.build().output_value().shape; };
  for (std::int64_t i = 0; i < layers; ++i) {
    if (!has_layer && random.chance(0.1)) {
      builder.max_pool(window(2));
    } else if (!has_layer && random.chance(0.1)) {
      // Averages of 1, 2 or 4 positions: any machine has their scales.
      const ImageShape in = builder.last_output().shape;
      const auto side = [&](std::int64_t size) {
        return random.uniform(1, std::min<std::int64_t>(2, size));
      };
      builder.average_pool(
          {side(in.height), side(in.width), random.uniform(1, 2), random.uniform(1, 2)},
          RequantizerRounding::kHalfEven, 1.0F);
    } else if (!has_layer && is_dyadic && random.chance(0.3)) {
      if (random.chance(0.5)) builder.lookup_table();
      if (random.chance(0.7)) builder.sum(builder.last_tensor(), builder.last_tensor());
      if (builder.last_tensor() == 0) builder.lookup_table().max_pool(window(1));
    } else if (!has_layer && random.chance(0.1)) {
      builder.concat({0, join_to_input(builder, random), 0});
    } else if (i + 1 == layers && random.chance(0.2)) {
      builder.flatten().fully_connected(random.uniform(1, channels), 9, random.chance(0.3));
    } else {
      add_random_conv(builder, random, channels);
      if (shape().height > 2 && shape().width > 2 && random.chance(0.3)) {
        builder.max_pool({2, 2, random.uniform(1, 2), 2, 0, 0, 0, 0});
      }
    }
    has_layer = true;
  }
  return builder.build();
}

// Numbers that are far apart, so that each event counts at least once in some table.
inline EnergyTable random_energy_table(Random& random) {
  const auto number = [&] { return static_cast<double>(random.uniform(1, 4000)) / 100; };
  EnergyTable table;
  table.name = "random";
  table.unit = kPicojoules;
  table.mac = number();
  if (random.chance(0.8)) table.add = number();
  if (random.chance(0.8)) table.hop = number() / 100;
  table.sram = {{8, number(), 32}};
  if (random.chance(0.5)) table.sram.push_back({32, number(), 64});
  table.dram = number();
  return table;
}

// A network's layers, planned; it has mappings of the compiler's choice.
class PlannedNetwork {
 public:
  PlannedNetwork(Graph graph, const ArchConfig& arch)
      : graph_(std::move(graph)), layers_(compiler::fuse_layers(graph_)) {
    compiler::place_concats(layers_, arch);
    compiler::fold_first_layer_taps(layers_, arch);
    plan_ = compiler::plan_memory(layers_, arch);
  }
  PlannedNetwork(const PlannedNetwork&) = delete;
  PlannedNetwork& operator=(const PlannedNetwork&) = delete;

  const std::vector<compiler::PlannedLayer>& layers() const { return plan_.layers; }

 private:
  Graph graph_;
  std::vector<compiler::FusedLayer> layers_;
  compiler::MemoryPlan plan_;
};

}  // namespace qsim::testing
