// report/analysis/energy_events.h against loops that walk every fold, pixel, PE and register of
// small commands, and against the other counts of whole programs. The registers that a loop walks
// are those that tests/rtl/energy finds in the RTL.
#include "report/analysis/energy_events.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "core/base/error.h"
#include "core/base/random.h"
#include "formats/settings/arch_config_file.h"
#include "formats/workload/workload.h"
#include "report/analysis/dram_bytes.h"
#include "tests/core/program_draft.h"
#include "tests/report/sample_run.h"

namespace qsim {

using namespace compiler;
using namespace formats;
using namespace report;
namespace {

ArchConfig array_of(std::int64_t rows, std::int64_t cols) {
  ArchConfig arch;
  arch.array_rows = rows;
  arch.array_cols = cols;
  return arch;
}

void read(MemoryEvents& memory, std::int64_t bytes) {
  ++memory.reads;
  memory.read_bits += static_cast<std::uint64_t>(8 * bytes);
}

void write(MemoryEvents& memory, std::int64_t bytes) {
  ++memory.writes;
  memory.write_bits += static_cast<std::uint64_t>(8 * bytes);
}

// The bits that hold every sum of `rows` products of int8, at most rows * (-128) * (-128).
std::uint64_t bits_of_sum(std::int64_t rows) {
  std::uint64_t bits = 1;
  while ((std::int64_t{1} << (bits - 1)) <= rows * 128 * 128) ++bits;
  return bits;
}

// What moves through the PEs, register by register.
struct Walk {
  EnergyEvents events;
  std::int64_t rows;
  std::int64_t cols;

  explicit Walk(const ArchConfig& arch) : rows(arch.array_rows), cols(arch.array_cols) {}

  void mac(std::uint64_t psum_bits) {
    ++events.pe_macs;
    events.psum_hop_bits += psum_bits;
  }
  // The R operands of a column that stay: from above, then into use.
  void enter(std::uint64_t& bits) {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t above = 0; above <= r; ++above) bits += 8;
      bits += 8;
    }
  }
  void read_fold() {
    for (std::int64_t byte = 0; byte < rows * cols; byte += std::max(rows, cols)) {
      read(events.weight, std::max(rows, cols));
    }
  }
  void update(bool overwrite) {
    if (!overwrite) {
      read(events.accumulator, 4 * cols);
      events.adds += static_cast<std::uint64_t>(cols);
    }
    write(events.accumulator, 4 * cols);
  }
};

// visit(whether the fold is the first) for each fold.
template <typename Visit>
void for_each_fold(const Execute& e, Visit visit) {
  bool first = true;
  for (std::uint32_t fold = 0; fold < e.planes * e.kernel_h * e.kernel_w; ++fold) {
    visit(first);
    first = false;
  }
}

std::int64_t pixels_of(const Execute& e) { return std::int64_t{e.out_rows} * e.out_cols; }

void walk_weight_stationary(Walk& walk, const Execute& e) {
  for_each_fold(e, [&](bool first) {
    walk.read_fold();
    for (std::int64_t c = 0; c < walk.cols; ++c) walk.enter(walk.events.weight_hop_bits);
    for (std::int64_t pixel = 0; pixel < pixels_of(e); ++pixel) {
      for (std::int64_t pe = 0; pe < walk.rows * walk.cols; ++pe) {
        walk.events.activation_hop_bits += 8;
        walk.mac(bits_of_sum(walk.rows));
      }
      walk.update(first && e.accumulate == 0);
    }
  });
}

void walk_output_stationary(Walk& walk, const Execute& e) {
  for (std::int64_t begin = 0; begin < pixels_of(e); begin += walk.rows) {
    const std::int64_t pixels = std::min(walk.rows, pixels_of(e) - begin);
    for_each_fold(e, [&](bool) {
      walk.read_fold();
      for (std::int64_t element = 0; element < walk.rows; ++element) {
        for (std::int64_t c = 0; c < walk.cols; ++c) {
          for (std::int64_t r = 0; r < walk.rows; ++r) {
            walk.events.weight_hop_bits += 8;  // the shadow register
            walk.events.weight_hop_bits += 8;  // the multiplier's
          }
          for (std::int64_t r = 0; r < pixels; ++r) {
            walk.events.activation_hop_bits += 8;
            walk.mac(32);
          }
        }
      }
    });
    for (std::int64_t r = 0; r < pixels; ++r) {
      for (std::int64_t row = r; row < walk.rows; ++row) {
        for (std::int64_t c = 0; c < walk.cols; ++c) walk.events.psum_hop_bits += 32;
      }
      walk.update(e.accumulate == 0);
    }
  }
}

