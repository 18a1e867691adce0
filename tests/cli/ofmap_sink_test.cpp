// cli/session/run/ofmap_sink.h: what stays of golden and of the ofmaps, by option.
#include "cli/session/run/ofmap_sink.h"

#include <gtest/gtest.h>

namespace qsim {

using namespace cli;
using namespace report;
namespace {

// Two layers of the graph are ofmaps, the one between them runs fused. All values are 1 and 2.
Program two_layers() {
  Program program;
  program.layers.resize(2);
  for (std::size_t i = 0; i < 2; ++i) {
    program.layers[i].name = i == 0 ? "first" : "last";
    program.layers[i].graph_layer = static_cast<std::int32_t>(2 * i);
    program.layers[i].ofmap.block = 4;
    program.layers[i].ofmap.value.shape = {1, 2, 2, 4};
  }
  return program;
}

std::vector<std::byte> filled(int value) {
  return std::vector<std::byte>(16, static_cast<std::byte>(value));
}

Tensor tensor_of(int value) {
  Tensor tensor(DType::kInt8, {1, 2, 2, 4});
  tensor.bytes = filled(value);
  return tensor;
}

class Sink {
 public:
  explicit Sink(std::vector<Tensor> of_golden, bool compares = true, bool dumps = false)
      : golden(std::move(of_golden)), sink(program_, golden, compares, dumps) {}

  void take_both() {
    sink.take(0, filled(1));
    EXPECT_FALSE(sink.last().has_value());
    sink.take(1, filled(2));
    EXPECT_EQ(sink.last(), tensor_of(2));
  }

 private:
  Program program_ = two_layers();

 public:
  std::vector<Tensor> golden;
  OfmapSink sink;
};

TEST(OfmapSink, GoldensTensorGoesWhenItHasBeenCompared) {
  Sink made({tensor_of(1), tensor_of(9), tensor_of(7)});
  made.take_both();
  EXPECT_EQ(made.golden, (std::vector<Tensor>{Tensor{}, tensor_of(9), Tensor{}}));
  const std::optional<Comparison> comparison = made.sink.comparison();
  ASSERT_TRUE(comparison.has_value());
  EXPECT_EQ(comparison->values(), 32);
  EXPECT_EQ(comparison->mismatches(), 16);
  EXPECT_EQ(comparison->first->layer, "last");
  EXPECT_GT(made.sink.seconds(), 0);
}

TEST(OfmapSink, WithoutVerifyOnlyTheLastOfmapIsKept) {
  Sink made({}, false);
  made.take_both();
  EXPECT_FALSE(made.sink.comparison().has_value());
}

TEST(OfmapSink, ForADumpTheEnginesOfmapsTakeTheirPlaces) {
  for (const bool no_verify : {false, true}) {
    Sink made({tensor_of(3), tensor_of(9), tensor_of(2)}, !no_verify, true);
    made.take_both();
    EXPECT_EQ(made.golden, (std::vector<Tensor>{tensor_of(1), tensor_of(9), tensor_of(2)}));
    const std::optional<Comparison> comparison = made.sink.comparison();
    EXPECT_EQ(comparison.has_value(), !no_verify);
    EXPECT_EQ(comparison ? comparison->mismatches() : 16, 16);
  }
}

TEST(OfmapSink, ALayerWithoutGoldenOrThatNeverComesIsABug) {
  Sink short_golden({tensor_of(1)});
  EXPECT_THROW(short_golden.sink.take(1, filled(2)), InternalError);
  Sink made({tensor_of(1), Tensor{}, tensor_of(2)});
  made.sink.take(1, filled(2));
  EXPECT_THROW(made.sink.comparison(), InternalError);
}

}  // namespace
}  // namespace qsim
