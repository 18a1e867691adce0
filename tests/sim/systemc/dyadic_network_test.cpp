// Networks whose scales are not powers of two, on machines with a requantizer for any scale:
// golden's plain loops, interpreter and SystemC model have the same bytes, SystemC model and
// recurrence the same times.
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "golden/graph/cpu/graph_executor.h"
#include "sim/interpreter/program_interpreter.h"
#include "sim/recurrence/program_times.h"
#include "sim/systemc/systemc_engine.h"
#include "tests/compiler/graph_builder.h"

namespace qsim {

using namespace compiler;
using namespace sim;
namespace {

using testing::GraphBuilder;
using testing::picture;
using testing::window;

// Scales of one rounding, one for each of the layer's channels, that leave the range sometimes.
void give_scales(GraphBuilder& builder, std::int64_t depth, RequantizerRounding rounding,
                 Random& random) {
  Layer& layer = builder.last_layer();
  auto* conv = std::get_if<Conv2d>(&layer.operation);
  Requantization& requantization = conv != nullptr
                                       ? conv->requantization
                                       : std::get<FullyConnected>(layer.operation).requantization;
  const double psum = std::sqrt(static_cast<double>(depth)) * 73 * 73;
  requantization.shifts.clear();
  for (std::int64_t c = 0; c < builder.last_output().shape.channels; ++c) {
    const double scale =
        60 / psum * std::exp2(static_cast<double>(random.uniform(-999, 999)) / 1e3);
    const auto real = Scale::of(static_cast<float>(scale));
    requantization.requantizers.push_back(requantizer_of(*real, rounding));
  }
}

Graph chain(Random& random, RequantizerRounding rounding, Tensor& input) {
  const std::int64_t channels = random.uniform(3, 20);
  const DType dtype = random.chance(0.5) ? DType::kInt8 : DType::kUint8;
  GraphBuilder builder(random.next(), picture(random.uniform(1, 2), 9, 8, channels, 5, dtype));
  input = builder.random_input();
  builder.conv(random.uniform(5, 24), window(3, 1, 1));
  give_scales(builder, channels * 9, rounding, random);
  builder.relu().max_pool(window(2, 2));
  const std::int64_t between = builder.last_output().shape.channels;
  builder.conv(random.uniform(5, 24), window(1));
  give_scales(builder, between, rounding, random);
  builder.flatten();
  const std::int64_t depth = builder.last_output().shape.channels;
  builder.fully_connected(random.uniform(3, 20));
  give_scales(builder, depth, rounding, random);
  return builder.build();
}

TEST(DyadicNetwork, EnginesHaveGoldensBytesAndTheRecurrencesTimes) {
  const auto systemc = make_systemc_engine();
  const auto interpreter = make_program_interpreter();
  std::set<std::byte> values;
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const auto rounding = static_cast<RequantizerRounding>(seed % kAcceleratorRequantizerRoundings);
    Tensor input;
    const Graph graph = chain(random, rounding, input);
    ArchConfig arch = seed % 3 == 0 ? testing::small_arch(8, 4) : testing::small_arch(4, 16);
    arch.requantizer = RequantizerKind::kDyadic;
    golden::ExecutorOptions plain;
    plain.path = golden::Path::kPlain;
    const std::vector<Tensor> golden = golden::run_graph(graph, input, plain);
    const Program program = compile(graph, arch);
    const RunResult run = systemc->run(program, input, {});
    const RunResult by_interpreter = interpreter->run(program, input, {});
    for (std::size_t l = 0; l < program.layers.size(); ++l) {
      const auto layer = static_cast<std::size_t>(program.layers[l].graph_layer);
      EXPECT_EQ(run.ofmaps[l].bytes, golden[layer].bytes) << program.layers[l].name;
      EXPECT_EQ(by_interpreter.ofmaps[l].bytes, golden[layer].bytes) << program.layers[l].name;
      values.insert(golden[layer].bytes.begin(), golden[layer].bytes.end());
    }
    EXPECT_EQ(run.times, command_times(program));
  }
  EXPECT_GE(values.size(), 250u);
}

// A graph of shifts has the same levels on both machines.
TEST(DyadicNetwork, AGraphOfShiftsGivesTheSameBytesOnADyadicMachine) {
  const auto systemc = make_systemc_engine();
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    GraphBuilder builder(seed, picture(1, 7, 7, 6));
    const Graph graph = builder.conv(9, window(3, 1, 1), static_cast<int>(seed) + 6)
                            .relu()
                            .conv(5, window(2))
                            .build();
    const Tensor input = builder.random_input();
    ArchConfig arch = testing::small_arch(4, 8);
    const RunResult shift = systemc->run(compile(graph, arch), input, {});
    arch.requantizer = RequantizerKind::kDyadic;
    const RunResult dyadic = systemc->run(compile(graph, arch), input, {});
    ASSERT_EQ(shift.ofmaps.size(), dyadic.ofmaps.size());
    for (std::size_t l = 0; l < shift.ofmaps.size(); ++l) {
      EXPECT_EQ(shift.ofmaps[l].bytes, dyadic.ofmaps[l].bytes) << l;
    }
    EXPECT_GT(dyadic.times[3].back().done, shift.times[3].back().done);
  }
}

}  // namespace
}  // namespace qsim