void walk_input_stationary(Walk& walk, const Execute& e) {
  for (std::int64_t begin = 0; begin < pixels_of(e); begin += walk.cols) {
    const std::int64_t pixels = std::min(walk.cols, pixels_of(e) - begin);
    for_each_fold(e, [&](bool first) {
      for (std::int64_t p = 0; p < pixels; ++p) walk.enter(walk.events.activation_hop_bits);
      for (std::uint32_t block = 0; block < e.blocks; ++block) {
        walk.read_fold();
        for (std::int64_t channel = 0; channel < walk.cols; ++channel) {
          for (std::int64_t r = 0; r < walk.rows; ++r) {
            for (std::int64_t c = 0; c < walk.cols; ++c) walk.events.weight_hop_bits += 8;
            for (std::int64_t c = 0; c < pixels; ++c) walk.mac(bits_of_sum(walk.rows));
          }
        }
        for (std::int64_t p = 0; p < pixels; ++p) walk.update(first && e.accumulate == 0);
      }
    });
  }
}

void walk_activations(EnergyEvents& events, const Execute& e, const ArchConfig& arch) {
  for (std::uint32_t p = 0; p < e.planes; ++p) {
    for (std::int32_t ky = 0; ky < static_cast<std::int32_t>(e.kernel_h); ++ky) {
      for (std::int32_t kx = 0; kx < static_cast<std::int32_t>(e.kernel_w); ++kx) {
        for (std::int64_t oy = 0; oy < e.out_rows; ++oy) {
          for (std::int64_t ox = 0; ox < e.out_cols; ++ox) {
            const std::int64_t iy = oy * e.stride_h + ky + e.origin_row;
            const std::int64_t ix = ox * e.stride_w + kx + e.origin_col;
            if (0 <= iy && iy < e.in_rows && 0 <= ix && ix < e.in_cols) {
              read(events.activation, arch.array_rows);
            }
          }
        }
      }
    }
  }
}

EnergyEvents walked(const Execute& e, const ArchConfig& arch) {
  Walk walk(arch);
  walk_activations(walk.events, e, arch);
  switch (static_cast<Dataflow>(e.dataflow)) {
    case Dataflow::kWeightStationary:
      walk_weight_stationary(walk, e);
      break;
    case Dataflow::kOutputStationary:
      walk_output_stationary(walk, e);
      break;
    case Dataflow::kInputStationary:
      walk_input_stationary(walk, e);
      break;
  }
  return walk.events;
}

EnergyEvents walked(const Post& p, const ArchConfig& arch) {
  EnergyEvents events;
  read(events.parameter, 5 * arch.array_cols);
  for (std::int64_t oy = 0; oy < p.out_rows; ++oy) {
    for (std::int64_t ox = 0; ox < p.out_cols; ++ox) {
      for (std::int64_t ky = 0; ky < p.pool_h; ++ky) {
        for (std::int64_t kx = 0; kx < p.pool_w; ++kx) {
          const std::int64_t iy = oy * p.pool_stride_h + ky + p.origin_row;
          const std::int64_t ix = ox * p.pool_stride_w + kx + p.origin_col;
          if (p.lookup != 0) {
            for (std::int64_t c = 0; c < arch.array_cols; ++c) {
              read(events.parameter, arch.bus_bytes);
            }
          }
          if (iy < 0 || iy >= p.in_rows || ix < 0 || ix >= p.in_cols) continue;
          read(events.accumulator, 4 * arch.array_cols);
          events.adds += static_cast<std::uint64_t>(arch.array_cols);
        }
      }
      write(events.output, arch.array_cols);
    }
  }
  return events;
}

std::uint32_t draw(Random& random, std::int64_t least, std::int64_t most) {
  return static_cast<std::uint32_t>(random.uniform(least, most));
}

Execute random_execute(Random& random) {
  Execute e;
  e.in_rows = draw(random, 1, 7);
  e.in_cols = draw(random, 1, 7);
  e.origin_row = static_cast<std::int32_t>(random.uniform(-4, 4));
  e.origin_col = static_cast<std::int32_t>(random.uniform(-4, 4));
  e.kernel_h = draw(random, 1, 3);
  e.kernel_w = draw(random, 1, 3);
  e.stride_h = draw(random, 0, 3);
  e.stride_w = draw(random, 0, 3);
  e.planes = draw(random, 1, 3);
  e.out_rows = draw(random, 1, 5);
  e.out_cols = draw(random, 1, 5);
  e.accumulate = draw(random, 0, 1);
  e.dataflow = draw(random, 0, kDataflows - 1);
  e.blocks =
      static_cast<Dataflow>(e.dataflow) == Dataflow::kInputStationary ? draw(random, 1, 4) : 1;
  return e;
}

Post random_post(Random& random) {
  Post p;
  p.in_rows = draw(random, 1, 7);
  p.in_cols = draw(random, 1, 7);
  p.out_rows = draw(random, 1, 5);
  p.out_cols = draw(random, 1, 5);
  p.pool_h = draw(random, 1, 4);
  p.pool_w = draw(random, 1, 4);
  p.pool_stride_h = draw(random, 0, 4);
  p.pool_stride_w = draw(random, 0, 4);
  p.origin_row = static_cast<std::int32_t>(random.uniform(-4, 4));
  p.origin_col = static_cast<std::int32_t>(random.uniform(-4, 4));
  p.lookup = draw(random, 0, 1);
  return p;
}

