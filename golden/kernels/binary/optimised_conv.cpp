#include "golden/kernels/binary/optimised_conv.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "golden/common/float_environment.h"
#include "golden/common/thread_team.h"
#include "golden/kernels/binary/binary_conv.h"
#include "golden/kernels/binary/popcount_kernels.h"

namespace qsim::golden {

// A binary convolution's weights in panels, and the rows of y that they make: what is inside of
// OptimisedBinaryConv.
constexpr std::size_t kRowPixels = 8;  // output pixels that are gathered together

class PackedLayer {
 public:
  PackedLayer(const BinaryConv& conv, PopcountPath path);

  const BinaryConv& conv() const { return conv_; }
  const PopcountKernels& kernels() const { return kernels_; }
  std::size_t padded_channels() const { return panels_ * kPanelColumns; }

  // What one thread needs to make rows of y.
  struct Scratch {
    std::vector<std::uint64_t> rows;   // [kRowPixels][activation bases][depth]
    std::vector<std::int32_t> counts;  // [kRowPixels][activation bases][kPanelColumns]
    std::vector<std::int32_t> full;    // [kRowPixels][weight bases][padded_channels()]
    // By pixel: where its `full` is, in this scratch or, away from the border, the layer's.
    std::array<const std::int32_t*, kRowPixels> full_of{};
  };
  Scratch scratch() const;

  // Row `oy` of y of one picture, `width` pixels: [width][padded_channels()], NaN not canonical.
  void make_row(const BitTensor& input, std::int64_t batch, std::int64_t oy, std::int64_t width,
                Scratch& scratch, float* y) const;

 private:
  static constexpr std::size_t kAlignment = 64;

  void pack_panels();
  void copy_tap(const std::uint64_t* pixel, std::size_t tap, std::uint64_t* rows) const;
  bool gather_pixel(const BitTensor& input, std::int64_t batch, std::int64_t oy, std::int64_t ox,
                    std::uint64_t* rows, std::int32_t* full) const;
  void multiply(std::size_t pixels, Scratch& scratch, float* y) const;

