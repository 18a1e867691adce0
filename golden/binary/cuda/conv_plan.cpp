// Plans of binary convolutions on a GPU: the tile, and the tables in the order in which kernels
// read them. No device code.
#include <algorithm>
#include <bit>
#include <cstring>

#include "core/checked_math.h"
#include "golden/binary/cuda/binary_cuda.h"

namespace qsim::golden {
namespace {

using cuda::BinaryConvArgs;
using cuda::BinaryTile;
using cuda::kBarrierBytes;
using cuda::kGroupSteps;
using cuda::kStepBytes;
using cuda::kStepWords;

constexpr std::int64_t kMostShared = 226 * 1024;  // dynamic, of a block on compute capability 9.0
constexpr std::int64_t kMostPixels = (std::int64_t{1} << 31) - cuda::kTileRows;
constexpr std::int64_t kExactFloats = 1 << 24;

std::int64_t parts(std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; }

// Bytes appended one table after the other, each aligned to 16.
class Tables {
 public:
  template <typename T>
  std::uint64_t add(const std::vector<T>& values) {
    const std::size_t at = (bytes_.size() + 15) / 16 * 16;
    bytes_.resize(at + values.size() * sizeof(T));
    std::memcpy(bytes_.data() + at, values.data(), values.size() * sizeof(T));
    return at;
  }
  std::vector<std::uint8_t> take() { return std::move(bytes_); }

 private:
  std::vector<std::uint8_t> bytes_;
};

// The taps of one axis that are inside the picture, by output position; equal sets share a class.
struct AxisClasses {
  std::vector<std::int32_t> of;           // [positions]
  std::vector<std::vector<bool>> inside;  // [classes][kernel]
};

AxisClasses classes_of(std::int64_t positions, std::int64_t size, std::int64_t kernel,
                       std::int64_t stride, std::int64_t dilation, std::int64_t pad) {
  AxisClasses classes;
  for (std::int64_t p = 0; p < positions; ++p) {
    std::vector<bool> inside;
    for (std::int64_t k = 0; k < kernel; ++k) {
      const std::int64_t at = p * stride + k * dilation - pad;
      inside.push_back(at >= 0 && at < size);
    }
    const auto found = std::find(classes.inside.begin(), classes.inside.end(), inside);
    classes.of.push_back(static_cast<std::int32_t>(found - classes.inside.begin()));
    if (found == classes.inside.end()) classes.inside.push_back(inside);
  }
  return classes;
}

class Planner {
 public:
  Planner(const BinaryConv& conv, const BinaryStage* stage, const ImageShape& input, int bases)
      : conv_(conv), stage_(stage), input_(input), bases_(bases) {
    y_ = output_shape(conv, input, bases);
    plan_.output = stage == nullptr ? y_ : stage_shape(conv, *stage, input, bases);
    plan_.output_bases = stage == nullptr ? 0 : static_cast<int>(stage->v.size());
    require_bits(input, bases);
    if (stage != nullptr) require_bits(plan_.output, plan_.output_bases);
    words_ = bit_words(input.channels);
    groups_ = parts(parts(conv.weights.shape.taps() * words_, kStepWords), kGroupSteps);
    require_size();
  }

  BinaryCudaPlan make(BinaryTile tile) {
    plan_.tile = tile;
    plan_.path =
        tile == BinaryTile::kPortable ? BinaryCudaPath::kPortable : BinaryCudaPath::kHopper;
    shape_ = cuda::shape_of(tile);
    blocks_ = parts(conv_.weights.shape.out_channels, shape_.channels);
    padded_ = blocks_ * shape_.channels;
    set_numbers();
    add_tables();
    plan_.shared_bytes = shared_bytes(tile);
    return std::move(plan_);
  }

  bool fits(BinaryTile tile) const {
    const std::int64_t products = conv_.weights.shape.taps() * conv_.weights.shape.channels;
    return 4 * products <= kExactFloats && shared_bytes(tile) <= kMostShared;
  }