TEST(EnergyEvents, AreThoseOfLoopsOverEveryFoldPixelAndRegister) {
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const ArchConfig arch =
        array_of(std::int64_t{4} << random.uniform(0, 2), std::int64_t{4} << random.uniform(0, 2));
    const Execute execute = random_execute(random);
    EXPECT_EQ(events_of(execute, arch), walked(execute, arch));
    const Post post = random_post(random);
    EXPECT_EQ(events_of(post, arch), walked(post, arch));
  }
}

TEST(EnergyEvents, OfATransferAreItsBytesOnceAtEitherEnd) {
  const ArchConfig arch = array_of(4, 8);
  Load load;
  load.groups = 3;
  load.runs = 2;
  load.run_bytes = 40;  // 240 bytes
  EnergyEvents expected;
  expected.dram_read_bits = 1920;
  for (int word = 0; word < 60; ++word) write(expected.activation, 4);
  EXPECT_EQ(events_of(load, arch), expected);

  load.memory = static_cast<std::uint32_t>(LoadMemory::kWeight);
  expected.activation = {};
  expected.weight = {0, 30, 0, 1920};
  EXPECT_EQ(events_of(load, arch), expected);

  // More rows than columns: a weight word is R bytes.
  expected.weight = {0, 15, 0, 1920};
  EXPECT_EQ(events_of(load, array_of(16, 8)), expected);

  load.memory = static_cast<std::uint32_t>(LoadMemory::kParameter);
  load.groups = load.runs = 1;
  expected.weight = {};
  expected.parameter = {0, 1, 0, 320};
  expected.dram_read_bits = 320;
  EXPECT_EQ(events_of(load, arch), expected);

  Store store;
  store.groups = 1;
  store.runs = 5;
  store.run_bytes = 16;
  EnergyEvents stored;
  stored.dram_write_bits = 640;
  stored.output = {10, 0, 640, 0};
  EXPECT_EQ(events_of(store, arch), stored);
}

TEST(EnergyEvents, OfALayerAreThoseOfItsCommands) {
  const Program program = sample_program();
  const std::vector<EnergyEvents> layers = energy_events(program);
  ASSERT_EQ(layers.size(), 2u);
  for (std::size_t l = 0; l < layers.size(); ++l) {
    EnergyEvents expected;
    expected.useful_macs = l == 0 ? 400 : 120;
    expected += events_of(program.stream(Unit::kLoad).fields<Load>(l), program.arch);
    expected += events_of(program.stream(Unit::kExecute).fields<Execute>(l), program.arch);
    expected += events_of(program.stream(Unit::kPost).fields<Post>(l), program.arch);
    expected += events_of(program.stream(Unit::kStore).fields<Store>(l), program.arch);
    EXPECT_EQ(layers[l], expected) << l;
  }
  EXPECT_EQ(layers[0].pe_macs, 480u);
  EXPECT_EQ(layers[1].pe_macs, 160u);
}

TEST(EnergyEvents, OfWholeNetworksAgreeWithTheOtherCounts) {
  const Workload workload = load_workload("models/workloads/vgg8.yaml");
  for (const char* config : {"configs/pe8x8.yaml", "configs/pe16x32.yaml"}) {
    const Program program = compile(workload.graph, load_arch_config(config));
    const std::vector<EnergyEvents> layers = energy_events(program);
    const std::vector<LayerDramBytes> bytes = dram_bytes_of_commands(program);
    ASSERT_EQ(layers.size(), bytes.size());
    for (std::size_t l = 0; l < layers.size(); ++l) {
      SCOPED_TRACE(std::string(config) + " " + program.layers[l].name);
      const EnergyEvents& events = layers[l];
      EXPECT_EQ(events.dram_read_bits, 8 * bytes[l].read);
      EXPECT_EQ(events.dram_write_bits, 8 * bytes[l].written);
      EXPECT_EQ(
          events.activation.write_bits + events.weight.write_bits + events.parameter.write_bits,
          events.dram_read_bits);
      EXPECT_EQ(events.output.read_bits, events.dram_write_bits);
      EXPECT_EQ(events.output.write_bits, events.output.read_bits);
      EXPECT_GE(events.pe_macs, events.useful_macs);
      EXPECT_GT(events.useful_macs, 0u);
    }
  }
}

TEST(EnergyEvents, OfACommandWithoutALayerAreABug) {
  ProgramDraft draft(sample_program());
  draft.stream(Unit::kPost)[1].origin.layer = 2;
  const Program program = draft.program();
  EXPECT_THROW(energy_events(program), InternalError);
}

}  // namespace
}  // namespace qsim
