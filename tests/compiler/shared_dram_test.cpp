// Programs whose tensors share bytes of DRAM: every ofmap is golden's in every order of the units,
// and a tensor that is given up too early is found.
#include <algorithm>

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "compiler/program_sizes.h"
#include "compiler/tensor_reads.h"
#include "compiler/verifier/dram_owners.h"
#include "compiler/verifier/verify.h"
#include "core/base/error.h"
#include "golden/graph/cpu/graph_executor.h"
#include "report/analysis/dram_bytes.h"
#include "sim/interpreter/program_interpreter.h"
#include "tests/compiler/graph_builder.h"
#include "tests/compiler/random_network.h"
#include "tests/core/program_draft.h"
#include "tests/golden/random_dag.h"

namespace qsim {

using namespace compiler;
using namespace report;
using namespace sim;
namespace {

using testing::GraphBuilder;
using testing::picture;
using testing::small_arch;
using testing::window;

// Counts the pairs of ofmaps that share bytes.
int shared_pairs(const Program& program) {
  int pairs = 0;
  for (std::size_t a = 0; a < program.layers.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      const DramTensor& x = program.layers[a].ofmap;
      const DramTensor& y = program.layers[b].ofmap;
      pairs += x.address < y.address + y.size_bytes() && y.address < x.address + x.size_bytes();
    }
  }
  return pairs;
}

void expect_goldens_in_any_order(const Graph& graph, const Program& program, const Tensor& input,
                                 std::uint64_t seed) {
  const std::vector<Tensor> golden = golden::run_graph(graph, input);
  for (const bool random_order : {false, true}) {
    const auto engine = make_program_interpreter(random_order);
    const RunResult result = engine->run(program, input, {.seed = seed});
    std::vector<Tensor> taken(program.layers.size());
    int handed_over = 0;
    const auto take = [&](std::size_t layer, std::span<const std::byte> dram) {
      taken[layer] = unpack(program.layers[layer].ofmap, dram);
      ++handed_over;
    };
    engine->run(program, input, {.seed = seed, .take_ofmap = take});
    EXPECT_EQ(handed_over, static_cast<int>(program.layers.size()));
    ASSERT_EQ(result.ofmaps.size(), program.layers.size());
    for (std::size_t i = 0; i < program.layers.size(); ++i) {
      const ProgramLayer& layer = program.layers[i];
      EXPECT_EQ(result.ofmaps[i], golden[static_cast<std::size_t>(layer.graph_layer)])
          << layer.name << (random_order ? ", random order" : "");
      EXPECT_EQ(taken[i], result.ofmaps[i]) << layer.name;
    }
    check_dram_bytes(program, result.dram_traffic.value());
  }
}

TEST(SharedDram, OfRandomGraphsEveryOfmapIsGoldensInEveryOrder) {
  int shared = 0;
  int run = 0;
  for (std::uint64_t seed = 1; seed <= 60 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    ArchConfig arch = testing::random_machine(random);
    arch.requantizer = RequantizerKind::kDyadic;
    arch.act_scratchpad_kib = arch.accumulator_kib = arch.weight_scratchpad_kib = 16;
    golden_test::DagOptions options;
    options.operations.shifts = false;
    options.operations.wide_psums = false;
    options.most_steps = 8;
    options.most_channels = 20;
    const Graph graph = golden_test::random_dag(random, options);
    Tensor input(graph.input_value().dtype, graph.input_value().shape.nhwc());
    for (std::byte& b : input.bytes) b = static_cast<std::byte>(random.next() >> 56);
    CompileOptions compile_options;
    compile_options.dram_plan = DramPlan::kLifetime;
    try {
      const Program program = compile(graph, arch, compile_options);
      compile_options.dram_plan = DramPlan::kSeparate;
      const Program apart = compile(graph, arch, compile_options);
      EXPECT_LE(program.writable_bytes, apart.writable_bytes);
      EXPECT_EQ(shared_pairs(apart), 0);
      EXPECT_EQ(dram_bytes_of_commands(program), dram_bytes_of_commands(apart));
      shared += shared_pairs(program) > 0;
      ++run;
      expect_goldens_in_any_order(graph, program, input, seed);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kUnsupportedModel) << error.what();
    }
  }
  EXPECT_GE(run, 40);
  EXPECT_GE(shared, 20);
}

Graph forty_readers() {
  GraphBuilder builder(5, picture(1, 7, 6, 5));
  const TensorId shared = builder.conv(16, window(3, 1, 1)).last_tensor();
  std::vector<TensorId> parts;
  for (int reader = 0; reader < 40; ++reader) {
    builder.from(shared).conv(8, window(1), 10).conv(8, window(3, 1, 1));
    builder.last_output().zero_point = 3;
    parts.push_back(builder.last_tensor());
  }
  builder.concat(parts).conv(5, window(1));
  return builder.build();
}

