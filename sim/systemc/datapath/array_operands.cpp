#include "sim/systemc/datapath/array_operands.h"

#include <algorithm>
#include <limits>

#include "sim/systemc/datapath/lane_layout.h"

namespace qsim::sim {
namespace {

constexpr std::uint32_t kBias = 0x80808080u;

std::uint32_t pad_lane(std::int32_t pad_value, OperandFormat format) {
  if (format == OperandFormat::kSignedPairs) {
    const auto half = static_cast<std::uint32_t>(pad_value) & 0xFFFFu;
    return half << 16 | half;
  }
  return ((static_cast<std::uint32_t>(pad_value) & 0xFFu) * 0x01010101u) ^ kBias;
}

std::size_t lane_channels(OperandFormat format) {
  return format == OperandFormat::kBiasedBytes ? 4 : 2;
}

// Columns [begin, end) of a window's row; column 0 lies at the command's origin_col.
struct Columns {
  std::int64_t begin;
  std::int64_t end;
};

std::int64_t window_width(const Execute& execute) {
  return std::int64_t{execute.out_cols - 1} * execute.stride_w + execute.kernel_w;
}

// From the first resident column to the last one that a kernel column reads: resident ones behind
// it, which the stride steps over, may lie outside the memory.
Columns columns_fetched(const Execute& execute) {
  const std::int64_t width = window_width(execute);
  const std::int64_t resident_end = std::int64_t{execute.in_cols} - execute.origin_col;
  const std::int64_t begin = std::clamp<std::int64_t>(-execute.origin_col, 0, width);
  const std::int64_t end = std::clamp<std::int64_t>(resident_end, 0, width);
  const std::int64_t stepped_over = (end - 1) % execute.stride_w + 1 - execute.kernel_w;
  return {begin, std::max(begin, end - std::max<std::int64_t>(stepped_over, 0))};
}

// The rows under a command's window, one channel plane at a time: every lane of every pixel that
// kernel columns can touch, padding included. Lanes that the stride steps over hold anything.
class WindowRows {
 public:
  WindowRows(const Execute& execute, std::size_t array_rows, OperandFormat format,
             const Scratchpads& scratchpads)
      : execute_(execute),
        array_rows_(array_rows),
        format_(format),
        steps_(array_rows / lane_channels(format)),
        width_(window_width(execute)),
        columns_(columns_fetched(execute)),
        pad_(pad_lane(execute.pad_value, format)),
        scratchpads_(scratchpads) {}

  std::int64_t width() const { return width_; }
  // The range of all words read so far; both are the same where none was read.
  std::int64_t first_word() const { return std::min(first_word_, end_word_); }
  std::int64_t end_word() const { return end_word_; }

  // Writes resident row `iy` (or padding, when it is not resident) of plane `plane`: step s of
  // window column t goes to lanes[s * pitch + t].
  void lay(std::int64_t plane, std::int64_t iy, std::size_t pitch, std::uint32_t* lanes) {
    Columns present = columns_;
    if (iy < 0 || iy >= execute_.in_rows) present = {width_, width_};
    for (std::size_t s = 0; s < steps_; ++s) {
      std::uint32_t* row = lanes + s * pitch;
      std::fill(row, row + present.begin, pad_);
      std::fill(row + present.end, row + width_, pad_);
    }
    const std::int64_t count = present.end - present.begin;
    if (count == 0) return;
    lay_words(word_of(plane, iy) + present.begin, count, pitch, lanes + present.begin);
  }

  // Whether rows [iy, iy + rows) are one run of words without padding.
  bool is_one_run(std::int64_t iy, std::int64_t rows) const {
    return iy >= 0 && iy + rows <= execute_.in_rows && columns_.begin == 0 &&
           columns_.end == width_ && execute_.act_row_words == width_;
  }
  // The same as lay() for all of them, one after the other.
  void lay_run(std::int64_t plane, std::int64_t iy, std::int64_t rows, std::size_t pitch,
               std::uint32_t* lanes) {
    lay_words(word_of(plane, iy), rows * width_, pitch, lanes);
  }

 private:
  // The word of window column 0.
  std::int64_t word_of(std::int64_t plane, std::int64_t iy) const {
    return execute_.act_addr + plane * execute_.act_plane_words + iy * execute_.act_row_words +
           execute_.origin_col;
  }

  void lay_words(std::int64_t word, std::int64_t count, std::size_t pitch, std::uint32_t* lanes) {
    first_word_ = std::min(first_word_, word);
    end_word_ = std::max(end_word_, word + count);
    lay_pixels(scratchpads_.activations(word, count).data(), static_cast<std::size_t>(count),
               array_rows_, format_, pitch, lanes);
  }

