// SCALE-Sim topologies: which convolution each row becomes, that it has SCALE-Sim's ofmap and
// multiply-accumulates, that it compiles and computes golden's bytes, and refusals.
#include "formats/workload/topology.h"

#include "compiler/compile.h"
#include "golden/graph/cpu/graph_executor.h"
#include "sim/interpreter/program_interpreter.h"
#include "tests/compiler/graph_builder.h"
#include "tests/files/files_test_support.h"

namespace qsim {

using namespace compiler;
using namespace formats;
using namespace sim;
namespace {

constexpr const char* kConvHeader =
    "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, "
    "Strides,\n";
constexpr const char* kGemmHeader = "Layer,M,N,K,\n";

Topology topology_of(const std::string& text) {
  const TemporaryFolder folder;
  return read_topology(folder.file("net.csv", text));
}

Topology conv_rows(const std::string& rows) { return topology_of(kConvHeader + rows); }

// "name [n, h, w, c] k [kh, kw] s [sh, sw] p [bottom, right] -> out_channels"
std::string text_of(const TopologyLayer& layer) {
  const Window& w = layer.window;
  EXPECT_EQ(w.pad_top + w.pad_left, 0);
  return layer.name + " " + shape_text(layer.input.nhwc()) + " k " +
         shape_text({w.kernel_h, w.kernel_w}) + " s " + shape_text({w.stride_h, w.stride_w}) +
         " p " + shape_text({w.pad_bottom, w.pad_right}) + " -> " +
         std::to_string(layer.out_channels);
}

std::vector<std::string> texts_of(const Topology& topology) {
  std::vector<std::string> texts;
  for (const TopologyLayer& layer : topology.layers) texts.push_back(text_of(layer));
  return texts;
}

TEST(Topology, RowsBecomeConvolutionsOnAnIfmapThatIsPaddedAlready) {
  EXPECT_EQ(texts_of(conv_rows("Conv1, 34, 36, 3, 5, 16, 32, 1,\n"
                               "  Conv2 ,15,15, 3,3 ,8,4,2,\n")),
            (std::vector<std::string>{"Conv1 [1, 34, 36, 16] k [3, 5] s [1, 1] p [0, 0] -> 32",
                                      "Conv2 [1, 15, 15, 8] k [3, 3] s [2, 2] p [0, 0] -> 4"}));
  const Topology topology = conv_rows("a, 5, 5, 3, 3, 2, 2, 1,\n\nb, 6, 6, 3, 3, 2, 2, 1,\n");
  EXPECT_EQ(topology.name, "net");
  EXPECT_TRUE(topology.layers[1].place.ends_with("net.csv:4:1")) << topology.layers[1].place;
}

TEST(Topology, LastWindowMayHangOverTheEndAsInScaleSim) {
  // ceil((224 - 11) / 4) + 1 = 55 positions, the last from 216 to 227.
  EXPECT_EQ(texts_of(conv_rows("Conv1, 224, 224, 11, 11, 3, 96, 4,\n")),
            std::vector<std::string>{"Conv1 [1, 224, 224, 3] k [11, 11] s [4, 4] p [3, 3] -> 96"});
  // The last window is wholly outside: ceil(4 / 3) + 1 = 3 positions, at 0, 3 and 6.
  EXPECT_EQ(texts_of(conv_rows("a, 5, 5, 1, 1, 4, 4, 3,\n")),
            std::vector<std::string>{"a [1, 5, 5, 4] k [1, 1] s [3, 3] p [2, 2] -> 4"});
}

TEST(Topology, AnAxisAsLongAsTheFilterBecomesChannels) {
  EXPECT_EQ(texts_of(conv_rows("gemm, 1760, 1760, 1, 1760, 1, 128, 1,\n"
                               "fc, 7, 7, 7, 7, 512, 4096, 1,\n"
                               "column, 9, 4, 3, 4, 5, 6, 2,\n"
                               "row, 4, 9, 4, 3, 5, 6, 2,\n")),
            (std::vector<std::string>{"gemm [1, 1, 1760, 1760] k [1, 1] s [1, 1] p [0, 0] -> 128",
                                      "fc [1, 1, 1, 25088] k [1, 1] s [1, 1] p [0, 0] -> 4096",
                                      "column [1, 1, 9, 20] k [1, 3] s [1, 2] p [0, 0] -> 6",
                                      "row [1, 1, 9, 20] k [1, 3] s [1, 2] p [0, 0] -> 6"}));
}

TEST(Topology, ProductsBecomePixelsOfManyChannels) {
  EXPECT_EQ(texts_of(topology_of("Layer Name, M, N, K, Sparsity,\nqkv, 196, 192, 384, 1:1,\n")),
            std::vector<std::string>{"qkv [1, 1, 196, 384] k [1, 1] s [1, 1] p [0, 0] -> 192"});
  EXPECT_EQ(texts_of(topology_of(std::string(kGemmHeader) + "one,1,10,64,")),
            std::vector<std::string>{"one [1, 1, 1, 64] k [1, 1] s [1, 1] p [0, 0] -> 10"});
}

TEST(Topology, ReadsTheFilesThatPeopleHave) {
  // A byte order mark, ends of lines of another system, blank lines, headings, empty rows, no comma
  // at the end, columns that SCALE-Sim does not read, and names that come twice.
  const Topology topology = topology_of(
      "\xef\xbb\xbfLayer name,Ifmap height,ifmap width,filter height,filter width,channels,num "
      "filters,strides,,Eh\r\n,,,,,,,,,\r\n\r\nResnet,\r\nc,7,7,1,1,8,8,1,,110\r\n"
      "c,7,7,1,1,8,8,1\r\n,7,7,1,1,8,8,1,#dw\r\n");
  ASSERT_EQ(topology.layers.size(), 3u);
  EXPECT_EQ(topology.layers[0].name, "c");
  EXPECT_EQ(topology.layers[1].name, "c#2");
  EXPECT_EQ(topology.layers[2].name, "layer3");
}

TEST(Topology, NoTwoLayersHaveOneNameWhateverTheRowsAreCalled) {
  const auto names_of = [](const std::string& names) {
    std::string rows;
    for (const char name : names) {
      rows += (name == '2'   ? "a#2"
               : name == 'L' ? "layer4"
               : name == '-' ? ""
                             : "a") +
              std::string(", 5, 5, 3, 3, 2, 2, 1,\n");
    }
    std::vector<std::string> found;
    for (const TopologyLayer& layer : conv_rows(rows).layers) found.push_back(layer.name);
    return found;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names_of("aa2"), (Names{"a", "a#2", "a#2#2"}));
  EXPECT_EQ(names_of("a2a"), (Names{"a", "a#2", "a#3"}));
  EXPECT_EQ(names_of("aaaa"), (Names{"a", "a#2", "a#3", "a#4"}));
  EXPECT_EQ(names_of("22a"), (Names{"a#2", "a#2#2", "a"}));
  EXPECT_EQ(names_of("aLa-"), (Names{"a", "layer4", "a#2", "layer4#2"}));
}

TEST(Topology, TakesABatchSizeWhereTheHeaderSaysSo) {
  const Topology topology = topology_of(
      "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, "
      "Strides, Batch Size,\na, 7, 7, 3, 3, 8, 8, 1, 4,\n");
  EXPECT_EQ(topology.layers[0].input.batch, 4);
}

TEST(Topology, ANameWithDpIsALayerForEachChannel) {
  const Topology topology = conv_rows("DP1, 7, 7, 3, 3, 3, 1, 1,\n");
  EXPECT_EQ(texts_of(topology), (std::vector<std::string>{
                                    "DP1Channel_0 [1, 7, 7, 1] k [3, 3] s [1, 1] p [0, 0] -> 1",
                                    "DP1Channel_1 [1, 7, 7, 1] k [3, 3] s [1, 1] p [0, 0] -> 1",
                                    "DP1Channel_2 [1, 7, 7, 1] k [3, 3] s [1, 1] p [0, 0] -> 1"}));
}

// A row of small sizes, and its multiply-accumulates as SCALE-Sim's topology_utils counts them.
struct RandomRow {
  std::string text;
  std::int64_t macs = 0;
};

RandomRow random_row(Random& random) {
  const std::int64_t filter_h = random.uniform(1, 5);
  const std::int64_t filter_w = random.uniform(1, 5);
  const std::int64_t ifmap_h = filter_h + random.uniform(0, 9);
  const std::int64_t ifmap_w = filter_w + random.uniform(0, 9);
  const std::int64_t channels = random.uniform(1, 20);
  const std::int64_t filters = random.uniform(1, 20);
  const std::int64_t stride = random.uniform(1, 4);
  const std::int64_t out_h = (ifmap_h - filter_h + stride + stride - 1) / stride;
  const std::int64_t out_w = (ifmap_w - filter_w + stride + stride - 1) / stride;
  RandomRow row{"r", out_h * out_w * filter_h * filter_w * channels * filters};
  for (const std::int64_t n : {ifmap_h, ifmap_w, filter_h, filter_w, channels, filters, stride}) {
    row.text += ", " + std::to_string(n);
  }
  return row;
}

void expect_golden(const Workload& workload, const ArchConfig& arch) {
  const Program program = compile(workload.graph, arch);
  const std::vector<Tensor> golden =
      golden::run_graph(workload.graph, workload.input, golden::Path::kPlain);
  const RunResult result = make_program_interpreter(false)->run(program, workload.input, {true, 1});
  ASSERT_EQ(result.ofmaps.size(), 1u);
  EXPECT_TRUE(result.ofmaps[0] == golden[0]);
}

TEST(Topology, RandomRowsHaveScaleSimsMultiplyAccumulatesAndGoldensBytes) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    const RandomRow row = random_row(random);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + row.text);
    const Topology topology = conv_rows(row.text + ",\n");
    const Workload workload = layer_workload(topology, 0, Tensors::kDrawn);
    EXPECT_EQ(layer_macs(workload.graph, 0), row.macs);
    expect_golden(workload, testing::small_arch(seed % 2 == 0 ? 8 : 4, 4));
  }
}

