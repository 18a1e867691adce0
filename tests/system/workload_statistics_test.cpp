// Every shipped workload, executed by the golden, keeps its values alive.
#include <filesystem>
#include <set>

#include "formats/workload/workload.h"
#include "golden/graph/cpu/graph_executor.h"
#include "tests/ofmap_statistics.h"

namespace qsim {

using namespace formats;
namespace {

TEST(WorkloadStatistics, EveryShippedOfmapIsSpreadAndNotSaturated) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("models/workloads")) {
    SCOPED_TRACE(entry.path());
    const Workload workload = load_workload(entry.path());
    names.insert(workload.graph.name);
    EXPECT_EQ(workload.graph.name, entry.path().stem());
    expect_living_ofmaps(workload.graph, golden::run_graph(workload.graph, workload.input));
  }
  for (const char* name : {"vgg8", "vgg16", "alexnet"}) EXPECT_TRUE(names.contains(name)) << name;
}

TEST(WorkloadStatistics, EveryNetworksOfmapIsSpreadAndNotSaturated) {
  int networks = 0;
  for (const auto& entry : std::filesystem::directory_iterator("models/networks")) {
    SCOPED_TRACE(entry.path());
    const Workload workload = load_workload(entry.path());
    EXPECT_EQ(workload.graph.name, entry.path().stem());
    const golden::ExecutorOptions options{.pack_ahead = false};
    expect_living_ofmaps(workload.graph,
                         golden::run_graph(workload.graph, workload.input, options));
    ++networks;
  }
  EXPECT_EQ(networks, 7);
}

TEST(WorkloadStatistics, ABatchOfFourLivesToo) {
  const Workload workload = load_workload("models/workloads/vgg8.yaml", 4);
  const std::vector<Tensor> ofmaps = golden::run_graph(workload.graph, workload.input);
  expect_living_ofmaps(workload.graph, ofmaps);
  // Its four pictures differ, and so do what they lead to.
  const std::span<const std::byte> last = ofmaps.back().bytes;
  for (std::size_t n = 1; n < 4; ++n) {
    EXPECT_FALSE(std::ranges::equal(last.first(10), last.subspan(10 * n, 10))) << n;
  }
}

}  // namespace
}  // namespace qsim
