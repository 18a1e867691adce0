// Plans of binary convolutions on a GPU: which kernel, and the numbers of its loops. No device
// code.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "core/base/checked_math.h"
#include "golden/kernels/binary/cuda/binary_cuda.h"
#include "golden/kernels/binary/cuda/conv_tables.h"
#include "golden/kernels/binary/cuda/raster_plan.h"

namespace qsim::golden {
namespace {

using cuda::BinaryConvArgs;
using cuda::BinaryTile;
using cuda::SharedPlaces;

constexpr std::int64_t kMostShared = 226 * 1024;  // dynamic, of a block on compute capability 9.0
constexpr std::int64_t kMostPixels = (std::int64_t{1} << 31) - cuda::kTileRows;
constexpr std::int64_t kExactBias = 1 << 22;  // what may be added to or taken from cuda::kBias
constexpr std::int32_t kMostStages = 4;

std::int64_t parts(std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; }

// Floats but NaN in ascending order, -0 before +0.
float float_at(std::int64_t place) {
  const auto bits = static_cast<std::uint32_t>(place < 0 ? -(place + 1) : place);
  const float size = std::bit_cast<float>(bits);
  return place < 0 ? -size : size;
}

// The least z whose bit is 1, where the bit is ReLU(z) + v > 0.5, rounded to float32 once. The bit
// does not fall as z grows, and is 1 for +infinity. NaN compares false and gives 0 either way.
float stage_threshold(float v, bool relu) {
  const FloatEnvironment environment;
  const auto bit = [&](float z) { return (relu && z < 0 ? 0.0F : z) + v > 0.5F; };
  const std::int64_t infinity =
      std::bit_cast<std::uint32_t>(std::numeric_limits<float>::infinity());
  std::int64_t low = -infinity - 1;
  std::int64_t high = infinity;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (bit(float_at(middle))) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return float_at(high);
}

class Planner {
 public:
  Planner(const BinaryConv& conv, const BinaryStage* stage, const ImageShape& input, int bases)
      : conv_(conv), stage_(stage), input_(input) {
    require_bits(input, bases);
    y_ = output_shape(conv, input, bases);
    plan_.output = stage == nullptr ? y_ : stage_shape(conv, *stage, input, bases);
    plan_.output_bases = stage == nullptr ? 0 : static_cast<int>(stage->v.size());
    if (stage != nullptr) require_bits(plan_.output, plan_.output_bases);
    words_ = bit_words(input.channels);
    require_size(bases);
    set_numbers(bases);
  }

  // The plan with the kernel for wgmma; none where the layer does not fit.
  std::optional<BinaryCudaPlan> hopper() const {
    const std::int64_t products = conv_.weights.shape.taps() * conv_.weights.shape.channels;
    if (5 * products >= kExactBias) return std::nullopt;
    for (const BinaryTile tile : rows_tiles()) {
      if (std::optional<BinaryCudaPlan> plan = rows(tile)) return plan;
    }
    for (const BinaryTile tile : hopper_tiles()) {
      BinaryCudaPlan plan = plan_;
      plan.path = BinaryCudaPath::kHopper;
      const cuda::WindowClasses classes = place(tile, plan);
      const cuda::BinaryTileShape shape = cuda::shape_of(tile);
      for (plan.args.stages = kMostStages; plan.args.stages >= 1; --plan.args.stages) {
        plan.shared_bytes = SharedPlaces::end(plan.args, shape);
        if (plan.shared_bytes > kMostShared) continue;
        plan.packed = make_tables(source(tile), classes, plan.args);
        return plan;
      }
    }
    return std::nullopt;
  }

  BinaryCudaPlan portable() const {
    BinaryCudaPlan plan = plan_;
    const cuda::WindowClasses classes = place(BinaryTile::kPortable, plan);
    const cuda::BinaryTileShape shape = cuda::shape_of(BinaryTile::kPortable);
    plan.shared_bytes =
        plan.args.has_pool != 0 ? shape.channels / 2 * cuda::kWarpgroupThreads * 4 : 0;
    plan.packed = make_tables(source(BinaryTile::kPortable), classes, plan.args);
    return plan;
  }

