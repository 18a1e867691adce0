#include "core/machine/energy_events.h"

#include <algorithm>
#include <bit>

#include "core/machine/dram_channel.h"

namespace qsim {
namespace {

constexpr std::uint64_t kBits = 8;       // of a byte
constexpr std::uint64_t kPsumBits = 32;  // of a psum that stays in its PE
constexpr std::uint64_t kPassed = 2;     // registers of a PE that a moving weight passes

// The array's sizes, unsigned.
struct Array {
  std::uint64_t rows;
  std::uint64_t cols;

  explicit Array(const ArchConfig& arch)
      : rows(static_cast<std::uint64_t>(arch.array_rows)),
        cols(static_cast<std::uint64_t>(arch.array_cols)) {}
  std::uint64_t fold_words() const { return std::min(rows, cols); }
  std::uint64_t weight_word() const { return std::max(rows, cols); }
  // The bits of a psum on its way through `rows` PEs: |sum| <= rows * 2^14.
  std::uint64_t psum_bits() const {
    return 16 + static_cast<std::uint64_t>(std::bit_width(rows - 1));
  }
};

MemoryEvents reads_of(std::uint64_t words, std::uint64_t word_bytes) {
  return {words, 0, words * word_bytes * kBits, 0};
}

MemoryEvents writes_of(std::uint64_t words, std::uint64_t word_bytes) {
  return {0, words, 0, words * word_bytes * kBits};
}

// How many o in [0, out) have 0 <= o * stride + first < in.
std::uint64_t inside(std::int64_t out, std::int64_t stride, std::int64_t first, std::int64_t in) {
  if (stride == 0) return first >= 0 && first < in ? static_cast<std::uint64_t>(out) : 0;
  const auto up = [stride](std::int64_t n) { return n <= 0 ? 0 : (n + stride - 1) / stride; };
  const std::int64_t begin = std::min(out, up(-first));
  const std::int64_t end = std::min(out, up(in - first));
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, end - begin));
}

// The sum of inside() over the positions of a window's side.
std::uint64_t inside_window(std::int64_t out, std::int64_t stride, std::int64_t origin,
                            std::int64_t in, std::int64_t window) {
  std::uint64_t sum = 0;
  for (std::int64_t k = 0; k < window; ++k) sum += inside(out, stride, k + origin, in);
  return sum;
}

std::uint64_t triangle(std::uint64_t n) { return n * (n + 1) / 2; }

// The sizes of an EXECUTE.
struct Work {
  Dataflow dataflow;
  std::uint64_t folds;
  std::uint64_t pixels;
  std::uint64_t blocks;
  std::uint64_t groups = 1;

  Work(const Execute& execute, const Array& array)
      : dataflow(static_cast<Dataflow>(execute.dataflow)),
        folds(std::uint64_t{execute.planes} * execute.kernel_h * execute.kernel_w),
        pixels(std::uint64_t{execute.out_rows} * execute.out_cols),
        blocks(execute.blocks) {
    if (dataflow == Dataflow::kOutputStationary) groups = (pixels + array.rows - 1) / array.rows;
    if (dataflow == Dataflow::kInputStationary) groups = (pixels + array.cols - 1) / array.cols;
  }
};

// Registers that the psums of all groups leave through: R - r of a pixel in row r.
std::uint64_t leaving(const Work& work, const Array& array) {
  const std::uint64_t whole = work.pixels / array.rows;
  const std::uint64_t rest = array.rows - work.pixels % array.rows;  // rows without a pixel
  return whole * triangle(array.rows) + triangle(array.rows) - triangle(rest);
}

void add_hops(EnergyEvents& events, const Work& work, const Array& array) {
  const std::uint64_t rows = array.rows;
  const std::uint64_t cols = array.cols;
  const std::uint64_t through = work.folds * work.pixels * rows * cols;
  const std::uint64_t entering = triangle(rows) + rows;  // registers of a column
  switch (work.dataflow) {
    case Dataflow::kWeightStationary:
      events.activation_hop_bits = kBits * through;
      events.weight_hop_bits = kBits * work.folds * cols * entering;
      events.psum_hop_bits = array.psum_bits() * through;
      break;
    case Dataflow::kOutputStationary:
      events.activation_hop_bits = kBits * through;
      events.weight_hop_bits = kPassed * kBits * work.groups * work.folds * rows * cols * rows;
      events.psum_hop_bits = kPsumBits * (through + cols * leaving(work, array));
      break;
    case Dataflow::kInputStationary:
      events.activation_hop_bits = kBits * work.folds * work.pixels * entering;
      events.weight_hop_bits = kBits * work.groups * work.folds * work.blocks * cols * rows * cols;
      events.psum_hop_bits = array.psum_bits() * work.blocks * through;
      break;
  }
}

}  // namespace