  BinaryConv conv_;
  const PopcountKernels& kernels_;
  std::size_t bases_;   // of the weights
  std::size_t panels_;  // of output channels
  std::size_t tap_words_;
  std::size_t depth_;  // words of a window of one base
  // [panels][bases][depth][kPanelColumns], 64-byte aligned from panel_words_ on.
  std::vector<std::uint64_t> panel_memory_;
  const std::uint64_t* panel_words_ = nullptr;
  std::vector<std::int32_t> tap_popcounts_;  // [taps][bases][padded_channels()]
  std::vector<std::int32_t> inside_full_;    // [bases][padded_channels()], of a window without pads
  std::vector<float> alpha_;                 // [bases][padded_channels()]
  std::vector<float> bias_;                  // [padded_channels()]
};

PackedLayer::PackedLayer(const BinaryConv& conv, PopcountPath path)
    : conv_(conv),
      kernels_(popcount_kernels(path)),
      bases_(static_cast<std::size_t>(conv.weights.bases)),
      panels_((size(conv.weights.shape.out_channels) + kPanelColumns - 1) / kPanelColumns),
      tap_words_(size(bit_words(conv.weights.shape.channels))),
      depth_(size(conv.weights.shape.taps()) * tap_words_) {
  const std::size_t out_channels = size(conv.weights.shape.out_channels);
  alpha_.resize(bases_ * padded_channels());
  for (std::size_t i = 0; i < bases_ && !conv.weights.alpha.empty(); ++i) {
    std::copy_n(conv.weights.alpha.begin() + static_cast<std::ptrdiff_t>(i * out_channels),
                out_channels, alpha_.begin() + static_cast<std::ptrdiff_t>(i * padded_channels()));
  }
  const std::int64_t products = conv.weights.shape.taps() * conv.weights.shape.channels;
  inside_full_.assign(bases_ * padded_channels(), static_cast<std::int32_t>(products));
  bias_.resize(padded_channels());
  std::copy(conv.bias.begin(), conv.bias.end(), bias_.begin());
  pack_panels();
}

void PackedLayer::pack_panels() {
  const std::size_t taps = size(conv_.weights.shape.taps());
  panel_memory_.resize(panels_ * bases_ * depth_ * kPanelColumns + kAlignment / 8);
  const auto address = reinterpret_cast<std::uintptr_t>(panel_memory_.data());
  std::uint64_t* words = panel_memory_.data() + (-address % kAlignment) / sizeof(std::uint64_t);
  panel_words_ = words;
  tap_popcounts_.resize(taps * bases_ * padded_channels());
  for (std::size_t o = 0; o < size(conv_.weights.shape.out_channels); ++o) {
    for (std::size_t i = 0; i < bases_; ++i) {
      std::uint64_t* panel =
          words + (o / kPanelColumns * bases_ + i) * depth_ * kPanelColumns + o % kPanelColumns;
      for (std::size_t tap = 0; tap < taps; ++tap) {
        const std::uint64_t* from = conv_.weights.tap(
            static_cast<std::int64_t>(o), static_cast<int>(i), static_cast<std::int64_t>(tap));
        for (std::size_t k = 0; k < tap_words_; ++k) {
          panel[(tap * tap_words_ + k) * kPanelColumns] = from[k];
          tap_popcounts_[(tap * bases_ + i) * padded_channels() + o] += std::popcount(from[k]);
        }
      }
    }
  }
}

PackedLayer::Scratch PackedLayer::scratch() const {
  const std::size_t rows = kRowPixels * conv_.beta.size();
  Scratch scratch;
  scratch.rows.resize(rows * depth_);
  scratch.counts.resize(rows * kPanelColumns);
  scratch.full.resize(kRowPixels * bases_ * padded_channels());
  return scratch;
}

void PackedLayer::copy_tap(const std::uint64_t* pixel, std::size_t tap, std::uint64_t* rows) const {
  const std::size_t activation_bases = conv_.beta.size();
  std::uint64_t* to = rows + tap * tap_words_;
  if (tap_words_ == 1) {
    for (std::size_t j = 0; j < activation_bases; ++j) to[j * depth_] = pixel[j];
    return;
  }
  for (std::size_t j = 0; j < activation_bases; ++j) {
    std::copy_n(pixel + j * tap_words_, tap_words_, to + j * depth_);
  }
}

// The window of one pixel, all activation bases; whether it has pads. Then `full` is what a dot of
// popcount 0 would be: the number of products inside the picture, plus twice what the pads add to
// the popcount.
bool PackedLayer::gather_pixel(const BitTensor& input, std::int64_t batch, std::int64_t oy,
                               std::int64_t ox, std::uint64_t* rows, std::int32_t* full) const {
  const Window& w = conv_.window;
  const std::size_t columns = bases_ * padded_channels();
  std::int64_t outside = 0;
  std::size_t tap = 0;
  for (std::int64_t ky = 0; ky < w.kernel_h; ++ky) {
    const std::int64_t y = oy * w.stride_h + ky * w.dilation_h - w.pad_top;
    for (std::int64_t kx = 0; kx < w.kernel_w; ++kx, ++tap) {
      const std::int64_t x = ox * w.stride_w + kx * w.dilation_w - w.pad_left;
      if (y >= 0 && y < input.shape.height && x >= 0 && x < input.shape.width) {
        copy_tap(input.pixel(batch, y, x), tap, rows);
        continue;
      }
      if (outside++ == 0) std::fill_n(full, columns, 0);
      for (std::size_t j = 0; j < conv_.beta.size(); ++j) {
        std::fill_n(rows + j * depth_ + tap * tap_words_, tap_words_, 0);
      }
      const std::int32_t* counts = tap_popcounts_.data() + tap * columns;
      for (std::size_t c = 0; c < columns; ++c) full[c] += 2 * counts[c];
    }
  }
  if (outside == 0) return false;
  const std::int64_t inside = conv_.weights.shape.taps() - outside;
  const auto products = static_cast<std::int32_t>(inside * input.shape.channels);
  for (std::size_t c = 0; c < columns; ++c) full[c] += products;
  return true;
}

void PackedLayer::multiply(std::size_t pixels, Scratch& scratch, float* y) const {
  const std::size_t activation_bases = conv_.beta.size();
  for (std::size_t panel = 0; panel < panels_; ++panel) {
    const std::size_t first = panel * kPanelColumns;
    for (std::size_t p = 0; p < pixels; ++p) {
      std::copy_n(bias_.data() + first, kPanelColumns, y + p * padded_channels() + first);
    }
    for (std::size_t i = 0; i < bases_; ++i) {
      kernels_.count_rows(scratch.rows.data(), depth_, pixels * activation_bases,
                          panel_words_ + (panel * bases_ + i) * depth_ * kPanelColumns, depth_,
                          scratch.counts.data());
      for (std::size_t p = 0; p < pixels; ++p) {
        kernels_.add_base(scratch.counts.data() + p * activation_bases * kPanelColumns,
                          scratch.full_of[p] + i * padded_channels() + first, conv_.beta.data(),
                          activation_bases, alpha_.data() + i * padded_channels() + first,
                          y + p * padded_channels() + first);
      }
    }
  }
}

void PackedLayer::make_row(const BitTensor& input, std::int64_t batch, std::int64_t oy,
                           std::int64_t width, Scratch& scratch, float* y) const {
  for (std::size_t ox = 0; ox < size(width); ox += kRowPixels) {
    const std::size_t pixels = std::min(kRowPixels, size(width) - ox);
    for (std::size_t p = 0; p < pixels; ++p) {
      std::int32_t* full = scratch.full.data() + p * bases_ * padded_channels();
      const bool has_pads =
          gather_pixel(input, batch, oy, static_cast<std::int64_t>(ox + p),
                       scratch.rows.data() + p * conv_.beta.size() * depth_, full);
      scratch.full_of[p] = has_pads ? full : inside_full_.data();
    }
    multiply(pixels, scratch, y + ox * padded_channels());
  }
}

// Pieces of work that the threads share: enough that they end at about the same time.
namespace {

std::size_t parts_of(const ThreadTeam& team, std::int64_t rows) {
  return team.threads() == 1 ? 1 : std::min(size(rows), size(team.threads()) * 4);
}

struct Rows {
  std::int64_t begin;
  std::int64_t end;
};

Rows rows_of(std::size_t part, std::size_t parts, std::int64_t rows) {
  const auto at = [&](std::size_t p) {
    return static_cast<std::int64_t>(p) * rows / static_cast<std::int64_t>(parts);
  };
  return {at(part), at(part + 1)};
}

// Rows of y under the max-pool, made when they are first needed and kept while they are.
class RowRing {
 public:
  RowRing(const PackedLayer& layer, const BitTensor& input, std::int64_t width, std::int64_t rows)
      : layer_(layer),
        input_(input),
        width_(width),
        kept_(size(rows), -1),
        values_(size(rows) * size(width) * layer.padded_channels()),
        scratch_(layer.scratch()) {}

