// Compiled programs: the interpreter gives golden's bytes, in program order and in random order,
// and the verifier finds nothing.
#include "compiler/compile.h"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

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

void expect_agreement(const Graph& graph, const Tensor& input, const ArchConfig& arch,
                      std::uint64_t seed) {
  const Program program = compile(graph, arch);
  EXPECT_EQ(verify(program, arch), std::vector<std::string>{});
  const std::vector<Tensor> golden = golden::run_graph(graph, input, golden::Path::kPlain);
  for (const bool random_order : {false, true}) {
    SCOPED_TRACE(random_order ? "random order" : "program order");
    const RunResult result =
        make_program_interpreter(random_order)->run(program, input, {true, seed});
    ASSERT_EQ(result.ofmaps.size(), program.layers.size());
    for (std::size_t i = 0; i < program.layers.size(); ++i) {
      const auto layer = static_cast<std::size_t>(program.layers[i].graph_layer);
      EXPECT_TRUE(result.ofmaps[i] == golden[layer]) << program.layers[i].name;
    }
  }
}

constexpr std::int64_t kArrays[][2] = {{4, 4}, {8, 8}, {16, 16}, {16, 32}, {8, 4}, {32, 16}};

TEST(Compile, NetworkWithEveryLayerKindAgreesOnEveryArray) {
  for (const auto& [rows, cols] : kArrays) {
    SCOPED_TRACE("array " + std::to_string(rows) + "x" + std::to_string(cols));
    GraphBuilder builder(7, picture(2, 17, 13, 3, 11));
    const Graph graph = builder.conv(21, window(3, 1, 1))
                            .relu()
                            .max_pool(window(3, 2))
                            .conv(37, {3, 2, 2, 1, 1, 0, 2, 1})
                            .max_pool(window(2, 1), true)
                            .max_pool({2, 3, 1, 2, 1, 1, 0, 1})
                            .relu()
                            .flatten(Flatten::Order::kChw)
                            .fully_connected(19)
                            .relu()
                            .fully_connected(10)
                            .build();
    expect_agreement(graph, builder.random_input(), small_arch(rows, cols), 3);
  }
}

TEST(Compile, UnsignedActivationsAreCarriedThroughEveryLayer) {
  for (const auto& [rows, cols] : kArrays) {
    GraphBuilder builder(8, picture(1, 9, 9, 20, 200, DType::kUint8));
    builder.conv(18, window(3, 2, 1));
    builder.last_output().dtype = DType::kUint8;
    builder.last_output().zero_point = 90;
    auto& requantization = std::get<Conv2d>(builder.last_layer().operation).requantization;
    requantization.lo = 3;
    requantization.hi = 250;
    const Graph graph =
        builder.relu().max_pool(window(2)).flatten(Flatten::Order::kHwc).fully_connected(9).build();
    expect_agreement(graph, builder.random_input(), small_arch(rows, cols), 4);
  }
}

TEST(Compile, ConvolutionsOfOneTapAgreeAfterAFlatten) {
  for (const auto& [rows, cols] : kArrays) {
    for (const auto order : {Flatten::Order::kChw, Flatten::Order::kHwc}) {
      GraphBuilder builder(12, picture(2, 4, 3, 7, -5));
      const Graph graph = builder.conv(9, window(3, 1, 1))
                              .flatten(order)
                              .conv(21, window(1, 2))
                              .relu()
                              .conv(6, window(1))
                              .flatten()
                              .build();
      expect_agreement(graph, builder.random_input(), small_arch(rows, cols), 5);
    }
  }
}

TEST(Compile, ReductionsThatNeedSeveralLoadsAgree) {
  for (const auto& [rows, cols] : kArrays) {
    SCOPED_TRACE("array " + std::to_string(rows) + "x" + std::to_string(cols));
    ArchConfig arch = small_arch(rows, cols);
    arch.act_scratchpad_kib = 1;
    GraphBuilder builder(9, picture(1, 11, 12, 5 * rows + 1, -9));
    const Graph graph = builder.conv(2 * cols + 1, {11, 7, 1, 2, 5, 3, 5, 3}, 13).build();
    expect_agreement(graph, builder.random_input(), arch, 5);
    EXPECT_NE(compile(graph, arch).layers[0].mapping.find(" act chunks"), std::string::npos);
  }
}

