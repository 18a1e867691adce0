// sim/systemc/ofmap_handover.h, command by command: when each ofmap is handed over, and
// which chunks of DRAM are there until when. What the commands do is played by the test.
#include "sim/systemc/ofmap_handover.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace qsim {

using namespace sim;
namespace {

constexpr std::int64_t kChunk = OfmapHandover::kChunkBytes;
constexpr std::byte kFilled{0x5A};

DramTensor bytes_at(std::int64_t address, std::int64_t bytes) {
  DramTensor tensor;
  tensor.address = address;
  tensor.block = bytes;
  tensor.value.shape = {1, 1, 1, bytes};
  return tensor;
}

// Chunks 0 to 2 are the input, 3 and 4 the ofmap of layer 0, 5 that of layer 1.
Program three_regions() {
  Program program;
  program.writable_bytes = 6 * kChunk;
  program.input.tensor = bytes_at(0, 3 * kChunk);
  program.layers.resize(2);
  program.layers[0].ofmap = bytes_at(3 * kChunk, 2 * kChunk);
  program.layers[1].ofmap = bytes_at(5 * kChunk, kChunk);
  return program;
}

void add_load(Program& program, std::int64_t address, std::int64_t groups = 1,
              std::int64_t group_stride = 0, std::int64_t runs = 1, std::int64_t run_stride = 0) {
  Load load;
  load.dram_addr = static_cast<std::uint32_t>(address);
  load.run_bytes = 64;
  load.runs = static_cast<std::uint32_t>(runs);
  load.run_stride = static_cast<std::uint32_t>(run_stride);
  load.groups = static_cast<std::uint32_t>(groups);
  load.group_stride = static_cast<std::uint32_t>(group_stride);
  program.streams.append({0, 0, load}, {});
}

// Behind all other LOADs, so that the input stays.
void add_loads_of_input(Program& program) {
  for (std::int64_t chunk = 0; chunk < 3; ++chunk) add_load(program, chunk * kChunk);
}

void add_store(Program& program, std::int32_t layer) {
  Origin origin;
  origin.layer = layer;
  program.streams.append({0, 0, Store{}}, origin);
}

// DRAM full of bytes that are not zero, and the layers that were handed over.
class Handover {
 public:
  explicit Handover(const Program& program)
      : program_(program), dram_(program, input_of(program)), handover_(program_, dram_, take_) {
    for (const ProgramLayer& layer : program.layers) {
      std::ranges::fill(dram_.write(layer.ofmap.address, layer.ofmap.size_bytes()), kFilled);
    }
  }

  void load_done() { handover_.load_done(); }
  void store_done() { handover_.store_done(); }
  void finish() { handover_.finish(); }
  const std::vector<std::size_t>& taken() const { return taken_; }

  // "111011": by chunk, 1 for bytes that are all there, 0 for whole pages that are gone.
  std::string chunks() const {
    std::string text;
    for (std::int64_t chunk = 0; chunk < program_.writable_bytes / kChunk; ++chunk) {
      const std::span<const std::byte> bytes = dram_.read(chunk * kChunk, kChunk);
      // Not the page on the border, which the next chunk may need.
      const std::span<const std::byte> inside = bytes.subspan(8192, kChunk - 2 * 8192);
      const auto is = [](std::byte value) { return [=](std::byte byte) { return byte == value; }; };
      const bool whole = std::ranges::all_of(bytes, is(kFilled));
      const bool gone = std::ranges::all_of(inside, is(std::byte{0}));
      text += whole ? '1' : gone ? '0' : '?';
    }
    return text;
  }

 private:
  static Tensor input_of(const Program& program) {
    Tensor input(DType::kInt8, program.input.tensor.value.shape.nhwc());
    std::ranges::fill(input.bytes, kFilled);
    return input;
  }

