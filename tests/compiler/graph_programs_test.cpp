// Programs of random networks, with mappings drawn at random: the verifier finds no fault, and
// every ofmap is golden's.
#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "compiler/useful_macs.h"
#include "compiler/verifier/verify.h"
#include "golden/graph/cpu/graph_executor.h"
#include "sim/interpreter/program_interpreter.h"
#include "tests/compiler/mapped_network.h"
#include "tests/compiler/random_average_pool.h"
#include "tests/compiler/random_network.h"

namespace qsim {

using namespace compiler;
using namespace sim;
namespace {

using testing::GraphBuilder;
using testing::picture;

void expect_goldens_ofmaps(const Graph& graph, const Program& program, const Tensor& input) {
  ASSERT_EQ(verify(program, program.arch), std::vector<std::string>{});
  check_useful_macs(graph, program);
  const RunResult result = make_program_interpreter()->run(program, input, RunOptions{});
  const std::vector<Tensor> golden = golden::run_graph(graph, input);
  ASSERT_EQ(result.ofmaps.size(), program.layers.size());
  for (std::size_t i = 0; i < program.layers.size(); ++i) {
    const ProgramLayer& layer = program.layers[i];
    EXPECT_EQ(result.ofmaps[i], golden[static_cast<std::size_t>(layer.graph_layer)]) << layer.name;
  }
}

Tensor random_tensor(const Value& value, Random& random) {
  Tensor tensor(value.dtype, value.shape.nhwc());
  for (std::byte& b : tensor.bytes) b = static_cast<std::byte>(random.next() >> 56);
  return tensor;
}

TEST(GraphPrograms, OfRandomConvolutionsWithRandomMappingsEveryOfmapIsGoldens) {
  std::size_t grouped = 0;
  std::size_t apart = 0;
  std::size_t wide = 0;
  for (std::uint64_t seed = 1; seed <= 300 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const ArchConfig arch = testing::random_machine(random);
    const Graph graph =
        testing::random_network(seed, random, random.uniform(1, 4), 12, 30, arch.is_dyadic());
    testing::MappedNetwork network(graph, arch, random);
    SCOPED_TRACE(network.text());
    for (const PlannedLayer& planned : network.plan().layers) {
      grouped += planned.layer->groups > 1 ? 1 : 0;
      apart += runs_tap_by_tap(planned.layer->window) ? 1 : 0;
      wide += planned.layer->weight_parts > 1 ? 1 : 0;
    }
    expect_goldens_ofmaps(graph, network.program(), random_tensor(graph.input_value(), random));
  }
  EXPECT_GE(grouped, 100u);
  EXPECT_GE(apart, 60u);
  EXPECT_GE(wide, 80u);
}

// Branches of one picture size and one zero_point, which concatenations join.
class RandomBranches {
 public:
  RandomBranches(std::uint64_t seed, Random& random)
      : random_(random),
        builder_(seed, picture(random.chance(0.3) ? 2 : 1, random.uniform(3, 9),
                               random.uniform(3, 9), random.uniform(1, 24),
                               static_cast<std::int32_t>(random.uniform(-20, 20)))) {}

  Graph build() {
    for (std::int64_t stage = random_.uniform(1, 3); stage > 0; --stage) {
      join(builder_.last_tensor());
      if (random_.chance(0.3)) builder_.relu();
      if (random_.chance(0.3)) builder_.max_pool(testing::window(3, 1, 1));
      if (random_.chance(0.5)) conv(random_.uniform(1, 20), 1);
    }
    return builder_.build();
  }

 private:
  void join(TensorId from) {
    std::vector<TensorId> parts;
    for (std::int64_t branches = random_.uniform(2, 4); branches > 0; --branches) {
      builder_.from(from);
      if (random_.chance(0.15)) {
        parts.push_back(from);
        continue;
      }
      if (random_.chance(0.2)) builder_.max_pool(testing::window(3, 1, 1));
      const std::int64_t channels = random_.uniform(1, 4);
      conv(random_.chance(0.6) ? 8 * channels : 5 * channels, 2 * random_.uniform(0, 1) + 1);
      parts.push_back(builder_.last_tensor());
    }
    if (parts.size() > 2 && random_.chance(0.5)) {  // a concatenation that is an operand
      builder_.concat({parts[0], parts[1]});
      parts.erase(parts.begin());
      parts[0] = builder_.last_tensor();
    }
    builder_.concat(parts);
  }

  void conv(std::int64_t channels, std::int64_t kernel) {
    builder_.conv(channels, testing::window(kernel, 1, kernel / 2));
    builder_.last_output().zero_point = builder_.build().input_value().zero_point;
  }