TEST(Compile, BatchedVectorsLargerThanATileAgree) {
  for (const auto& [rows, cols] : kArrays) {
    GraphBuilder builder(10, picture(70, 2, 3, 11, 5));
    const Graph graph = builder.flatten().fully_connected(33).fully_connected(50).build();
    expect_agreement(graph, builder.random_input(), small_arch(rows, cols), 6);
  }
}

TEST(Compile, KernelsWiderThanHighAgree) {
  for (const auto& [rows, cols] : kArrays) {
    SCOPED_TRACE("array " + std::to_string(rows) + "x" + std::to_string(cols));
    GraphBuilder builder(16, picture(2, 7, 19, rows, 5));
    const Graph graph = builder.conv(cols + 1, {1, 5, 1, 2, 0, 3, 0, 1})
                            .max_pool({1, 3, 1, 2})
                            .conv(9, {2, 3})
                            .build();
    expect_agreement(graph, builder.random_input(), small_arch(rows, cols), 7);
  }
}

TEST(Compile, KernelsOfElevenRowsRunWithSmallScratchpads) {
  for (const auto& [rows, cols] : kArrays) {
    SCOPED_TRACE("array " + std::to_string(rows) + "x" + std::to_string(cols));
    ArchConfig arch = small_arch(rows, cols);
    arch.act_scratchpad_kib = 1;
    arch.act_slots = rows < 16 ? 4 : 2;
    const std::int64_t channels = arch.block_channels();  // one load brings them all
    GraphBuilder builder(17, picture(1, 11, 12, channels, -9));
    const Graph graph = builder.conv(2 * cols + 1, {11, 7, 1, 2, 5, 3, 5, 3}, 13).build();
    expect_agreement(graph, builder.random_input(), arch, 8);
  }
}

TEST(Compile, TheMappingCountsLoadsOfActivationsAndWeightsWhereThereAreSeveral) {
  const ArchConfig arch;
  const Graph graph = GraphBuilder(18, picture(1, 16, 16, 256)).conv(40, window(3)).build();
  Mapping mapping;
  mapping.tile_rows = mapping.tile_cols = 14;
  mapping.act_kernel_rows = 3;
  const auto text = [&](std::int64_t planes, std::int64_t folds) {
    mapping.act_planes = planes;
    mapping.weight_folds = mapping.first_weight_folds = folds;
    CompileOptions options;
    options.mappings.push_back({"conv0", mapping, {}, {}});
    return compile(graph, arch, options).layers[0].mapping;
  };
  EXPECT_EQ(text(16, 60), "14x14 x3 blocks, 3 weight chunks");
  EXPECT_EQ(text(8, 45), "14x14 x3 blocks, 2 act chunks, 4 weight chunks");
}

// What names the layer, tile and coordinates of a wrong byte: together a layer's STOREs cover its
// ofmap once, and every other command of a tile has the coordinates of one.
TEST(Compile, OriginsCoverEveryOfmapOnce) {
  for (const auto& [rows, cols] : kArrays) {
    SCOPED_TRACE("array " + std::to_string(rows) + "x" + std::to_string(cols));
    const Graph graph = GraphBuilder(19, picture(3, 17, 13, 3))
                            .conv(37, window(3, 1, 1))
                            .max_pool(window(2, 2))
                            .conv(35, window(3))
                            .flatten()
                            .fully_connected(45)
                            .build();
    const Program program = compile(graph, small_arch(rows, cols));
    std::vector<std::vector<int>> stored;
    for (const ProgramLayer& layer : program.layers) {
      stored.emplace_back(static_cast<std::size_t>(element_count(layer.ofmap.value.shape.nhwc())));
    }
    std::map<std::array<std::int32_t, 7>, std::int32_t> tiles;
    for (const Instruction& store : program.stream(Unit::kStore)) {
      const Origin& o = store.origin;
      const auto layer = static_cast<std::size_t>(o.layer);
      const ImageShape& shape = program.layers[layer].ofmap.value.shape;
      ASSERT_LE(o.c1, shape.channels);
      ASSERT_LE(o.y1, shape.height);
      tiles[{o.layer, o.n0, o.n1, o.y0, o.y1, o.x0, o.x1}] = o.tile;
      for (std::int64_t n = o.n0; n < o.n1; ++n) {
        for (std::int64_t y = o.y0; y < o.y1; ++y) {
          for (std::int64_t x = o.x0; x < o.x1; ++x) {
            for (std::int64_t c = o.c0; c < o.c1; ++c) {
              ++stored[layer][static_cast<std::size_t>(
                  ((n * shape.height + y) * shape.width + x) * shape.channels + c)];
            }
          }
        }
      }
    }
    for (const std::vector<int>& counts : stored) {
      EXPECT_EQ(std::ranges::count(counts, 1), std::ssize(counts));
    }
    for (const CommandStream& stream : program.streams.all()) {
      for (const Instruction& instruction : stream) {
        const Origin& o = instruction.origin;
        const auto tile = tiles.find({o.layer, o.n0, o.n1, o.y0, o.y1, o.x0, o.x1});
        ASSERT_NE(tile, tiles.end());
        EXPECT_EQ(tile->second, o.tile);
      }
    }
  }
}