  // Row oy of picture `batch` of `height` rows.
  const float* row(std::int64_t batch, std::int64_t oy, std::int64_t height) {
    const std::size_t slot = size(oy) % kept_.size();
    float* y = values_.data() + slot * size(width_) * layer_.padded_channels();
    const std::int64_t name = batch * height + oy;
    if (kept_[slot] != name) layer_.make_row(input_, batch, oy, width_, scratch_, y);
    kept_[slot] = name;
    return y;
  }

 private:
  const PackedLayer& layer_;
  const BitTensor& input_;
  std::int64_t width_;
  std::vector<std::int64_t> kept_;  // which row each slot has
  std::vector<float> values_;
  PackedLayer::Scratch scratch_;
};

}  // namespace

struct OptimisedBinaryConv::Packed {
  Packed(const BinaryConv& conv, const BinaryOptions& options)
      : layer(conv, options.path), team(options.threads) {}

  void make_rows(const BitTensor& input, const ImageShape& shape, Rows rows,
                 std::vector<float>& y) const;
  void make_bits(const BitTensor& input, const ImageShape& conv_shape, const BinaryStage& stage,
                 Rows rows, BitTensor& bits) const;

  PackedLayer layer;
  mutable ThreadTeam team;
};

void OptimisedBinaryConv::Packed::make_rows(const BitTensor& input, const ImageShape& shape,
                                            Rows rows, std::vector<float>& y) const {
  const std::size_t channels = size(shape.channels);
  PackedLayer::Scratch scratch = layer.scratch();
  std::vector<float> row(size(shape.width) * layer.padded_channels());
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    layer.make_row(input, r / shape.height, r % shape.height, shape.width, scratch, row.data());
    float* to = y.data() + size(r * shape.width) * channels;
    for (std::size_t x = 0; x < size(shape.width); ++x) {
      for (std::size_t c = 0; c < channels; ++c) {
        const float value = row[x * layer.padded_channels() + c];
        to[x * channels + c] = std::isnan(value) ? std::numeric_limits<float>::quiet_NaN() : value;
      }
    }
  }
}