 private:
  // In the order of preference.
  std::vector<BinaryTile> hopper_tiles() const {
    const int m = conv_.weights.bases;
    if (m == 2) return {BinaryTile::kTwoBases};
    if (m == 3) return {BinaryTile::kThreeBases};
    if (m > 1 || conv_.weights.shape.out_channels <= 64) return {BinaryTile::kAnyBases};
    return {plan_.args.input_bases == 1 ? BinaryTile::kOneByOne : BinaryTile::kOneBase,
            BinaryTile::kAnyBases};
  }

  // With rows in shared memory; where strides and pools allow it, they are faster.
  std::vector<BinaryTile> rows_tiles() const {
    if (!cuda::has_raster(conv_.window, stage_)) return {};
    const int m = conv_.weights.bases;
    if (words_ == 1 && has_scaled_betas()) {
      if (m == 2) return {BinaryTile::kSignsTwo};
      return {m == 3 ? BinaryTile::kSignsThree : BinaryTile::kSignsAny};
    }
    if (m == 3) return {BinaryTile::kRowsThree};
    if (y_.channels <= 64) return {m == 2 ? BinaryTile::kRowsTwo : BinaryTile::kRowsAny};
    const bool one_by_one = m == 1 && plan_.args.input_bases == 1;
    return {one_by_one ? BinaryTile::kRowsOneByOne : BinaryTile::kRowsWide, BinaryTile::kRowsAny};
  }

  // Whether every beta is finite times kSignsScale too.
  bool has_scaled_betas() const {
    return std::all_of(conv_.beta.begin(), conv_.beta.end(), [](float beta) {
      return std::fabs(beta) <= std::numeric_limits<float>::max() / cuda::kSignsScale;
    });
  }

  // The plan with rows of the picture in shared memory; none where they do not fit.
  std::optional<BinaryCudaPlan> rows(BinaryTile tile) const {
    std::optional<cuda::RasterPlan> raster =
        cuda::plan_raster(conv_.window, input_, y_, has_signs(tile));
    if (!raster) return std::nullopt;
    BinaryCudaPlan plan = plan_;
    plan.path = BinaryCudaPath::kHopper;
    plan.args.raster = raster->args;
    plan.args.steps = raster->steps;
    if (has_signs(tile)) {
      const FloatEnvironment environment;
      for (float& beta : plan.args.beta) beta *= cuda::kSignsScale;
    }
    const cuda::WindowClasses classes = place(tile, plan);
    const std::optional<std::int64_t> bytes =
        cuda::share_raster(plan.args, multiprocessors(), kMostShared);
    if (!bytes) return std::nullopt;
    plan.shared_bytes = *bytes;
    cuda::TableSource tables = source(tile);
    tables.order = std::move(raster->order);
    plan.packed = make_tables(tables, classes, plan.args);
    return plan;
  }

  cuda::TableSource source(BinaryTile tile) const {
    return {conv_, stage_, input_, y_, tile, words_, {}};
  }

  cuda::WindowClasses place(BinaryTile tile, BinaryCudaPlan& plan) const {
    plan.tile = tile;
    plan.args.channel_blocks =
        static_cast<std::int32_t>(parts(y_.channels, cuda::shape_of(tile).channels));
    const cuda::WindowClasses classes = cuda::window_classes(conv_.window, input_, y_);
    place_tables(source(tile), classes, plan.args);
    return classes;
  }

  void require_size(int bases) const {
    const std::int64_t inputs = checked_mul(checked_mul(input_.batch, input_.height), input_.width);
    const std::int64_t outputs = plan_.output.batch * plan_.output.height * plan_.output.width;
    const std::int64_t bytes = checked_mul(input_.height * input_.width, bases * words_ * 8);
    if (inputs <= kMostPixels && outputs <= kMostPixels && bytes <= INT32_MAX) return;
    throw_bad_input("binary convolution on a GPU: the input has " + std::to_string(inputs) +
                    " pixels, the output " + std::to_string(outputs) + ", and an input picture " +
                    std::to_string(bytes) + " bytes; at most " + std::to_string(kMostPixels) +
                    " of each, and " + std::to_string(INT32_MAX) + " bytes");
  }