  const Execute& execute_;
  std::size_t array_rows_;
  OperandFormat format_;
  std::size_t steps_;
  std::int64_t width_;
  Columns columns_;
  std::uint32_t pad_;
  const Scratchpads& scratchpads_;
  std::int64_t first_word_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t end_word_ = 0;
};

// Where the re-laid activations lie: one copy of the window rows for each plane, kernel column, and
// phase of the vertical stride (rows phase, phase + stride_h, ...), so that for every fold
// consecutive pixels are consecutive lanes, across row ends too.
class WindowCopies {
 public:
  WindowCopies(const Execute& execute, std::size_t steps)
      : execute_(execute),
        phases_(std::min(execute.stride_h, execute.kernel_h)),
        step_pitch_(rows(0) * execute.out_cols + kLaneSlack),
        copy_pitch_(step_pitch_ * steps) {}

  std::size_t phases() const { return phases_; }
  // Rows that some kernel row of the phase slides over; phase 0 has the most.
  std::size_t rows(std::size_t phase) const {
    return execute_.out_rows + (execute_.kernel_h - 1 - phase) / execute_.stride_h;
  }
  std::size_t step_pitch() const { return step_pitch_; }
  std::size_t plane_pitch() const { return copy_pitch_ * phases_ * execute_.kernel_w; }
  std::size_t offset(std::size_t plane, std::size_t kx, std::size_t phase) const {
    return plane * plane_pitch() + (kx * phases_ + phase) * copy_pitch_;
  }
  // Appends the offset of pixel 0 in each fold of the plane.
  void append_fold_offsets(std::size_t plane, std::vector<std::size_t>& offsets) const {
    for (std::size_t ky = 0; ky < execute_.kernel_h; ++ky) {
      const std::size_t row = ky / execute_.stride_h;
      for (std::size_t kx = 0; kx < execute_.kernel_w; ++kx) {
        offsets.push_back(offset(plane, kx, ky % execute_.stride_h) + row * execute_.out_cols);
      }
    }
  }

 private:
  const Execute& execute_;
  std::size_t phases_;
  std::size_t step_pitch_;  // lanes
  std::size_t copy_pitch_;
};

// Every stride-th lane, `count` of them. May write up to kLaneSlack lanes more.
void copy_lanes(const std::uint32_t* from, std::size_t count, std::size_t stride,
                std::uint32_t* to) {
  if (stride == 1) {
    copy_lane_run(from, count, to);
    return;
  }
  for (std::size_t i = 0; i < count; ++i) to[i] = from[i * stride];
}

// Lays the rows of one phase of one plane in all their copies.
struct PhaseOfPlane {
  const Execute& execute;
  const WindowCopies& copies;
  std::uint32_t* lanes;
  std::size_t steps;

  // For a kernel of one column: window rows are laid where the kernel reads them.
  void lay_once(std::size_t plane, std::size_t phase, WindowRows& window) const {
    const auto iy = static_cast<std::int64_t>(phase) + execute.origin_row;
    const auto rows = static_cast<std::int64_t>(copies.rows(phase));
    std::uint32_t* to = lanes + copies.offset(plane, 0, phase);
    if (execute.stride_h == 1 && window.is_one_run(iy, rows)) {
      window.lay_run(static_cast<std::int64_t>(plane), iy, rows, copies.step_pitch(), to);
      return;
    }
    for (std::int64_t row = 0; row < rows; ++row, to += execute.out_cols) {
      window.lay(static_cast<std::int64_t>(plane), iy + row * execute.stride_h, copies.step_pitch(),
                 to);
    }
  }