TEST(SharedDram, ATensorOfFortyReadersStaysAndTheRestShares) {
  const Graph graph = forty_readers();
  const ArchConfig arch = small_arch(8, 8);
  const Program program = compile(graph, arch);
  EXPECT_GE(shared_pairs(program), 39);
  const ProgramSizes sizes = program_sizes(graph, arch);
  EXPECT_EQ(sizes.writable_bytes, program.writable_bytes);
  EXPECT_EQ(sizes.resident_bytes, program.writable_bytes);
  CompileOptions separate;
  separate.dram_plan = DramPlan::kSeparate;
  const ProgramSizes apart = program_sizes(graph, arch, separate);
  EXPECT_LT(4 * program.writable_bytes, 3 * apart.writable_bytes);
  EXPECT_LT(apart.resident_bytes, apart.writable_bytes);
  Tensor input(DType::kInt8, graph.input_value().shape.nhwc());
  for (std::size_t i = 0; i < input.bytes.size(); ++i) input.bytes[i] = std::byte(7 * i);
  expect_goldens_in_any_order(graph, program, input, 9);
}

TEST(SharedDram, AChainKeepsARegionForEachTensorUnlessAsked) {
  GraphBuilder builder(3, picture(1, 9, 9, 8));
  for (int i = 0; i < 6; ++i) builder.conv(8, window(3, 1, 1));
  const ArchConfig arch = small_arch(8, 8);
  CompileOptions options;
  const Program chain = compile(builder.build(), arch, options);
  EXPECT_EQ(shared_pairs(chain), 0);
  options.dram_plan = DramPlan::kLifetime;
  const Program shared = compile(builder.build(), arch, options);
  EXPECT_EQ(chain.writable_bytes, 7 * 4096);
  EXPECT_EQ(shared.writable_bytes, 2 * 4096);
  EXPECT_EQ(dram_bytes_of_commands(chain), dram_bytes_of_commands(shared));
  expect_goldens_in_any_order(builder.build(), shared, builder.random_input(), 1);
}

// conv0 -> conv1 -> conv2, conv0 -> conv3, and a concatenation of conv2's and conv3's ofmaps. The
// input and these ofmaps have 4096 bytes each: two pictures, 16 x 16 x 8.
struct Residual {
  Residual() {
    const TensorId first = builder.conv(8, window(1)).last_tensor();
    const TensorId left = builder.conv(8, window(3, 1, 1)).conv(8, window(3, 1, 1)).last_tensor();
    builder.last_output().zero_point = 3;
    const TensorId right = builder.from(first).conv(8, window(3, 1, 1)).last_tensor();
    builder.last_output().zero_point = 3;
    builder.concat({left, right});
    CompileOptions options;
    options.dram_plan = DramPlan::kSeparate;
    program = compile(builder.build(), small_arch(8, 8), options);
  }

  std::int64_t address_of(std::size_t layer) const { return program.layers[layer].ofmap.address; }

  // The program with the ofmap of `layer` at `address`, everywhere.
  Program with_ofmap_at(std::size_t layer, std::int64_t address) const {
    ProgramDraft draft(program);
    const DramTensor from = program.layers[layer].ofmap;
    const std::int64_t shift = address - from.address;
    const auto move = [&](auto& fields) {
      if (fields.dram_addr >= from.address && fields.dram_addr < from.address + from.size_bytes()) {
        fields.dram_addr = static_cast<std::uint32_t>(fields.dram_addr + shift);
      }
    };
    for (std::size_t i = 0; i < draft.stream(Unit::kLoad).size(); ++i) move(draft.fields<Load>(i));
    for (std::size_t i = 0; i < draft.stream(Unit::kStore).size(); ++i) {
      move(draft.fields<Store>(i));
    }
    draft.layers[layer].ofmap.address = address;
    return draft.program();
  }

  GraphBuilder builder{7, picture(2, 16, 16, 8)};
  Program program;
};

bool has(const std::vector<std::string>& violations, const std::string& text) {
  return std::any_of(violations.begin(), violations.end(), [&](const std::string& violation) {
    return violation.find(text) != std::string::npos;
  });
}

TEST(SharedDram, ATensorOfWhichAPartIsGivenUpTooEarlyIsFoundByTheVerifier) {
  const Residual residual;
  const Program planted = residual.with_ofmap_at(2, residual.address_of(0) - 2048);
  const std::vector<std::string> found = verify(planted, planted.arch);
  EXPECT_TRUE(has(found,
                  "which are no words of a tensor that is there; ofmap of conv0 was there "
                  "before"))
      << ::testing::PrintToString(found);
}

