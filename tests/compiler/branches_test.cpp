// Tensors that several layers read: what runs as one, and programs whose every ofmap is golden's.
// A tree has several outputs, so it is not a network: it goes through the passes and lowering
// alone.
#include <gtest/gtest.h>

#include "compiler/lowering/lower.h"
#include "compiler/passes/passes.h"
#include "compiler/useful_macs.h"
#include "compiler/verifier/verify.h"
#include "golden/graph/cpu/graph_executor.h"
#include "sim/interpreter/program_interpreter.h"
#include "tests/compiler/graph_builder.h"

namespace qsim {

using namespace compiler;
using namespace sim;
namespace {

using testing::GraphBuilder;
using testing::picture;
using testing::small_arch;
using testing::window;

std::vector<std::string> operations(const std::vector<FusedLayer>& layers) {
  std::vector<std::string> texts;
  for (const FusedLayer& layer : layers) texts.push_back(layer.name + ": " + layer.operation);
  return texts;
}

using Texts = std::vector<std::string>;

TEST(Branches, ALayerWhoseOfmapHasTwoReadersRunsWithNeither) {
  GraphBuilder builder(1, picture(1, 8, 8, 3));
  const TensorId shared = builder.conv(5, window(3)).last_tensor();
  builder.relu().from(shared).max_pool(window(2, 2));
  const std::vector<FusedLayer> layers = fuse_layers(builder.build());
  EXPECT_EQ(operations(layers), (Texts{"conv0: conv2d", "relu1: relu", "pool2: max_pool"}));
  EXPECT_EQ(layers[1].input_tensor, shared);
  EXPECT_EQ(layers[2].input_tensor, shared);
}

TEST(Branches, ALayerRunsWithTheOneThatItReadsWhateverIsBetweenThem) {
  GraphBuilder builder(2, picture(1, 8, 8, 3));
  const TensorId shared = builder.conv(5, window(3)).last_tensor();
  const TensorId left = builder.conv(4, window(1)).last_tensor();
  const TensorId right = builder.from(shared).conv(6, window(1)).last_tensor();
  builder.from(left).relu().from(right).max_pool(window(2, 2));
  const std::vector<FusedLayer> layers = fuse_layers(builder.build());
  EXPECT_EQ(operations(layers),
            (Texts{"conv0: conv2d", "conv1: conv2d+relu", "conv2: conv2d+max_pool"}));
  EXPECT_EQ(layers[1].graph_layer, 3);
  EXPECT_EQ(layers[2].graph_layer, 4);
}

TEST(Branches, TwoLayersReadThePictureThatOneFlattenReads) {
  GraphBuilder builder(3, picture(1, 4, 4, 3));
  const TensorId features = builder.conv(5, window(3)).last_tensor();
  const TensorId flat = builder.flatten(Flatten::Order::kChw).last_tensor();
  builder.fully_connected(7).from(flat).fully_connected(9);
  const std::vector<FusedLayer> layers = fuse_layers(builder.build());
  ASSERT_EQ(layers.size(), 3u);
  for (const std::size_t reader : {1, 2}) {
    EXPECT_EQ(layers[reader].input_tensor, features);
    EXPECT_EQ(layers[reader].flatten, Flatten::Order::kChw);
    EXPECT_EQ(layers[reader].input.shape, (ImageShape{1, 2, 2, 5}));
  }
}

TEST(Branches, TheHostPacksTapsForTheOnlyReaderOfTheInput) {
  GraphBuilder builder(4, picture(1, 8, 8, 3));
  builder.conv(5, window(3));
  std::vector<FusedLayer> alone = fuse_layers(builder.build());
  fold_first_layer_taps(alone, ArchConfig{});
  EXPECT_TRUE(alone[0].taps.has_value());
  builder.from(0).conv(5, window(1));
  std::vector<FusedLayer> both = fuse_layers(builder.build());
  fold_first_layer_taps(both, ArchConfig{});
  EXPECT_FALSE(both[0].taps.has_value());
}

// The ofmap of `layer` by golden, which knows no tree: as the end of the chain that leads to it.
Tensor golden_ofmap(const Graph& tree, std::size_t layer, const Tensor& input) {
  std::vector<std::size_t> path = {layer};
  while (tree.layers[path.back()].inputs[0] != tree.input) {
    path.push_back(tree.layers[path.back()].inputs[0] - 1);  // layer i writes tensor i + 1
  }
  Graph chain;
  chain.input_value() = tree.input_value();
  for (auto i = path.rbegin(); i != path.rend(); ++i) {
    append(chain, tree.layers[*i].name, tree.layers[*i].operation, tree.output_of(*i));
  }
  return golden::run_graph(chain, input).back();
}

void expect_goldens_bytes(const Graph& tree, const Tensor& input, const ArchConfig& arch) {
  std::vector<FusedLayer> layers = fuse_layers(tree);
  fold_zero_points(layers);
  fold_first_layer_taps(layers, arch);
  const Program program =
      lower(tree.name, plan_memory(layers, arch), arch, [](const SpentWeights&) {});
  ASSERT_EQ(verify(program, arch), std::vector<std::string>{});
  check_useful_macs(tree, program);
  const RunResult result = make_program_interpreter()->run(program, input, RunOptions{});
  ASSERT_EQ(result.ofmaps.size(), program.layers.size());
  for (std::size_t i = 0; i < program.layers.size(); ++i) {
    const auto layer = static_cast<std::size_t>(program.layers[i].graph_layer);
    EXPECT_EQ(result.ofmaps[i], golden_ofmap(tree, layer, input)) << program.layers[i].name;
  }
}

TEST(Branches, FortyLayersReadOneTensor) {
  GraphBuilder builder(5, picture(1, 7, 6, 5));
  const TensorId shared = builder.conv(12, window(3, 1, 1)).last_tensor();
  for (int reader = 0; reader < 40; ++reader) {
    builder.from(shared).conv(3 + reader % 9, window(1 + reader % 3), 10);
  }
  const Tensor input = builder.random_input();
  expect_goldens_bytes(builder.build(), input, small_arch(8, 8));
}

// A layer after any tensor of the tree.
void grow(GraphBuilder& builder, TensorId from, Random& random) {
  builder.from(from);
  const ImageShape shape = builder.last_output().shape;
  const std::int64_t kind = random.uniform(0, 5);
  if (kind == 0) {
    builder.relu();
  } else if (kind == 1 && shape.height > 2 && shape.width > 2) {
    builder.max_pool(window(2, random.uniform(1, 2)));
  } else {
    const std::int64_t side = std::min({shape.height, shape.width, random.uniform(1, 3)});
    builder.conv(random.uniform(1, 20), window(side, 1, random.uniform(0, side - 1)),
                 static_cast<int>(random.uniform(6, 12)));
  }
}

TEST(Branches, OfRandomTreesEveryOfmapIsGoldens) {
  constexpr std::uint64_t kFirstSeed = 100;
  std::size_t shared = 0;
  for (std::uint64_t seed = kFirstSeed; seed < kFirstSeed + 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    GraphBuilder builder(seed, picture(random.uniform(1, 2), random.uniform(3, 12),
                                       random.uniform(3, 12), random.uniform(1, 20)));
    const auto layers = static_cast<TensorId>(random.uniform(2, 12));
    std::vector<int> readers(layers + 1, 0);
    for (TensorId written = 0; written < layers; ++written) {
      const auto last = static_cast<std::int64_t>(written);
      const TensorId from =
          random.chance(0.5) ? written : static_cast<TensorId>(random.uniform(0, last));
      shared += ++readers[from] == 2 ? 1 : 0;
      grow(builder, from, random);
    }
    const Tensor input = builder.random_input();
    const std::int64_t size = std::int64_t{4} << random.uniform(0, 2);
    expect_goldens_bytes(builder.build(), input, small_arch(size, size));
  }
  EXPECT_GE(shared, 100u) << "tensors with more than one reader";
}

}  // namespace
}  // namespace qsim