  // The kernel of wgmma for this layer; whether it fits is asked after.
  BinaryTile hopper_tile() const {
    const int m = conv_.weights.bases;
    if (m == 2) return BinaryTile::kTwoBases;
    if (m == 3) return BinaryTile::kThreeBases;
    if (m > 1 || conv_.weights.shape.out_channels <= 64) return BinaryTile::kAnyBases;
    const BinaryTile wide = bases_ == 1 ? BinaryTile::kOneByOne : BinaryTile::kOneBase;
    return fits(wide) ? wide : BinaryTile::kAnyBases;
  }

 private:
  void require_size() const {
    const std::int64_t inputs = checked_mul(checked_mul(input_.batch, input_.height), input_.width);
    const std::int64_t outputs = plan_.output.batch * plan_.output.height * plan_.output.width;
    const std::int64_t bytes = checked_mul(input_.height * input_.width, bases_ * words_ * 8);
    if (inputs <= kMostPixels && outputs <= kMostPixels && bytes <= INT32_MAX) return;
    throw_bad_input("binary convolution on a GPU: the input has " + std::to_string(inputs) +
                    " pixels, the output " + std::to_string(outputs) + ", and an input picture " +
                    std::to_string(bytes) + " bytes; at most " + std::to_string(kMostPixels) +
                    " of each, and " + std::to_string(INT32_MAX) + " bytes");
  }

  std::int64_t block_bytes(const cuda::BinaryTileShape& shape) const {
    return conv_.weights.bases * groups_ * kGroupSteps * shape.channels * kStepBytes;
  }

  std::int64_t shared_bytes(BinaryTile tile) const {
    const cuda::BinaryTileShape shape = cuda::shape_of(tile);
    const bool pools = stage_ != nullptr && stage_->pool.has_value();
    const std::int64_t kept = pools ? shape.channels / 2 * shape.warpgroups * 128 * 4 : 0;
    return kept + (tile == BinaryTile::kPortable ? 0 : kBarrierBytes + block_bytes(shape));
  }

  void set_numbers() {
    BinaryConvArgs& a = plan_.args;
    a.block_bytes = block_bytes(shape_);
    a.channel_blocks = static_cast<std::int32_t>(blocks_);
    a.padded_channels = static_cast<std::int32_t>(padded_);
    a.groups = static_cast<std::int32_t>(groups_);
    a.weight_bases = conv_.weights.bases;
    a.input_bases = bases_;
    a.height = static_cast<std::int32_t>(input_.height);
    a.width = static_cast<std::int32_t>(input_.width);
    a.base_bytes = static_cast<std::int32_t>(words_ * 8);
    a.pixel_bytes = a.base_bytes * bases_;
    a.stride_h = static_cast<std::int32_t>(conv_.window.stride_h);
    a.stride_w = static_cast<std::int32_t>(conv_.window.stride_w);
    a.pad_top = static_cast<std::int32_t>(conv_.window.pad_top);
    a.pad_left = static_cast<std::int32_t>(conv_.window.pad_left);
    a.output_height = static_cast<std::uint32_t>(plan_.output.height);
    a.output_width = static_cast<std::uint32_t>(plan_.output.width);
    a.output_rows =
        static_cast<std::uint32_t>(plan_.output.batch) * a.output_height * a.output_width;
    a.out_channels = static_cast<std::int32_t>(y_.channels);
    a.output_bases = plan_.output_bases;
    a.output_base_bytes = static_cast<std::int32_t>(bit_words(y_.channels) * 8);
    std::copy(conv_.beta.begin(), conv_.beta.end(), a.beta);
    if (stage_ == nullptr) return;
    std::copy(stage_->v.begin(), stage_->v.end(), a.v);
    a.relu = stage_->relu ? 1 : 0;
    if (!stage_->pool) return;
    a.has_pool = 1;
    a.pool_size = static_cast<std::int32_t>(stage_->pool->size);
    a.pool_stride = static_cast<std::int32_t>(stage_->pool->stride);
  }

