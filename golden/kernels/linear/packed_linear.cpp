#include "golden/kernels/linear/packed_linear.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/base/checked_math.h"
#include "core/base/error.h"
#include "golden/common/float_environment.h"

namespace qsim::golden {
namespace {

constexpr std::size_t kChannels = kLinearPanelChannels;
constexpr std::size_t kPanelQuadBytes = kChannels * kLinearQuad;
constexpr std::size_t kZeroPointOfBytes = 128;
// A sum of so many products of six digits fits 64 bits: 2^40 * 127 * 66,052 < 2^63.
constexpr std::size_t kMostOfSixDigits = 66052;
constexpr std::size_t kPartsPerThread = 8;  // the last thread waits for an eighth of its work

}  // namespace

struct PackedLinear::Block {
  std::size_t first_panel;
  std::size_t panel_count;
  TileShape shape;
};

PackedLinear::PackedLinear(const LinearWeights& weights, std::span<const float> bias,
                           const PackedLinearOptions& options)
    : kernels_(linear_kernels(options.vector_path)),
      path_(resolve(options.vector_path)),
      shape_(options.shape),
      group_size_(weights.group_size),
      bits_(weights.bits),
      bias_(bias.begin(), bias.end()) {
  FloatMatrix one_row;
  one_row.rows = 1;
  one_row.columns = weights.in_features;
  check_shapes(one_row, weights, bias);
  channels_ = static_cast<std::size_t>(weights.out_features);
  in_features_ = static_cast<std::size_t>(weights.in_features);
  groups_ = static_cast<std::size_t>(weights.groups());
  group_elems_ = static_cast<std::size_t>(weights.group_elems());
  panels_ = (channels_ + kChannels - 1) / kChannels;
  quads_ = (in_features_ + 2 * kLinearQuad - 1) / (2 * kLinearQuad) * 2;
  panel_bytes_ = quads_ * kPanelQuadBytes / (bits_ == 8 ? 1 : 2);
  pack(weights);
}

// Channels beyond the last have weights and scales of zero.
void PackedLinear::pack(const LinearWeights& weights) {
  packed_.assign(panels_ * panel_bytes_, 0);
  scales_.assign(panels_ * groups_ * kChannels, 0);
  zero_points_.assign(bits_ == 8 ? kChannels : scales_.size(), bits_ == 8 ? kZeroPointOfBytes : 0);
  for (std::size_t n = 0; n < channels_; ++n) {
    std::uint8_t* panel = packed_.data() + n / kChannels * panel_bytes_;
    const std::int8_t* values = weights.values.data() + n * in_features_;
    const std::size_t lane = n % kChannels * kLinearQuad;
    for (std::size_t k = 0; k < in_features_; ++k) {
      const std::size_t quad = k / kLinearQuad;
      const std::size_t place = lane + k % kLinearQuad;
      if (bits_ == 8) {
        panel[quad * kPanelQuadBytes + place] = static_cast<std::uint8_t>(values[k] + 128);
      } else {
        const int nibble = (values[k] & 15) << (quad % 2 == 0 ? 0 : 4);
        panel[quad / 2 * kPanelQuadBytes + place] |= static_cast<std::uint8_t>(nibble);
      }
    }
    for (std::size_t group = 0; group < groups_; ++group) {
      const std::size_t place = (n / kChannels * groups_ + group) * kChannels + n % kChannels;
      scales_[place] = weights.scales[n * groups_ + group];
      if (bits_ == 4) zero_points_[place] = weights.zero_points[n * groups_ + group];
    }
  }
}

std::int64_t PackedLinear::weight_bytes() const {
  return static_cast<std::int64_t>(packed_.size() + scales_.size() * sizeof(float) +
                                   zero_points_.size());
}

int PackedLinear::weight(std::size_t panel, std::size_t channel, std::size_t k) const {
  const std::size_t quad = k / kLinearQuad;
  const std::uint8_t* bytes = packed_.data() + panel * panel_bytes_;
  const std::size_t place = channel * kLinearQuad + k % kLinearQuad;
  if (bits_ == 8)
    return bytes[quad * kPanelQuadBytes + place] - static_cast<int>(kZeroPointOfBytes);
  const int nibble = bytes[quad / 2 * kPanelQuadBytes + place] >> (quad % 2 == 0 ? 0 : 4) & 15;
  return nibble - zero_points_[(panel * groups_ + k / group_elems_) * kChannels + channel];
}

// Chosen by reasoning, not by a search; the bits do not depend on it.
TileShape PackedLinear::shape_for(std::size_t row_count) const {
  if (shape_) return *shape_;
  const bool wide = path_ == VectorPath::kAvx512Vnni;
  if (row_count == 1) return wide ? TileShape{4, 1} : TileShape{1, 1};
  if (row_count < 4) return wide ? TileShape{2, 2} : TileShape{1, 2};
  return wide ? TileShape{1, 4} : TileShape{1, 2};
}

void PackedLinear::add_group(const PackedRows& rows, std::size_t row, std::size_t panel,
                             std::size_t group, std::int32_t* acc, float* sums) const {
  const std::size_t place = (panel * groups_ + group) * kChannels;
  const GroupOperands operands{acc,
                               rows.digit_sums.data() + (row * groups_ + group) * kMostDigits,
                               zero_points_.data() + (bits_ == 8 ? 0 : place),
                               scales_.data() + place,
                               rows.digits,
                               rows.digits < kMostDigits || group_elems_ <= kMostOfSixDigits,
                               rows.digits >= kLeastDigits && rows.digits < kMostDigits &&
                                   group_elems_ <= kMostOfSmallGroup};
  if (rows.non_finite[row].empty()) {
    kernels_.add_group(operands, sums);
    return;
  }
  // The digits of an x that is not finite are zero: where there is none, `finite` counts.
  float finite[kChannels];
  std::copy_n(sums, kChannels, finite);
  kernels_.add_group(operands, finite);
  for (std::size_t c = 0; c < kChannels; ++c) {
    NonFiniteSum sum;
    for (const PackedRows::NonFinite& x : rows.non_finite[row]) {
      if (x.k / group_elems_ == group) sum.add(x.bits, weight(panel, c, x.k));
    }
    sums[c] = sum.any() ? std::fma(sum.value(), scales_[place + c], sums[c]) : finite[c];
  }
}

void PackedLinear::store(const PackedRows& rows, std::size_t row, std::size_t panel,
                         const float* sums, FloatMatrix& y) const {
  const float step = rows.steps[row];
  const std::size_t first = panel * kChannels;
  const std::size_t count = std::min(kChannels, channels_ - first);
  for (std::size_t c = 0; c < count; ++c) {
    float result = sums[c] * step;
    if (!bias_.empty()) result += bias_[first + c];
    y.set(row * channels_ + first + c, canonical(result));
  }
}

void PackedLinear::compute(const PackedRows& rows, const Block& block, FloatMatrix& y) const {
  const auto panels = static_cast<std::size_t>(block.shape.panels);
  const std::size_t row_stride = rows.row_stride(quads_);
  const std::size_t group_quads = groups_ == 1 ? quads_ : group_elems_ / kLinearQuad;
  std::size_t row = 0;
  while (row < rows.count) {
    const auto wanted = static_cast<std::size_t>(block.shape.rows);
    const std::size_t tile_rows = row + wanted <= rows.count ? wanted : 1;
    const TileShape shape{block.shape.panels, static_cast<int>(tile_rows)};
    const auto index = static_cast<std::size_t>(
        std::find(kTileShapes.begin(), kTileShapes.end(), shape) - kTileShapes.begin());
    const MultiplyLinearTile multiply =
        kernels_.tiles[bits_ == 8 ? 0 : 1][index][digits_index(rows.digits)];
    for (std::size_t panel = block.first_panel; panel < block.first_panel + block.panel_count;
         panel += panels) {
      float sums[4][kChannels] = {};
      alignas(64) std::int32_t acc[4 * kMostDigits * kChannels];
      for (std::size_t group = 0; group < groups_; ++group) {
        const std::size_t first = group * group_quads;
        const LinearTile tile{
            packed_.data() + panel * panel_bytes_ + first * kPanelQuadBytes / (bits_ == 8 ? 1 : 2),
            panel_bytes_,
            rows.split.data() + row * row_stride +
                first * static_cast<std::size_t>(rows.digits) * kLinearQuad,
            row_stride, std::min(group_quads, quads_ - first)};
        multiply(tile, acc);
        for (std::size_t i = 0; i < tile_rows * panels; ++i) {
          add_group(rows, row + i / panels, panel + i % panels, group,
                    acc + i * kMostDigits * kChannels, sums[i]);
        }
      }
      for (std::size_t i = 0; i < tile_rows * panels; ++i) {
        store(rows, row + i / panels, panel + i % panels, sums[i], y);
      }
    }
    row += tile_rows;
  }
}

RowLayout PackedLinear::layout_for(const FloatMatrix& x) const {
  check_rows(x, static_cast<std::int64_t>(in_features_));
  return {in_features_, quads_, groups_, group_elems_};
}

FloatMatrix PackedLinear::product(const PackedRows& rows, FloatType y_type,
                                  ThreadTeam& team) const {
  FloatMatrix y(y_type, static_cast<std::int64_t>(rows.count),
                static_cast<std::int64_t>(channels_));
  const TileShape shape = shape_for(rows.count);
  const auto width = static_cast<std::size_t>(shape.panels);
  const std::size_t whole = panels_ / width;  // blocks of `width` panels; the others are single
  const std::size_t parts =
      std::clamp<std::size_t>(kPartsPerThread * static_cast<std::size_t>(team.threads()), 1,
                              std::max<std::size_t>(whole, 1));
  team.run(parts, [&](std::size_t part) {
    const std::size_t begin = whole * part / parts;
    const std::size_t end = whole * (part + 1) / parts;
    compute(rows, {begin * width, (end - begin) * width, shape}, y);
    if (part + 1 == parts && whole * width < panels_) {
      compute(rows, {whole * width, panels_ - whole * width, {1, shape.rows}}, y);
    }
  });
  return y;
}

FloatMatrix PackedLinear::run(const FloatMatrix& x, FloatType y_type, ThreadTeam& team) const {
  return product(split_rows(x, layout_for(x), team), y_type, team);
}

FloatMatrix PackedLinear::run_int8(const FloatMatrix& x, const Int8Activations& activations,
                                   FloatType y_type, ThreadTeam& team) const {
  check_int8_activations(group_size_, bits_, activations);
  return product(coded_rows(x, activations, layout_for(x), team), y_type, team);
}

}  // namespace qsim::golden