  // For any kernel: each window row is laid in `buffer`, then copied for each kernel column.
  void lay_copies(std::size_t plane, std::size_t phase, WindowRows& window,
                  LaneBuffer& buffer) const {
    const std::size_t row_pitch = static_cast<std::size_t>(window.width()) + kLaneSlack;
    std::uint32_t* row_lanes = buffer.reserve(row_pitch * steps);
    for (std::size_t row = 0; row < copies.rows(phase); ++row) {
      window.lay(static_cast<std::int64_t>(plane),
                 static_cast<std::int64_t>(row * execute.stride_h + phase) + execute.origin_row,
                 row_pitch, row_lanes);
      for (std::size_t kx = 0; kx < execute.kernel_w; ++kx) {
        std::uint32_t* to = lanes + copies.offset(plane, kx, phase) + row * execute.out_cols;
        for (std::size_t s = 0; s < steps; ++s) {
          copy_lanes(row_lanes + s * row_pitch + kx, execute.out_cols, execute.stride_w,
                     to + s * copies.step_pitch());
        }
      }
    }
  }
};

}  // namespace

LaneView ArrayOperands::prepare(const Execute& execute, std::uint32_t block, const ArchConfig& arch,
                                OperandFormat format, Scratchpads& scratchpads) {
  view_.folds = std::size_t{execute.planes} * execute.kernel_h * execute.kernel_w;
  view_.steps = static_cast<std::size_t>(arch.array_rows) / lane_channels(format);
  view_.columns = static_cast<std::size_t>(arch.array_cols);
  view_.pixels = std::size_t{execute.out_rows} * execute.out_cols;
  view_.accumulate = execute.accumulate != 0;
  const auto pixels = static_cast<std::int64_t>(view_.pixels);
  view_.psums =
      scratchpads.psums(execute.acc_half, execute.acc_addr + block * pixels, pixels).data();
  const LaidActivations& laid = activations(execute, arch, format, scratchpads);
  view_.activations = laid.lanes.data();
  view_.fold_offsets = laid.fold_offsets.data();
  view_.step_pitch = laid.step_pitch;
  lay_weights(execute, block, arch, format, scratchpads);
  return view_;
}

const LaidActivations& ArrayOperands::activations(const Execute& execute, const ArchConfig& arch,
                                                  OperandFormat format, Scratchpads& scratchpads) {
  LaidActivationsCache& cache = scratchpads.laid_activations();
  const Execute reading = reading_of(execute);
  if (const LaidActivations* laid = cache.find(reading)) return *laid;
  LaidActivations& laid = cache.begin(reading);
  lay_activations(execute, arch, format, scratchpads, laid);
  laid.valid = true;
  return laid;
}

void ArrayOperands::lay_activations(const Execute& execute, const ArchConfig& arch,
                                    OperandFormat format, Scratchpads& scratchpads,
                                    LaidActivations& laid) {
  WindowRows window(execute, static_cast<std::size_t>(arch.array_rows), format, scratchpads);
  const WindowCopies copies(execute, view_.steps);
  std::uint32_t* lanes = laid.lanes.reserve(copies.plane_pitch() * execute.planes);
  const PhaseOfPlane laying{execute, copies, lanes, view_.steps};
  const bool copies_once = execute.kernel_w == 1 && execute.stride_w == 1;
  for (std::size_t p = 0; p < execute.planes; ++p) {
    copies.append_fold_offsets(p, laid.fold_offsets);
    for (std::size_t phase = 0; phase < copies.phases(); ++phase) {
      if (copies_once) {
        laying.lay_once(p, phase, window);
      } else {
        laying.lay_copies(p, phase, window, window_row_);
      }
    }
  }
  laid.step_pitch = copies.step_pitch();
  laid.first_word = window.first_word();
  laid.end_word = window.end_word();
}

void ArrayOperands::lay_weights(const Execute& execute, std::uint32_t block, const ArchConfig& arch,
                                OperandFormat format, Scratchpads& scratchpads) {
  const std::size_t steps = view_.folds * view_.steps;
  const std::int64_t words =
      static_cast<std::int64_t>(view_.folds) * execute.blocks * arch.fold_words();
  const std::int8_t* weights = scratchpads.weights(execute.weight_addr, words).data();
  std::uint32_t* lanes = weights_.reserve(steps * view_.columns);
  std::uint32_t* corrections = corrections_.reserve(view_.columns);
  std::fill(corrections, corrections + view_.columns, 0u);
  if (execute.dataflow == static_cast<std::uint32_t>(Dataflow::kInputStationary)) {
    const auto rows = static_cast<std::size_t>(arch.array_rows);
    for (std::size_t f = 0; f < view_.folds; ++f) {
      lay_channels(weights + (f * execute.blocks + block) * rows * view_.columns, view_.columns,
                   rows, format, lanes + f * view_.steps * view_.columns);
    }
  } else if (format == OperandFormat::kBiasedBytes) {
    lay_weight_quads(weights, steps, view_.columns, lanes);
  } else {
    lay_weight_pairs(weights, steps, view_.columns, lanes);
  }
  if (format == OperandFormat::kBiasedBytes && view_.pixels > kFewPixels) {
    sub_weight_sums(lanes, steps, view_.columns, corrections);
  }
  view_.weights = lanes;
  view_.corrections = corrections;
}

}  // namespace qsim::sim