  void add_tables() {
    const Window& w = conv_.window;
    AxisClasses rows =
        classes_of(y_.height, input_.height, w.kernel_h, w.stride_h, w.dilation_h, w.pad_top);
    const AxisClasses columns =
        classes_of(y_.width, input_.width, w.kernel_w, w.stride_w, w.dilation_w, w.pad_left);
    for (std::int32_t& row : rows.of) row *= static_cast<std::int32_t>(columns.inside.size());
    Tables tables;
    BinaryConvArgs& a = plan_.args;
    a.weights = tables.add(packed_weights());
    a.offsets = tables.add(offsets());
    a.masks = tables.add(masks(rows, columns));
    a.rows = tables.add(rows.of);
    a.columns = tables.add(columns.of);
    const std::vector<std::int32_t> inside = inside_sums(rows, columns);
    a.inside = plan_.path == BinaryCudaPath::kPortable
                   ? tables.add(inside)
                   : tables.add(std::vector<float>(inside.begin(), inside.end()));
    a.alpha = tables.add(padded(conv_.weights.alpha, conv_.weights.bases));
    a.bias = tables.add(padded(conv_.bias, 1));
    if (stage_ != nullptr) {
      a.gain = tables.add(padded(stage_->gain, 1));
      a.shift = tables.add(padded(stage_->shift, 1));
    }
    plan_.packed = tables.take();
  }

  // [channel block][chunk][step][columns][32 bytes]. Column base_in_chunk * channels + 8 * t + 2 *
  // q
  // + e is channel channels / 4 * q + 2 * t + e of the block, so that a lane has channels in a row.
  // The portable kernel reads the 4 words of a step as they are. wgmma reads their low halves, then
  // their high halves, in groups of 8 columns.
  std::vector<std::uint8_t> packed_weights() const {
    const BinaryWeights& weights = conv_.weights;
    const std::int64_t steps = groups_ * kGroupSteps;
    std::vector<std::uint8_t> packed(static_cast<std::size_t>(blocks_ * block_bytes(shape_)));
    for (std::int64_t channel = 0; channel < weights.shape.out_channels; ++channel) {
      const std::int64_t block = channel / shape_.channels;
      const std::int64_t in_block = channel % shape_.channels;
      const std::int64_t run = shape_.channels / 4;
      const std::int64_t column = 8 * (in_block % run / 2) + 2 * (in_block / run) + in_block % 2;
      for (int base = 0; base < weights.bases; ++base) {
        const std::uint64_t* words = weights.tap(channel, base, 0);
        const std::int64_t chunk = block * (weights.bases / shape_.chunk) + base / shape_.chunk;
        const std::int64_t place = base % shape_.chunk * shape_.channels + column;
        for (std::int64_t kw = 0; kw < weights.shape.taps() * words_; ++kw) {
          const std::int64_t step = chunk * steps + kw / kStepWords;
          put_word(packed.data() + step * shape_.columns() * kStepBytes, place, kw % kStepWords,
                   words[kw]);
        }
      }
    }
    return packed;
  }

  void put_word(std::uint8_t* step, std::int64_t column, std::int64_t q, std::uint64_t word) const {
    if (plan_.path == BinaryCudaPath::kPortable) {
      std::memcpy(step + column * kStepBytes + 8 * q, &word, 8);
      return;
    }
    const auto low = static_cast<std::uint32_t>(word);
    const auto high = static_cast<std::uint32_t>(word >> 32);
    std::memcpy(step + 16 * column + 4 * q, &low, 4);
    std::memcpy(step + 16 * (shape_.columns() + column) + 4 * q, &high, 4);
  }

  // A function of the word `kw` along K, for all words of all groups.
  template <typename Function>
  void for_each_word(const Function& function) const {
    for (std::int64_t kw = 0; kw < conv_.weights.shape.taps() * words_; ++kw) function(kw);
  }

  std::vector<std::int32_t> offsets() const {
    std::vector<std::int32_t> offsets(static_cast<std::size_t>(groups_ * kStepWords * 4));
    const Window& w = conv_.window;
    for_each_word([&](std::int64_t kw) {
      const std::int64_t tap = kw / words_;
      const std::int64_t pixel =
          tap / w.kernel_w * w.dilation_h * input_.width + tap % w.kernel_w * w.dilation_w;
      const std::int64_t step = kw / kStepWords;
      const std::int64_t at =
          (step / kGroupSteps * kStepWords + kw % kStepWords) * 4 + step % kGroupSteps;
      // A tap below or right of the picture may be far away; its word is never read.
      offsets[static_cast<std::size_t>(at)] =
          static_cast<std::int32_t>(pixel * bases_ * words_ * 8 + kw % words_ * 8);
    });
    return offsets;
  }