TEST(Compile, APictureTooLargeForACommandsFieldsIsRefusedByName) {
  ArchConfig arch;  // few tiles
  arch.act_scratchpad_kib = 4096;
  arch.accumulator_kib = 8192;
  arch.output_scratchpad_kib = 2048;
  const Graph graph = GraphBuilder(21, picture(1, 8192, 8192, 32)).conv(1, window(1)).build();
  // A LOAD of both planes steps over more than the field counts, a LOAD of one plane does not.
  CompileOptions options;
  options.mappings = Compilation(graph, arch).mappings();
  options.mappings[0].mapping.act_planes = 2;
  options.mappings[0].mapping.act_slots = 1;
  try {
    compile(graph, arch, options);
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUnsupportedModel);
    EXPECT_NE(std::string(error.what()).find("conv0 tile 0"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("group_stride"), std::string::npos) << error.what();
  }
}

TEST(Compile, AnInvalidGraphOrArchitectureIsRefusedBeforeAnythingElse) {
  Graph graph = GraphBuilder(20, picture(1, 12, 12, 3)).conv(30, window(3)).build();
  ArchConfig arch;
  arch.act_slots = 3;
  EXPECT_THROW(compile(graph, arch), Error);
  graph.output_of(0).shape.height = 11;
  EXPECT_THROW(compile(graph, ArchConfig{}), Error);
}

TEST(Compile, IsDeterministic) {
  const Graph graph =
      GraphBuilder(11, picture(1, 12, 12, 3)).conv(30, window(3)).max_pool(window(2, 2)).build();
  EXPECT_TRUE(compile(graph, ArchConfig{}) == compile(graph, ArchConfig{}));
}

std::size_t weight_bytes(const Graph& graph) {
  std::size_t bytes = 0;
  for (const Layer& layer : graph.layers) {
    if (const auto* conv = std::get_if<Conv2d>(&layer.operation))
      bytes += conv->weights.bytes.size();
    if (const auto* fc = std::get_if<FullyConnected>(&layer.operation)) {
      bytes += fc->weights.bytes.size();
    }
  }
  return bytes;
}

// The weights of a column block fill several pages, so that pages are freed while others are read.
TEST(Compile, GivingTheGraphUpMakesTheSameProgramAndLeavesNoGraph) {
  const Graph graph = GraphBuilder(14, picture(1, 8, 8, 130))
                          .conv(40, window(3, 1, 1))
                          .relu()
                          .max_pool(window(2, 2))
                          .conv(300, window(3, 1, 1))
                          .flatten()
                          .fully_connected(33)
                          .build();
  for (const ArchConfig& arch : {ArchConfig{}, small_arch(8, 4)}) {
    const Program expected = compile(graph, arch);
    Compilation compilation(graph, arch);
    EXPECT_EQ(compilation.ofmap_layers(),
              (std::vector<bool>{false, false, true, true, false, true}));
    EXPECT_TRUE(compilation.program() == expected);
    EXPECT_EQ(weight_bytes(compilation.graph()), weight_bytes(graph));
    EXPECT_TRUE(compilation.program() == expected);  // from weights that are still whole
    EXPECT_TRUE(std::move(compilation).program() == expected);
    EXPECT_TRUE(compilation.graph().layers.empty());
  }
}

TEST(Compile, ALastFlattenIsLeftToTheHost) {
  GraphBuilder builder(12, picture(1, 6, 6, 3));
  const Graph graph = builder.conv(5, window(3)).flatten().build();
  const Program program = compile(graph, ArchConfig{});
  ASSERT_EQ(program.layers.size(), 1u);
  EXPECT_EQ(program.layers[0].graph_layer, 0);
  EXPECT_EQ(program.layers[0].operation, "conv2d+flatten");
}

}  // namespace
}  // namespace qsim
