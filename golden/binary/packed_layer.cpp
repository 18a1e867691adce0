#include "golden/binary/packed_layer.h"

#include <algorithm>
#include <bit>

namespace qsim::golden {
namespace {

constexpr std::size_t kAlignment = 64;

}  // namespace

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

}  // namespace qsim::golden
