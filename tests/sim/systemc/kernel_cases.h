// What the tests of the SystemC engine's kernels share: a ReferenceMachine's memories in a kernel's
// scratchpads, their comparison, and the vector paths and array sizes that each test runs.
#pragma once

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "sim/systemc/datapath/scratchpads.h"
#include "sim/systemc/datapath/vector_path.h"
#include "tests/sim/systemc/random_commands.h"
#include "tests/sim/systemc/reference_machine.h"

namespace qsim {

struct ArraySize {
  std::int64_t rows;
  std::int64_t cols;
};

inline constexpr ArraySize kArraySizes[] = {
    {4, 4},   {8, 8},   {16, 16}, {16, 32}, {32, 32}, {4, 16},  {16, 4},  {8, 4},    {4, 8},
    {32, 16}, {64, 64}, {8, 64},  {128, 8}, {4, 128}, {64, 16}, {16, 64}, {128, 128}};

template <typename T>
void copy_into(const std::vector<T>& from, std::span<T> to) {
  ASSERT_EQ(from.size(), to.size());
  std::copy(from.begin(), from.end(), to.begin());
}

inline sim::Scratchpads copy_of(const ReferenceMachine& machine) {
  const ArchConfig& arch = machine.arch;
  sim::Scratchpads copy(arch);
  copy_into(machine.activations, copy.written_activations(0, arch.act_words()));
  copy_into(machine.weights, copy.weights(0, arch.weight_words()));
  copy_into(machine.outputs, copy.outputs(0, arch.output_words()));
  for (std::int64_t slot = 0; slot < kParamSlots; ++slot) {
    const auto begin = machine.parameters.begin() + slot * arch.param_block_bytes();
    std::copy(begin, begin + arch.param_block_bytes(), copy.parameters(slot).begin());
    if (!arch.is_dyadic()) continue;
    const auto table = machine.tables.begin() + slot * kTableBytes;
    std::copy(table, table + kTableBytes, copy.table(slot).begin());
  }
  for (std::uint32_t half = 0; half < 2; ++half) {
    copy_into(machine.psums[half], copy.psums(half, 0, arch.accumulator_half_words()));
  }
  return copy;
}

template <typename T>
void expect_same(const char* memory, const std::vector<T>& expected, std::span<const T> actual) {
  ASSERT_EQ(expected.size(), actual.size()) << memory;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(+expected[i], +actual[i]) << memory << " element " << i;
  }
}

inline void expect_same(const ReferenceMachine& machine, sim::Scratchpads& scratchpads) {
  const ArchConfig& arch = machine.arch;
  expect_same<std::int8_t>("activations", machine.activations,
                           scratchpads.activations(0, arch.act_words()));
  expect_same<std::int8_t>("weights", machine.weights, scratchpads.weights(0, arch.weight_words()));
  expect_same<std::int8_t>("outputs", machine.outputs, scratchpads.outputs(0, arch.output_words()));
  for (std::int64_t slot = 0; slot < kParamSlots; ++slot) {
    const auto begin = machine.parameters.begin() + slot * arch.param_block_bytes();
    expect_same<std::int8_t>("parameters", {begin, begin + arch.param_block_bytes()},
                             scratchpads.parameters(slot));
  }
  for (std::uint32_t half = 0; half < 2; ++half) {
    expect_same<std::int32_t>("psums", machine.psums[half],
                              scratchpads.psums(half, 0, arch.accumulator_half_words()));
  }
}

inline std::string case_text(sim::VectorPath path, const ArchConfig& arch, std::uint64_t seed) {
  return std::string(sim::vector_path_name(path)) + ", array " + std::to_string(arch.array_rows) +
         "x" + std::to_string(arch.array_cols) + ", seed " + std::to_string(seed);
}

// Runs `body(path, arch, seed)` for every supported path and array size.
template <typename Body>
void for_each_case(std::uint64_t seeds, Body body) {
  for (const sim::VectorPath path : sim::kVectorPaths) {
    if (!sim::is_supported(path)) continue;
    for (const ArraySize& size : kArraySizes) {
      const ArchConfig arch = small_arch(size.rows, size.cols);
      for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        SCOPED_TRACE(case_text(path, arch, seed));
        body(path, arch, seed);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

}  // namespace qsim