  void set_numbers(int bases) {
    const auto number = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
    BinaryConvArgs& a = plan_.args;
    const std::int64_t steps = parts(conv_.weights.shape.taps() * words_, cuda::kStepWords);
    a.stage_steps = number(parts(steps, parts(steps, cuda::kMostStageSteps)));
    a.steps = number(parts(steps, a.stage_steps) * a.stage_steps);
    a.weight_bases = conv_.weights.bases;
    a.input_bases = bases;
    a.height = number(input_.height);
    a.width = number(input_.width);
    a.base_bytes = number(words_ * 8);
    a.pixel_bytes = a.base_bytes * bases;
    a.has_pairs = words_ % 2 == 0 ? 1 : 0;
    a.stride_h = number(conv_.window.stride_h);
    a.stride_w = number(conv_.window.stride_w);
    a.pad_top = number(conv_.window.pad_top);
    a.pad_left = number(conv_.window.pad_left);
    a.output_height = static_cast<std::uint32_t>(plan_.output.height);
    a.output_width = static_cast<std::uint32_t>(plan_.output.width);
    a.output_rows =
        static_cast<std::uint32_t>(plan_.output.batch) * a.output_height * a.output_width;
    a.out_channels = number(y_.channels);
    a.output_bases = plan_.output_bases;
    a.output_base_bytes = number(bit_words(y_.channels) * 8);
    std::copy(conv_.beta.begin(), conv_.beta.end(), a.beta);
    if (stage_ == nullptr) return;
    std::transform(stage_->v.begin(), stage_->v.end(), a.thresholds,
                   [&](float v) { return stage_threshold(v, stage_->relu); });
    if (!stage_->pool) return;
    a.has_pool = 1;
    a.pool_size = number(stage_->pool->size);
    a.pool_stride = number(stage_->pool->stride);
  }

  const BinaryConv& conv_;
  const BinaryStage* stage_;
  ImageShape input_;
  ImageShape y_;
  BinaryCudaPlan plan_;     // what does not depend on the tile
  std::int64_t words_ = 0;  // of a base of a pixel
};

}  // namespace

std::string_view binary_cuda_path_name(BinaryCudaPath path) {
  constexpr std::string_view kNames[] = {"auto", "hopper", "portable"};
  return kNames[static_cast<std::size_t>(path)];
}

std::int64_t BinaryCudaPlan::output_bytes() const {
  const std::int64_t pixels = output.batch * output.height * output.width;
  if (output_bases == 0) return pixels * output.channels * static_cast<std::int64_t>(sizeof(float));
  return pixels * output_bases * bit_words(output.channels) * 8;
}

std::int32_t device_channels(const ImageShape& shape) {
  if (shape.channels > INT32_MAX) {
    throw_bad_input("bits on a GPU: " + std::to_string(shape.channels) + " channels; at most " +
                    std::to_string(INT32_MAX));
  }
  return static_cast<std::int32_t>(shape.channels);
}

void require_addresses(const BinaryCudaPlan& plan, const void* packed, const void* bits,
                       const void* output) {
  const auto require = [](const char* name, const void* address, std::uintptr_t unit) {
    if (reinterpret_cast<std::uintptr_t>(address) % unit == 0) return;
    throw_bad_input("binary convolution on a GPU: " + std::string(name) +
                    " is not at a multiple of " + std::to_string(unit) +
                    " bytes; copy it to memory that is");
  };
  require("packed", packed, 16);
  require("bits", bits, plan.args.has_pairs != 0 ? 16 : 8);
  require("the output", output, plan.output_bases == 0 ? 4 : 8);
}

BinaryCudaPlan plan_binary_conv(const BinaryConv& conv, const BinaryStage* stage,
                                const ImageShape& input, int input_bases, BinaryCudaPath path) {
  const Planner planner(conv, stage, input, input_bases);
  if (path == BinaryCudaPath::kHopper || (path == BinaryCudaPath::kAuto && has_wgmma())) {
    if (std::optional<BinaryCudaPlan> plan = planner.hopper()) return *std::move(plan);
  }
  if (path == BinaryCudaPath::kHopper) {
    throw_bad_input(
        "binary convolution on a GPU: path hopper does not take this layer; take path "
        "portable or auto");
  }
  return planner.portable();
}

}  // namespace qsim::golden