TEST(Topology, ALayerWithoutValuesHasTheSameCommands) {
  const Topology topology = conv_rows("a, 12, 12, 3, 3, 20, 24, 1,\nb, 5, 5, 5, 5, 4, 30, 1,\n");
  const ArchConfig arch = testing::small_arch(8, 8);
  for (std::size_t layer = 0; layer < 2; ++layer) {
    const Workload drawn = layer_workload(topology, layer, Tensors::kDrawn);
    const Workload shapes = layer_workload(topology, layer, Tensors::kShapes);
    EXPECT_EQ(shapes.input.shape, drawn.input.shape);
    EXPECT_TRUE(shapes.input.bytes.empty());
    EXPECT_FALSE(has_tensors(shapes.graph));
    Program with_values = compile(drawn.graph, arch);
    ASSERT_FALSE(with_values.segments.empty());
    with_values.segments.clear();  // weights and parameters
    EXPECT_EQ(with_values, Compilation(shapes.graph, arch).commands());
  }
}

TEST(Topology, LayersOfTheSameSizesAreAlikeWhateverTheirNames) {
  const Topology topology = conv_rows(
      "a, 12, 12, 3, 3, 20, 24, 1,\nb, 12, 12, 3, 3, 20, 24, 1,\nc, 12, 12, 3, 3, 20, 24, 2,\n"
      "a, 12, 12, 3, 3, 20, 24, 1,\nd, 12, 12, 3, 3, 20, 24, 2,\ne, 12, 12, 3, 3, 20, 25, 1,\n");
  std::vector<std::size_t> first;
  for (std::size_t i = 0; i < topology.layers.size(); ++i) {
    first.push_back(first_alike(topology, i));
  }
  // The first row reads what the host wrote; the others do not.
  EXPECT_EQ(first, (std::vector<std::size_t>{0, 1, 2, 1, 2, 5}));
}