  Random& random_;
  GraphBuilder builder_;
};

TEST(GraphPrograms, OfRandomConcatenationsEveryOfmapIsGoldens) {
  std::size_t placed = 0;
  std::size_t copied = 0;
  for (std::uint64_t seed = 1; seed <= 120 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const ArchConfig arch = testing::random_machine(random);
    const Graph graph = RandomBranches(seed, random).build();
    validate(graph);
    testing::MappedNetwork network(graph, arch, random);
    SCOPED_TRACE(network.text());
    for (const PlannedLayer& planned : network.plan().layers) {
      placed += planned.layer->slices.empty() ? 0 : 1;
      copied += std::holds_alternative<ConcatLayer>(planned.geometry.kind) ? 1 : 0;
    }
    expect_goldens_ofmaps(graph, network.program(), random_tensor(graph.input_value(), random));
  }
  EXPECT_GE(placed, 40u);
  EXPECT_GE(copied, 60u);
}

TEST(GraphPrograms, AConcatenationOfWholeChannelBlocksTakesNoCommand) {
  GraphBuilder builder(1, picture(1, 6, 6, 8));
  const TensorId left = builder.conv(16, testing::window(1)).last_tensor();
  builder.last_output().zero_point = 3;
  const TensorId right = builder.from(0).conv(12, testing::window(1)).last_tensor();
  builder.last_output().zero_point = 3;
  builder.concat({left, right}).conv(5, testing::window(3, 1, 1));
  const ArchConfig arch = testing::small_arch(8, 8);
  const Program program = compile(builder.build(), arch);
  ASSERT_EQ(program.layers.size(), 3u);
  const DramTensor& first = program.layers[0].ofmap;
  EXPECT_EQ(program.layers[1].ofmap.address, first.address + first.size_bytes());
  expect_goldens_ofmaps(builder.build(), program, builder.random_input());
}

TEST(GraphPrograms, AnOperandOfAConcatenationIsNotReadBeforeItIsStored) {
  GraphBuilder builder(1, picture(1, 3, 3, 8));
  const TensorId left = builder.conv(8, testing::window(1)).last_tensor();
  builder.last_output().zero_point = 3;
  const TensorId right = builder.from(0).conv(8, testing::window(1)).last_tensor();
  builder.last_output().zero_point = 3;
  builder.concat({left, right}).conv(5, testing::window(1));
  const Program program = compile(builder.build(), testing::small_arch(8, 8));
  // A LOAD of the second operand's layer reads the end of the first one, which is stored, and goes
  // on in the second.
  Program planted = program;
  planted.streams = {};
  bool is_planted = false;
  for (const Unit unit : {Unit::kLoad, Unit::kExecute, Unit::kPost, Unit::kStore}) {
    const CommandStream stream = program.stream(unit);
    for (std::size_t i = 0; i < stream.size(); ++i) {
      Command command = stream.command(i);
      if (unit == Unit::kLoad && stream.origin(i).layer == 1 && !is_planted) {
        std::get<Load>(command.fields).dram_addr =
            static_cast<std::uint32_t>(program.layers[1].ofmap.address - 16);
        is_planted = true;
      }
      planted.streams.append(command, stream.origin(i));
    }
  }
  const std::vector<std::string> violations = verify(planted, planted.arch);
  EXPECT_TRUE(std::any_of(violations.begin(), violations.end(), [](const std::string& text) {
    return text.find("loads ofmap of conv1") != std::string::npos &&
           text.find("is known to be done") != std::string::npos;
  })) << ::testing::PrintToString(violations);
}

TEST(GraphPrograms, OfAveragePoolsEveryOfmapIsGoldens) {
  std::size_t whole = 0;
  std::size_t edges = 0;
  for (std::uint64_t seed = 1; seed <= 300 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    ArchConfig arch = testing::random_machine(random);
    arch.requantizer = RequantizerKind::kDyadic;
    arch.act_scratchpad_kib = 32;
    GraphBuilder builder =
        testing::random_average_pool(seed, random, {.most_side = random.chance(0.2) ? 20 : 10});
    const Graph graph = builder.build();
    validate(graph);
    testing::MappedNetwork network(graph, arch, random);
    SCOPED_TRACE(network.text());
    const Window& window = std::get<AveragePool>(graph.layers[0].operation).window;
    whole += window.kernel_h > 15 || window.kernel_w > 15 ? 1 : 0;
    edges += network.plan().layers.front().layer->counts ? 1 : 0;
    expect_goldens_ofmaps(graph, network.program(), builder.random_input());
  }
  EXPECT_GE(whole, 5u);
  EXPECT_GE(edges, 60u);
}

TEST(GraphPrograms, OfLargeKernelsWithPadsOfEachSideEveryOfmapIsGoldens) {
  for (std::uint64_t seed = 1; seed <= 60 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    ArchConfig arch = testing::random_machine(random);
    arch.act_scratchpad_kib = 16;
    GraphBuilder builder(
        seed, picture(1, random.uniform(9, 16), random.uniform(9, 16), random.uniform(1, 9)));
    const auto pad = [&] { return random.uniform(0, 10); };
    builder.conv(random.uniform(1, 20),
                 {random.uniform(4, 11), random.uniform(4, 11), random.uniform(1, 7),
                  random.uniform(1, 7), 1 + pad(), 1 + pad(), 1 + pad(), 1 + pad()});
    const Graph graph = builder.build();
    testing::MappedNetwork network(graph, arch, random);
    SCOPED_TRACE(network.text());
    expect_goldens_ofmaps(graph, network.program(), builder.random_input());
  }
}

}  // namespace
}  // namespace qsim