void OptimisedBinaryConv::Packed::make_bits(const BitTensor& input, const ImageShape& conv_shape,
                                            const BinaryStage& stage, Rows rows,
                                            BitTensor& bits) const {
  const BinaryPool pool = stage.pool.value_or(BinaryPool{1, 1});
  const std::size_t channels = size(bits.shape.channels);
  const PopcountKernels& kernels = layer.kernels();
  RowRing ring(layer, input, conv_shape.width, pool.size);
  std::vector<float> m(channels);
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    const std::int64_t batch = r / bits.shape.height;
    const std::int64_t py = r % bits.shape.height;
    std::vector<const float*> y;
    for (std::int64_t k = 0; k < pool.size; ++k) {
      y.push_back(ring.row(batch, py * pool.stride + k, conv_shape.height));
    }
    for (std::int64_t px = 0; px < bits.shape.width; ++px) {
      std::fill(m.begin(), m.end(), -std::numeric_limits<float>::infinity());
      for (std::int64_t k = 0; k < pool.size * pool.size; ++k) {
        const std::int64_t x = px * pool.stride + k % pool.size;
        kernels.take_larger(y[size(k / pool.size)] + size(x) * layer.padded_channels(), m.data(),
                            channels);
      }
      kernels.normalize(m.data(), stage.gain.data(), stage.shift.data(), stage.relu, m.data(),
                        channels);
      std::uint64_t* words = bits.pixel(batch, py, px);
      for (std::size_t j = 0; j < stage.v.size(); ++j) {
        kernels.pack(m.data(), channels, stage.v[j],
                     words + j * size(bit_words(bits.shape.channels)));
      }
    }
  }
}

OptimisedBinaryConv::OptimisedBinaryConv(const BinaryConv& conv, const BinaryOptions& options)
    : packed_(std::make_unique<Packed>(conv, options)) {}

OptimisedBinaryConv::~OptimisedBinaryConv() = default;

std::vector<float> OptimisedBinaryConv::run(const BitTensor& input) const {
  const ImageShape shape = output_shape(packed_->layer.conv(), input);
  std::vector<float> y(size(element_count(shape.nhwc())));
  const std::int64_t rows = shape.batch * shape.height;
  const std::size_t parts = parts_of(packed_->team, rows);
  packed_->team.run(parts, [&](std::size_t part) {
    packed_->make_rows(input, shape, rows_of(part, parts, rows), y);
  });
  return y;
}

BitTensor OptimisedBinaryConv::run(const BitTensor& input, const BinaryStage& stage) const {
  const ImageShape conv_shape = output_shape(packed_->layer.conv(), input);
  BitTensor bits(stage_shape(packed_->layer.conv(), stage, input),
                 static_cast<int>(stage.v.size()));
  const std::int64_t rows = bits.shape.batch * bits.shape.height;
  const std::size_t parts = parts_of(packed_->team, rows);
  packed_->team.run(parts, [&](std::size_t part) {
    packed_->make_bits(input, conv_shape, stage, rows_of(part, parts, rows), bits);
  });
  return bits;
}

BitTensor pack_activations(std::span<const float> x, const ImageShape& shape,
                           std::span<const float> v, const BinaryOptions& options) {
  const PopcountKernels& kernels = popcount_kernels(options.path);
  BitTensor bits(shape, static_cast<int>(v.size()));
  require_elements(shape, x.size());
  const std::size_t channels = size(shape.channels);
  const std::size_t words = size(bit_words(shape.channels));
  const std::int64_t rows = shape.batch * shape.height;
  const std::size_t row_pixels = size(shape.width);
  ThreadTeam team(options.threads);
  const std::size_t parts = parts_of(team, rows);
  team.run(parts, [&](std::size_t part) {
    const Rows mine = rows_of(part, parts, rows);
    for (std::size_t p = size(mine.begin) * row_pixels; p < size(mine.end) * row_pixels; ++p) {
      for (std::size_t j = 0; j < v.size(); ++j) {
        kernels.pack(x.data() + p * channels, channels, v[j],
                     bits.words.data() + (p * v.size() + j) * words);
      }
    }
  });
  return bits;
}

}  // namespace qsim::golden