TEST(Topology, RefusesWhatIsNoTopologyWithItsPlace) {
  struct Case {
    const char* header;
    const char* rows;
    const char* message;
  };
  for (const Case& c : {
           Case{"", "Conv1, 34, 34, 3, 3, 16, 32, 1,\n",
                "net.csv:1:1: found no header of a SCALE-Sim topology; expected 'Layer name,"},
           Case{"", "", "net.csv: has no layer; expected a header and a row for each layer"},
           Case{kConvHeader, "\nonly a heading,\n", "has no layer; expected a header"},
           Case{kConvHeader, "a, 34, 34, 3,\n",
                "net.csv:2:12: found a row of 4 values; expected 8, the last of them the strides"},
           Case{kGemmHeader, "a, 34, 34,\n",
                ":2:8: found a row of 3 values; expected 4, the last of them the K of the product"},
           Case{kConvHeader, "a, 34, x, 3, 3, 16, 32, 1,\n",
                ":2:8: found IFMAP width 'x'; expected a number from 1 to 16777216, in decimal"},
           Case{kConvHeader, "a, 34, 34, 3, 0, 16, 32, 1,\n", ":2:15: found filter width '0'"},
           Case{kConvHeader, "a, 34, 34, 3, 3, -1, 32, 1,\n", "found channels '-1'"},
           Case{kConvHeader, "a, 34, 34, 3, 3, 1, 3.5, 1,\n", "found num filter '3.5'"},
           Case{kConvHeader, "a, 34, 34, 3, 3, 1, 3, 99999999999999999999,\n", "found strides '9"},
           Case{kConvHeader, "a, 3, 34, 5, 3, 1, 1, 1,\n",
                ":2:11: found a filter height of 5; expected at most the IFMAP height, 3"},
           Case{kConvHeader, "a, 34, 3, 5, 4, 1, 1, 1,\n",
                "found a filter width of 4; expected at most the IFMAP width, 3"},
           Case{kConvHeader, "a, 34, 34, 3, 3, 1, 1, 1, 2:4,\n",
                ":2:27: found the sparsity '2:4'; expected 1:1, since qsim computes dense layers"},
           Case{"Layer, M, N, K, Sparsity,\n", "a, 3, 3, 3, dense,\n", "the sparsity 'dense'"},
           Case{kConvHeader, "a, 16777216, 16777216, 16777216, 16777216, 16777216, 1, 1,\n",
                "net.csv:2:1: size overflow"},
           Case{kConvHeader, "DP, 9, 9, 3, 3, 10001, 1, 1,\n",
                "net.csv: has more than 10000 layers; allowed: 1 to 10000"},
       }) {
    expect_contains(error_of([&] { topology_of(std::string(c.header) + c.rows); }), c.message);
  }
}

TEST(Topology, ALayerThatIsTooLargeIsRefusedBeforeItIsMade) {
  const Topology topology = conv_rows("a, 60000, 60000, 1, 1, 16, 1, 1,\n");
  expect_contains(error_of([&] { layer_workload(topology, 0, Tensors::kShapes); }),
                  "net.csv:2:1: 57600000000 input elements; at most");
}

}  // namespace
}  // namespace qsim