  Program program_;
  DramMemory dram_;
  std::vector<std::size_t> taken_;
  TakeOfmap take_ = [this](std::size_t layer, std::span<const std::byte> dram) {
    const DramTensor& ofmap = program_.layers[layer].ofmap;
    EXPECT_EQ(dram.data(), dram_.read(ofmap.address, 1).data());
    EXPECT_EQ(dram.size(), static_cast<std::size_t>(ofmap.size_bytes()));
    EXPECT_TRUE(std::ranges::all_of(dram, [](std::byte byte) { return byte == kFilled; }));
    taken_.push_back(layer);
  };
  OfmapHandover handover_;
};

using Layers = std::vector<std::size_t>;

TEST(OfmapHandover, ChunksOfTheInputGoWithTheLastLoadThatReadsThem) {
  Program program = three_regions();
  add_load(program, 0);
  add_load(program, kChunk);
  add_load(program, 3 * kChunk - 64);
  add_load(program, kChunk - 64);  // chunk 0 again
  Handover handover(program);
  EXPECT_EQ(handover.chunks(), "111111");
  handover.load_done();
  EXPECT_EQ(handover.chunks(), "111111");
  handover.load_done();
  EXPECT_EQ(handover.chunks(), "101111");
  handover.load_done();
  EXPECT_EQ(handover.chunks(), "100111");
  handover.load_done();
  EXPECT_EQ(handover.chunks(), "000111");
}

TEST(OfmapHandover, AGroupReadsFromItsFirstRunToItsLast) {
  Program program = three_regions();
  add_load(program, kChunk / 2, 2, 2 * kChunk);             // chunks 0 and 2
  add_load(program, kChunk - 32);                           // chunks 0 and 1
  add_load(program, 64, 1, 0, 5, kChunk / 2);               // chunks 0, 1, 2
  add_load(program, kChunk / 2, 1, 0, 2, kChunk / 2 - 64);  // chunk 0
  Handover handover(program);
  handover.load_done();
  handover.load_done();
  EXPECT_EQ(handover.chunks(), "111111");
  handover.load_done();
  EXPECT_EQ(handover.chunks(), "100111");
  handover.load_done();
  EXPECT_EQ(handover.chunks(), "000111");
}

// No verified program has such a LOAD, but commands can be written that way.
TEST(OfmapHandover, ALoadOfNothingKeepsNoChunk) {
  Load no_runs;
  no_runs.run_bytes = 64;
  no_runs.groups = 1;
  Load no_bytes;
  no_bytes.runs = 3;
  no_bytes.run_stride = static_cast<std::uint32_t>(kChunk);
  no_bytes.groups = 1;
  Load no_groups;
  no_groups.run_bytes = 64;
  no_groups.runs = 1;
  for (const Load& nothing : {no_runs, no_bytes, no_groups}) {
    Program program = three_regions();
    add_loads_of_input(program);
    Load inside = nothing;
    inside.dram_addr = 64;
    program.streams.append({0, 0, inside}, {});
    Handover handover(program);
    for (int i = 0; i < 3; ++i) handover.load_done();
    EXPECT_EQ(handover.chunks(), "000111");
    handover.load_done();
    EXPECT_EQ(handover.chunks(), "000111");
  }
}

TEST(OfmapHandover, AnOfmapIsHandedOverWithItsLastStoreAndStaysUntilItIsRead) {
  Program program = three_regions();
  for (const std::int32_t layer : {0, 0, 1, 1}) add_store(program, layer);
  add_load(program, 3 * kChunk);
  add_load(program, 4 * kChunk);
  add_loads_of_input(program);
  Handover handover(program);
  handover.store_done();
  EXPECT_EQ(handover.taken(), Layers{});
  handover.store_done();
  EXPECT_EQ(handover.taken(), Layers{0});
  EXPECT_EQ(handover.chunks(), "111111");
  handover.load_done();
  EXPECT_EQ(handover.chunks(), "111011");
  handover.store_done();
  handover.load_done();
  EXPECT_EQ(handover.chunks(), "111001");
  EXPECT_EQ(handover.taken(), Layers{0});
  handover.store_done();
  EXPECT_EQ(handover.taken(), (Layers{0, 1}));
  EXPECT_EQ(handover.chunks(), "111000");  // nobody reads the last ofmap
  handover.finish();
  EXPECT_EQ(handover.taken(), (Layers{0, 1}));
}

TEST(OfmapHandover, AnOfmapThatIsReadBeforeItsLastStoreStaysUntilItIsHandedOver) {
  Program program = three_regions();
  add_store(program, 0);
  add_load(program, 3 * kChunk);
  add_loads_of_input(program);
  Handover handover(program);
  handover.load_done();
  EXPECT_EQ(handover.chunks(), "111111");
  handover.store_done();
  EXPECT_EQ(handover.taken(), Layers{0});
  EXPECT_EQ(handover.chunks(), "111001");
}

TEST(OfmapHandover, AChunkOfTwoOfmapsGoesWithTheLaterOne) {
  Program program = three_regions();
  program.layers[0].ofmap = bytes_at(3 * kChunk, 3 * kChunk / 2);
  program.layers[1].ofmap = bytes_at(9 * kChunk / 2, 3 * kChunk / 2);
  add_store(program, 1);
  add_store(program, 0);
  add_loads_of_input(program);
  Handover handover(program);
  handover.store_done();
  EXPECT_EQ(handover.taken(), Layers{1});
  EXPECT_EQ(handover.chunks(), "111110");
  handover.store_done();
  EXPECT_EQ(handover.chunks(), "111000");
}

TEST(OfmapHandover, AnOfmapThatNoStoreWritesIsHandedOverInTheEnd) {
  Program program = three_regions();
  add_store(program, 1);
  Handover handover(program);
  handover.store_done();
  EXPECT_EQ(handover.taken(), Layers{1});
  handover.finish();
  EXPECT_EQ(handover.taken(), (Layers{1, 0}));
}

TEST(OfmapHandover, AStoreOfNoLayerAndAnOfmapOutsideTheWritableAreaAreBugs) {
  for (const std::int32_t layer : {-1, 2}) {
    Program program = three_regions();
    add_store(program, layer);
    EXPECT_THROW(Handover{program}, InternalError) << layer;
  }
  Program program = three_regions();
  const Program good = program;
  program.layers[1].ofmap.address += 1;
  DramMemory dram(good, Tensor(DType::kInt8, {1, 1, 1, 3 * kChunk}));
  const TakeOfmap take = [](std::size_t, std::span<const std::byte>) {};
  EXPECT_THROW(OfmapHandover(program, dram, take), InternalError);
  program.layers[1].ofmap.address = -1;
  EXPECT_THROW(OfmapHandover(program, dram, take), InternalError);
}

}  // namespace
}  // namespace qsim