// conv1's first tile is stored where conv0's second one still has to be loaded.
TEST(SharedDram, AStoreThatMayOverwriteWhatALoadHasYetToReadIsFound) {
  const Residual residual;
  const Program planted = residual.with_ofmap_at(1, residual.address_of(0) + 6 * 8);
  const std::vector<std::string> found = verify(planted, planted.arch);
  EXPECT_TRUE(has(found, "may overwrite before it is read")) << ::testing::PrintToString(found);
}

// The concatenation's ofmap is where conv0's and conv1's were, and a program whose output conv0's
// is must keep it.
TEST(SharedDram, ATensorThatTakesThePlaceOfTheOutputIsFound) {
  const Residual residual;
  const Program right = residual.with_ofmap_at(4, residual.address_of(0));
  EXPECT_EQ(verify(right, right.arch), std::vector<std::string>{});
  ProgramDraft draft(right);
  std::swap(draft.layers[0], draft.layers[4]);
  for (auto& stream : draft.streams()) {
    for (Instruction& command : stream) {
      if (command.origin.layer % 4 == 0) command.origin.layer = 4 - command.origin.layer;
    }
  }
  const Program planted = draft.program();
  const std::vector<std::string> found = verify(planted, planted.arch);
  EXPECT_TRUE(has(found, "overlaps ofmap of conv0, which is the output and must stay"))
      << ::testing::PrintToString(found);
}

// By hand: STOREs 0 and 2 write the first tensor, 1 or 3 the second one.
TEST(SharedDram, TensorsThatShareBytesAndAreWrittenInTurnsAreFound) {
  const Program program;
  const DramTensor input = {0, picture(1, 1, 1, 8), 8};
  const DramTensor place = {8, picture(1, 1, 2, 8), 8};
  const DramTensor apart = {24, picture(1, 1, 1, 8), 8};
  for (const bool in_turns : {false, true}) {
    std::vector<verifier::Region> regions;
    regions.emplace_back("input", input, 8);
    regions.emplace_back("first", place, 8);
    regions.emplace_back("second", place, 8);
    regions.emplace_back("output", apart, 8);
    regions[1].set_stored({0, 1}, 0);
    regions[1].set_stored({1, 2}, 2);
    regions[2].set_stored({0, 2}, in_turns ? 1 : 3);
    regions[3].set_stored({0, 1}, 4);
    verifier::Violations violations(program);
    verifier::DramOwners owners(regions);
    owners.check_turns(violations);
    const std::vector<std::string> found = violations.take();
    if (in_turns) {
      EXPECT_EQ(found, std::vector<std::string>{"second overlaps first, whose last STORE is 2; its "
                                                "own first STORE is 1"});
      continue;
    }
    EXPECT_EQ(found, std::vector<std::string>{});
    EXPECT_EQ(owners.successors(regions[1]), std::vector<const verifier::Region*>{&regions[2]});
    EXPECT_EQ(owners.region_of(8, 16), &regions[1]);  // not stored yet, but the next one there
    owners.advance(3);
    EXPECT_EQ(owners.region_of(8, 16), &regions[1]);
    EXPECT_EQ(owners.overwritten(8), nullptr);
    owners.advance(4);
    EXPECT_EQ(owners.region_of(8, 16), &regions[2]);
    EXPECT_EQ(owners.overwritten(8), &regions[1]);
    EXPECT_EQ(owners.region_of(0, 8), &regions[0]);
  }
}

// All of conv0's ofmap is given up: the commands are those of a conv3 that reads conv2's ofmap, so
// the verifier has nothing to find. The graph says that conv3 does not read it; the bytes are
// wrong.
TEST(SharedDram, ATensorThatIsGivenUpTooEarlyIsFoundByTheGraph) {
  const Residual residual;
  const Graph graph = residual.builder.build();
  const Tensor input = Residual().builder.random_input();
  const Tensor output = golden::run_graph(graph, input).back();
  const auto output_of = [&](const Program& program) {
    return make_program_interpreter(true)->run(program, input, {.seed = 1}).ofmaps.back();
  };
  // The input's place is free after conv0.
  const Program right = residual.with_ofmap_at(2, residual.program.input.tensor.address);
  EXPECT_EQ(verify(right, right.arch), std::vector<std::string>{});
  EXPECT_NO_THROW(check_tensor_reads(graph, right));
  EXPECT_EQ(output_of(right), output);
  const Program planted = residual.with_ofmap_at(2, residual.address_of(0));
  EXPECT_NE(output_of(planted), output);
  try {
    check_tensor_reads(graph, planted);
    FAIL() << "the planted program is accepted";
  } catch (const InternalError& error) {
    EXPECT_NE(
        std::string(error.what())
            .find("a LOAD of layer 'conv3' reads byte " + std::to_string(residual.address_of(0)) +
                  " of DRAM, the ofmap of 'conv2', which that layer does not read"),
        std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace qsim
