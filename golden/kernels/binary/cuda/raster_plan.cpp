#include "golden/kernels/binary/cuda/raster_plan.h"

#include <algorithm>

namespace qsim::golden::cuda {
namespace {

constexpr std::int64_t kMostUnits = 1 << 14;  // that an operand's descriptor counts
constexpr std::int64_t kMostPlaces = std::int64_t{1} << 30;

std::int64_t parts(std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; }

// A half of a step: two words of a tap, or with one word a pixel those of two taps.
struct Half {
  std::int64_t unit;
  std::int64_t place;  // from the window's first pixel
  std::int64_t words[2];
};

std::vector<Half> halves_of(const Window& w, std::int64_t words, const RasterArgs& args) {
  std::vector<Half> halves;
  for (std::int64_t unit = 0; unit < args.units; ++unit) {
    for (std::int64_t ky = 0; ky < w.kernel_h; ++ky) {
      for (std::int64_t kx = 0; kx < w.kernel_w; kx += args.pair != 0 ? 2 : 1) {
        const std::int64_t tap = ky * w.kernel_w + kx;
        Half half{unit, ky * args.tap_row + kx * args.tap_column, {tap * words + 2 * unit, -1}};
        if (args.signs != 0) {
          half.words[1] = half.words[0];
          half.words[0] |= kOpposite;
        } else if (args.pair != 0) {
          if (kx + 1 < w.kernel_w) half.words[1] = tap + 1;
        } else if (2 * unit + 1 < words) {
          half.words[1] = half.words[0] + 1;
        }
        halves.push_back(half);
      }
    }
  }
  return halves;
}

// Where the halves of each step are; `places` of each half are in ascending order.
void place_steps(RasterArgs& args, std::int32_t steps) {
  const std::int64_t row_taps = args.pair != 0 ? parts(args.kernel_w, 2) : args.kernel_w;
  const std::int64_t row_step = args.pair != 0 ? 2 : 1;
  const std::int64_t of_unit = row_taps * args.kernel_h;
  const std::int64_t halves = of_unit * args.units;
  const auto at = [&](std::int64_t half) {
    const std::int64_t tap = half % of_unit;
    return half / of_unit * args.buffer_pixels + tap / row_taps * args.tap_row +
           tap % row_taps * row_step * args.tap_column;
  };
  for (std::int32_t step = 0; step < steps; ++step) {
    const std::int64_t first = at(2 * std::int64_t{step});
    const std::int64_t second =
        2 * std::int64_t{step} + 1 < halves ? at(2 * std::int64_t{step} + 1) : first;
    args.step_at[step] = static_cast<std::uint32_t>(first | (second - first) << 16);
  }
}

std::int64_t round128(std::int64_t bytes) { return (bytes + 127) / 128 * 128; }

// Places what a block of threads has in shared memory; returns its bytes.
std::int64_t place_in_shared(BinaryConvArgs& args) {
  RasterArgs& a = args.raster;
  std::int64_t at = kRasterBarriers + args.block_bytes;
  const auto add = [&](std::int32_t& place, std::int64_t bytes) {
    at = round128(at);
    place = static_cast<std::int32_t>(std::min<std::int64_t>(at, INT32_MAX));
    at += bytes;
  };
  const std::int64_t places = std::int64_t{a.buffers} * a.buffer_pixels;
  add(a.at_common, args.common_bytes);
  add(a.at_infos, places * 8);
  add(a.at_counts, places * args.input_bases * 4);
  add(a.at_ones, places * args.input_bases * 4);
  add(a.at_planes, places * args.input_bases * a.units * kUnitBytes);
  // compute-sanitizer takes an operand of two halves as one run of bytes, which is a half longer.
  return at + kTileRows * kUnitBytes;
}

}  // namespace

bool has_raster(const Window& window, const BinaryStage* stage) {
  return window.stride_h == 1 && window.stride_w == 1 && (stage == nullptr || !stage->pool);
}

std::optional<RasterPlan> plan_raster(const Window& w, const ImageShape& input, const ImageShape& y,
                                      bool signs) {
  const std::int64_t words = bit_words(input.channels);
  const std::int64_t pitch = std::max(input.width + std::max(w.pad_left, w.pad_right), y.width);
  const std::int64_t rows = std::max(input.height + std::max(w.pad_top, w.pad_bottom), y.height);
  const std::int64_t halo =
      (w.kernel_h - 1) * w.dilation_h * pitch + (w.kernel_w - 1) * w.dilation_w;
  if (pitch > kMostUnits || halo >= kMostUnits) return std::nullopt;
  if (rows > kMostPlaces / pitch / input.batch) return std::nullopt;
  RasterPlan plan;
  RasterArgs& a = plan.args;
  const auto number = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  a.pitch = FastDivisor(number(pitch));
  a.picture_rows = FastDivisor(number(rows));
  a.end = static_cast<std::uint32_t>(((input.batch - 1) * rows + y.height - 1) * pitch + y.width);
  a.halo = number(halo);
  a.units = number(parts(words, 2));
  a.pair = words == 1 && !signs ? number(w.dilation_w) : 0;
  if (signs) a.signs = ~std::uint64_t{0} >> (64 - input.channels);
  a.batch = number(input.batch);
  a.kernel_h = number(w.kernel_h);
  a.kernel_w = number(w.kernel_w);
  a.tap_row = number(w.dilation_h * pitch);
  a.tap_column = number(w.dilation_w);
  const std::vector<Half> halves = halves_of(w, words, a);
  const std::int64_t steps = parts(static_cast<std::int64_t>(halves.size()), 2);
  if (steps > kMostRasterSteps) return std::nullopt;
  plan.steps = number(steps);
  plan.order.assign(static_cast<std::size_t>(steps * kStepWords), -1);
  for (std::size_t half = 0; half < halves.size(); ++half) {
    plan.order[2 * half] = halves[half].words[0];
    plan.order[2 * half + 1] = halves[half].words[1];
  }
  return plan;
}

std::optional<std::int64_t> share_raster(BinaryConvArgs& args, int multiprocessors,
                                         std::int64_t most_shared) {
  RasterArgs& a = args.raster;
  const std::int64_t tiles = parts(a.end, kTileRows);
  const std::int64_t most = std::max(1, multiprocessors / args.channel_blocks);
  a.workers = static_cast<std::int32_t>(std::min(most, tiles));
  a.range = static_cast<std::uint32_t>(parts(a.end, a.workers));
  const std::int64_t own = parts(a.range, kTileRows);
  for (std::int64_t segment = own; segment >= 1; --segment) {
    a.segment_tiles = static_cast<std::int32_t>(segment);
    a.buffers = segment == own ? 1 : 2;
    const std::int64_t pixels = parts(segment * kTileRows + a.halo, 8) * 8;
    if (pixels * a.units >= kMostUnits) continue;
    a.buffer_pixels = static_cast<std::int32_t>(pixels);
    a.piece_shift = 7;
    while (pixels > std::int64_t{kMostPieces} << a.piece_shift) ++a.piece_shift;
    const std::int64_t bytes = place_in_shared(args);
    if (bytes > most_shared) continue;
    place_steps(a, args.steps);
    return bytes;
  }
  return std::nullopt;
}

}  // namespace qsim::golden::cuda