  std::vector<std::uint32_t> masks(const AxisClasses& rows, const AxisClasses& columns) const {
    std::vector<std::uint32_t> masks;
    for (const std::vector<bool>& y : rows.inside) {
      for (const std::vector<bool>& x : columns.inside) {
        const std::size_t first = masks.size();
        masks.resize(first + static_cast<std::size_t>(groups_));
        for_each_word([&](std::int64_t kw) {
          const std::int64_t tap = kw / words_;
          if (!y[static_cast<std::size_t>(tap / conv_.window.kernel_w)]) return;
          if (!x[static_cast<std::size_t>(tap % conv_.window.kernel_w)]) return;
          constexpr std::int64_t kGroupWords = kGroupSteps * kStepWords;
          masks[first + static_cast<std::size_t>(kw / kGroupWords)] |= 1U << (kw % kGroupWords);
        });
      }
    }
    return masks;
  }

  // The sum of B_i over the taps inside: 2 popcount - the number of products.
  std::vector<std::int32_t> inside_sums(const AxisClasses& rows, const AxisClasses& columns) const {
    const BinaryWeights& weights = conv_.weights;
    std::vector<std::int32_t> taps;  // [weight base][channel][tap]
    for (int base = 0; base < weights.bases; ++base) {
      for (std::int64_t o = 0; o < padded_; ++o) {
        for (std::int64_t tap = 0; tap < weights.shape.taps(); ++tap) {
          std::int32_t ones = 0;
          for (std::int64_t k = 0; k < words_ && o < weights.shape.out_channels; ++k) {
            ones += std::popcount(weights.tap(o, base, tap)[k]);
          }
          taps.push_back(2 * ones - static_cast<std::int32_t>(weights.shape.channels));
        }
      }
    }
    std::vector<std::int32_t> sums;
    for (const std::vector<bool>& y : rows.inside) {
      for (const std::vector<bool>& x : columns.inside) {
        for (std::size_t first = 0; first < taps.size(); first += y.size() * x.size()) {
          std::int32_t sum = 0;
          for (std::size_t tap = 0; tap < y.size() * x.size(); ++tap) {
            if (y[tap / x.size()] && x[tap % x.size()]) sum += taps[first + tap];
          }
          sums.push_back(sum);
        }
      }
    }
    return sums;
  }

  // [rows][padded channels] of a list [rows][channels], or of an empty one.
  std::vector<float> padded(const std::vector<float>& values, int rows) const {
    std::vector<float> wide(static_cast<std::size_t>(rows * padded_));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto channels = static_cast<std::size_t>(y_.channels);
      wide[i / channels * static_cast<std::size_t>(padded_) + i % channels] = values[i];
    }
    return wide;
  }

  const BinaryConv& conv_;
  const BinaryStage* stage_;
  ImageShape input_;
  int bases_;
  ImageShape y_;
  BinaryCudaPlan plan_;
  std::int64_t words_ = 0;   // of a base of a pixel
  std::int64_t groups_ = 0;  // of steps along K
  cuda::BinaryTileShape shape_{};
  std::int64_t blocks_ = 0;
  std::int64_t padded_ = 0;
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

BinaryCudaPlan plan_binary_conv(const BinaryConv& conv, const BinaryStage* stage,
                                const ImageShape& input, int input_bases, BinaryCudaPath path) {
  Planner planner(conv, stage, input, input_bases);
  const BinaryTile hopper = planner.hopper_tile();
  const bool fits = planner.fits(hopper);
  if (path == BinaryCudaPath::kHopper && !fits) {
    throw_bad_input(
        "binary convolution on a GPU: path hopper does not take this layer; take path "
        "portable or auto");
  }
  if (path == BinaryCudaPath::kAuto) {
    path = fits && has_wgmma() ? BinaryCudaPath::kHopper : BinaryCudaPath::kPortable;
  }
  return planner.make(path == BinaryCudaPath::kHopper ? hopper : BinaryTile::kPortable);
}

}  // namespace qsim::golden
