// Results do not depend on the vector path: with each kind of vector instructions and with plain
// loops the SystemC engine leaves golden's bytes, in whole networks and in random layers. (A
// process has one engine, so each path is a test of its own; tests/sim/systemc/kernel_test.cpp does
// the same by command.)
#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "core/base/error.h"
#include "formats/settings/arch_config_file.h"
#include "formats/workload/random_layer.h"
#include "formats/workload/workload.h"
#include "golden/graph/cpu/graph_executor.h"
#include "sim/systemc/systemc_engine.h"

namespace qsim {

using namespace compiler;
using namespace formats;
using namespace sim;
namespace {

class SystemcVectorPath : public testing::TestWithParam<VectorPath> {
 protected:
  void SetUp() override {
    if (!is_supported(GetParam())) {
      GTEST_SKIP() << "skipped: this processor has no " << vector_path_name(GetParam());
    }
    engine_ = make_systemc_engine({.vector_path = GetParam()});
  }

  // The values compared.
  std::size_t expect_golden(const Graph& graph, const Tensor& input, const ArchConfig& arch,
                            golden::Path golden_path) {
    const Program program = compile(graph, arch);
    const std::vector<Tensor> golden = golden::run_graph(graph, input, golden_path);
    const RunResult result = engine_->run(program, input, {});
    std::size_t values = 0;
    EXPECT_EQ(result.ofmaps.size(), program.layers.size());
    for (std::size_t l = 0; l < result.ofmaps.size(); ++l) {
      const Tensor& expected = golden[static_cast<std::size_t>(program.layers[l].graph_layer)];
      EXPECT_TRUE(result.ofmaps[l] == expected) << program.layers[l].name;
      values += expected.bytes.size();
    }
    return values;
  }

  std::unique_ptr<Engine> engine_;
};

TEST_P(SystemcVectorPath, WholeNetworksAreGoldens) {
  std::size_t values = 0;
  for (const char* config : {"pe4x4", "pe8x8", "pe16x16", "pe16x32", "tpu128x128"}) {
    const ArchConfig arch = load_arch_config(std::string("configs/") + config + ".yaml");
    for (const char* model : {"vgg8", "conv_odd", "fc"}) {
      SCOPED_TRACE(std::string(model) + " on " + config);
      const Workload workload = load_workload(std::string("models/workloads/") + model + ".yaml");
      values += expect_golden(workload.graph, workload.input, arch, golden::Path::kOptimised);
    }
  }
  EXPECT_GT(values, 5u * 70'000u);
}

TEST_P(SystemcVectorPath, RandomLayersAreGoldens) {
  std::size_t values = 0;
  for (const char* config : {"pe4x4", "pe16x16", "pe16x32"}) {
    const ArchConfig full = load_arch_config(std::string("configs/") + config + ".yaml");
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
      SCOPED_TRACE(std::string(config) + ", seed " + std::to_string(seed));
      Random random(seed);
      const ArchConfig arch = shrink_memories(full, random);
      const RandomLayer layer = make_random_layer(seed, arch);
      values += expect_golden(layer.graph, layer.input, arch, golden::Path::kPlain);
    }
  }
  EXPECT_GT(values, 100'000u);
}

std::string test_name(const testing::TestParamInfo<VectorPath>& info) {
  return std::string(vector_path_name(info.param));
}

INSTANTIATE_TEST_SUITE_P(Paths, SystemcVectorPath, testing::ValuesIn(kVectorPaths), test_name);

TEST(SystemcVectorPaths, AreTheGoldensPathsAndThisProcessorHasTheSame) {
  ASSERT_EQ(kVectorPaths.size(), golden::kVectorPaths.size());
  for (std::size_t i = 0; i < kVectorPaths.size(); ++i) {
    const std::string_view name = vector_path_name(kVectorPaths[i]);
    EXPECT_EQ(name, golden::vector_path_name(golden::kVectorPaths[i]));
    EXPECT_EQ(is_supported(kVectorPaths[i]), golden::is_available(golden::kVectorPaths[i])) << name;
  }
}

TEST(SystemcVectorPaths, TheBestIsTheFirstThatThisProcessorHas) {
  for (const VectorPath path : kVectorPaths) {
    if (!is_supported(path)) continue;
    EXPECT_EQ(best_vector_path(), path);
    break;
  }
  EXPECT_TRUE(is_supported(VectorPath::kPortable));
}

// A processor that has all of them has nothing to refuse; tests/emulated runs this on some that
// lack a few.
TEST(SystemcVectorPaths, ThatThisProcessorLacksAreRefused) {
  for (const VectorPath path : kVectorPaths) {
    if (is_supported(path)) continue;
    EXPECT_THROW(make_systemc_engine({.vector_path = path}), InternalError);
  }
  EXPECT_NE(make_systemc_engine(), nullptr);
}

}  // namespace
}  // namespace qsim
