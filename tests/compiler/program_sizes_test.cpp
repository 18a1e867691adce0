// The sizes that are known before a program is made are those of the program that is made.
#include "compiler/program_sizes.h"

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "core/base/checked_math.h"
#include "formats/workload/random_layer.h"
#include "formats/workload/workload.h"
#include "tests/compiler/graph_builder.h"

namespace qsim {

using namespace compiler;
using namespace formats;
namespace {

using testing::small_arch;

void expect_sizes(const Graph& graph, const ArchConfig& arch) {
  const ProgramSizes sizes = program_sizes(graph, arch);
  const Program program = compile(graph, arch);
  EXPECT_EQ(sizes.commands, static_cast<std::int64_t>(program.command_count()));
  EXPECT_EQ(sizes.writable_bytes, program.writable_bytes);
  std::int64_t constants = 0;
  for (const DramSegment& segment : program.segments) constants += std::ssize(segment.bytes);
  EXPECT_EQ(sizes.constant_bytes, constants);
  std::int64_t ofmaps = 0;
  std::int64_t largest = 0;
  std::int64_t ifmap = round_up(program.input.tensor.size_bytes(), 4096);
  for (const ProgramLayer& layer : program.layers) {
    ofmaps += element_count(layer.ofmap.value.shape.nhwc());
    const std::int64_t ofmap = round_up(layer.ofmap.size_bytes(), 4096);
    largest = std::max(largest, ifmap + ofmap);
    ifmap = ofmap;
  }
  EXPECT_EQ(sizes.ofmap_elems, ofmaps);
  EXPECT_EQ(sizes.resident_bytes, largest);  // of a chain
  EXPECT_LE(sizes.largest_block_bytes, sizes.constant_bytes);
}

TEST(ProgramSizes, AreThoseOfTheProgramOfRandomLayers) {
  for (const auto& [rows, cols] : {std::pair(4, 4), std::pair(8, 4), std::pair(16, 32)}) {
    const ArchConfig arch = small_arch(rows, cols);
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      SCOPED_TRACE(std::to_string(rows) + "x" + std::to_string(cols) + ", seed " +
                   std::to_string(seed));
      expect_sizes(make_random_layer(seed, arch).graph, arch);
    }
  }
}

TEST(ProgramSizes, AreThoseOfTheProgramOfAWholeNetwork) {
  expect_sizes(load_workload("models/workloads/vgg8.yaml").graph, small_arch(16, 16));
}

}  // namespace
}  // namespace qsim