MemoryEvents& MemoryEvents::operator+=(const MemoryEvents& other) {
  reads += other.reads;
  writes += other.writes;
  read_bits += other.read_bits;
  write_bits += other.write_bits;
  return *this;
}

EnergyEvents& EnergyEvents::operator+=(const EnergyEvents& other) {
  useful_macs += other.useful_macs;
  pe_macs += other.pe_macs;
  activation_hop_bits += other.activation_hop_bits;
  psum_hop_bits += other.psum_hop_bits;
  weight_hop_bits += other.weight_hop_bits;
  adds += other.adds;
  activation += other.activation;
  weight += other.weight;
  accumulator += other.accumulator;
  output += other.output;
  parameter += other.parameter;
  dram_read_bits += other.dram_read_bits;
  dram_write_bits += other.dram_write_bits;
  return *this;
}

EnergyEvents events_of(const Load& load, const ArchConfig& arch) {
  const Array array(arch);
  const std::uint64_t bytes = dram_transfer(load, arch).bytes;
  EnergyEvents events;
  events.dram_read_bits = bytes * kBits;
  switch (static_cast<LoadMemory>(load.memory)) {
    case LoadMemory::kActivation:
      events.activation = writes_of(bytes / array.rows, array.rows);
      break;
    case LoadMemory::kWeight:
      events.weight = writes_of(bytes / array.weight_word(), array.weight_word());
      break;
    case LoadMemory::kParameter:
      events.parameter = writes_of(1, bytes);
      break;
    case LoadMemory::kTable:
      events.parameter = writes_of(array.cols, bytes);
      break;
  }
  return events;
}

EnergyEvents events_of(const Execute& execute, const ArchConfig& arch) {
  const Array array(arch);
  const Work work(execute, array);
  const bool once = work.dataflow == Dataflow::kOutputStationary;
  const std::uint64_t psums = work.blocks * work.pixels;
  const std::uint64_t updates = once ? psums : work.folds * psums;
  const std::uint64_t added =
      execute.accumulate != 0 ? updates : updates - std::min(updates, psums);
  const std::uint64_t pixels_inside =
      inside_window(execute.out_rows, execute.stride_h, execute.origin_row, execute.in_rows,
                    execute.kernel_h) *
      inside_window(execute.out_cols, execute.stride_w, execute.origin_col, execute.in_cols,
                    execute.kernel_w);
  EnergyEvents events;
  events.pe_macs = work.folds * psums * array.rows * array.cols;
  events.activation = reads_of(execute.planes * pixels_inside, array.rows);
  events.weight =
      reads_of(work.groups * work.folds * work.blocks * array.fold_words(), array.weight_word());
  events.accumulator = reads_of(added, 4 * array.cols);
  events.accumulator += writes_of(updates, 4 * array.cols);
  events.adds = added * array.cols;
  add_hops(events, work, array);
  return events;
}

EnergyEvents events_of(const Post& post, const ArchConfig& arch) {
  const Array array(arch);
  const std::uint64_t words = std::uint64_t{post.out_rows} * post.out_cols;
  const std::uint64_t positions =
      inside_window(post.out_rows, post.pool_stride_h, post.origin_row, post.in_rows, post.pool_h) *
      inside_window(post.out_cols, post.pool_stride_w, post.origin_col, post.in_cols, post.pool_w);
  const std::uint64_t psums = positions * (1 + post.add);
  EnergyEvents events;
  events.accumulator = reads_of(psums, 4 * array.cols);
  events.adds = psums * array.cols;
  events.parameter = reads_of(1, static_cast<std::uint64_t>(arch.param_block_bytes()));
  if (post.lookup != 0) {
    const std::uint64_t levels = words * post.pool_h * post.pool_w * array.cols;
    events.parameter += reads_of(levels, static_cast<std::uint64_t>(arch.bus_bytes));
  }
  events.output = writes_of(words, array.cols);
  return events;
}

EnergyEvents events_of(const Store& store, const ArchConfig& arch) {
  const Array array(arch);
  const std::uint64_t bytes = dram_transfer(store, arch).bytes;
  EnergyEvents events;
  events.output = reads_of(bytes / array.cols, array.cols);
  events.dram_write_bits = bytes * kBits;
  return events;
}

}  // namespace qsim
