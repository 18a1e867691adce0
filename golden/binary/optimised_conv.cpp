#include "golden/binary/optimised_conv.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "golden/binary/packed_layer.h"
#include "golden/common/float_environment.h"
#include "golden/common/thread_team.h"

namespace qsim::golden {
namespace {

// Pieces of work that the threads share: enough that they end at about the same time.
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
