#include "golden/kernels/binary/cuda/conv_tables.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "golden/kernels/binary/cuda/raster_plan.h"

namespace qsim::golden::cuda {
namespace {

std::int64_t round16(std::int64_t bytes) { return (bytes + 15) / 16 * 16; }

AxisClasses axis_classes(std::int64_t positions, std::int64_t size, std::int64_t kernel,
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

class TableWriter {
 public:
  TableWriter(const TableSource& source, const WindowClasses& classes, const BinaryConvArgs& args)
      : source_(source), classes_(classes), args_(args), shape_(shape_of(source.tile)) {}

  std::vector<std::uint8_t> write() {
    const std::int64_t bytes = args_.common_bytes + args_.channel_blocks * args_.block_bytes;
    packed_.resize(static_cast<std::size_t>(bytes));
    if (!keeps_rows(source_.tile)) write_windows();
    write_classes();
    if (!has_signs(source_.tile)) write_inside();
    const WeightShape& weights = source_.conv.weights.shape;
    for (std::int64_t o = 0; o < weights.out_channels; ++o) {
      for (int base = 0; base < source_.conv.weights.bases; ++base) {
        write_weights(o, base);
        const auto at = static_cast<std::size_t>(base * weights.out_channels + o);
        if (!source_.conv.weights.alpha.empty()) {
          put(number_of(o, args_.alpha, base), source_.conv.weights.alpha[at]);
        }
      }
      const auto c = static_cast<std::size_t>(o);
      if (!source_.conv.bias.empty()) put(number_of(o, args_.bias, 0), source_.conv.bias[c]);
      if (source_.stage == nullptr) continue;
      put(number_of(o, args_.gain, 0), source_.stage->gain[c]);
      put(number_of(o, args_.shift, 0), source_.stage->shift[c]);
    }
    return std::move(packed_);
  }

 private:
  template <typename T>
  void put(std::int64_t byte, T value) {
    std::memcpy(packed_.data() + byte, &value, sizeof(T));
  }

  std::int64_t block_of(std::int64_t channel) const {
    return args_.common_bytes + channel / shape_.channels * args_.block_bytes;
  }

  // Where number `channel` of row `row` of a table of a block is: four channels of each of the four
  // lanes in turn, and a lane has channels / 4 channels in a row.
  std::int64_t number_of(std::int64_t channel, std::int64_t table, std::int64_t row) const {
    const std::int64_t in_block = channel % shape_.channels;
    const std::int64_t run = shape_.channels / 4;
    const std::int64_t lane = in_block / run;
    const std::int64_t r = in_block % run;
    return block_of(channel) + table +
           (row * shape_.channels + r / 4 * 16 + lane * 4 + r % 4) * std::int64_t{4};
  }

  std::int64_t window_words() const { return source_.conv.weights.shape.taps() * source_.words; }

  bool is_inside(std::size_t row, std::size_t column, std::int64_t tap) const {
    const std::int64_t kernel_w = source_.conv.window.kernel_w;
    return classes_.rows.inside[row][static_cast<std::size_t>(tap / kernel_w)] &&
           classes_.columns.inside[column][static_cast<std::size_t>(tap % kernel_w)];
  }

  // Where the words of a window are, and which are inside the picture.
  void write_windows() {
    const Window& w = source_.conv.window;
    for (std::int64_t kw = 0; kw < window_words(); ++kw) {
      const std::int64_t tap = kw / source_.words;
      const std::int64_t pixel =
          tap / w.kernel_w * w.dilation_h * source_.input.width + tap % w.kernel_w * w.dilation_w;
      // A tap below or right of the picture may be far away; its word is never read.
      put(kw * 4, static_cast<std::int32_t>(pixel * args_.pixel_bytes + kw % source_.words * 8));
    }
    std::int64_t mask = args_.masks;
    for (std::size_t y = 0; y < classes_.rows.inside.size(); ++y) {
      for (std::size_t x = 0; x < classes_.columns.inside.size(); ++x) {
        std::vector<std::uint32_t> bits(static_cast<std::size_t>(args_.mask_words));
        for (std::int64_t kw = 0; kw < window_words(); ++kw) {
          if (!is_inside(y, x, kw / source_.words)) continue;
          bits[static_cast<std::size_t>(kw / 32)] |= 1U << (kw % 32);
        }
        for (const std::uint32_t word : bits) {
          put(mask, word);
          mask += 4;
        }
      }
    }
  }

  // Classes; with signs, how many rows or columns of a window are inside.
  void write_classes() {
    if (has_signs(source_.tile)) {
      write_counts(args_.rows, classes_.rows);
      write_counts(args_.columns, classes_.columns);
      return;
    }
    const auto columns = static_cast<std::int32_t>(classes_.columns.inside.size());
    for (std::size_t i = 0; i < classes_.rows.of.size(); ++i) {
      put(args_.rows + 4 * static_cast<std::int64_t>(i), classes_.rows.of[i] * columns);
    }
    for (std::size_t i = 0; i < classes_.columns.of.size(); ++i) {
      put(args_.columns + 4 * static_cast<std::int64_t>(i), classes_.columns.of[i]);
    }
  }

  void write_counts(std::int64_t place, const AxisClasses& axis) {
    for (const std::int32_t positions : axis.of) {
      const std::vector<bool>& inside = axis.inside[static_cast<std::size_t>(positions)];
      put(place, static_cast<std::int32_t>(std::count(inside.begin(), inside.end(), true)));
      place += 4;
    }
  }

  // The sum of B_i over the taps inside: 2 popcount - the number of products.
  void write_inside() {
    const BinaryWeights& weights = source_.conv.weights;
    std::vector<std::int32_t> sums(static_cast<std::size_t>(weights.shape.taps()));
    for (std::int64_t o = 0; o < weights.shape.out_channels; ++o) {
      for (int base = 0; base < weights.bases; ++base) {
        for (std::int64_t tap = 0; tap < weights.shape.taps(); ++tap) {
          std::int32_t ones = 0;
          for (std::int64_t k = 0; k < source_.words; ++k) {
            ones += std::popcount(weights.tap(o, base, tap)[k]);
          }
          sums[static_cast<std::size_t>(tap)] =
              2 * ones - static_cast<std::int32_t>(weights.shape.channels);
        }
        write_inside(o, base, sums);
      }
    }
  }

  void write_inside(std::int64_t channel, int base, const std::vector<std::int32_t>& sums) {
    std::int64_t row = base;
    for (std::size_t y = 0; y < classes_.rows.inside.size(); ++y) {
      for (std::size_t x = 0; x < classes_.columns.inside.size(); ++x, row += args_.weight_bases) {
        std::int32_t sum = 0;
        for (std::size_t tap = 0; tap < sums.size(); ++tap) {
          if (is_inside(y, x, static_cast<std::int64_t>(tap))) sum += sums[tap];
        }
        const std::int64_t at = number_of(channel, args_.inside, row);
        put(at, source_.tile == BinaryTile::kPortable ? sum : kBiasBits - sum);
      }
    }
  }

  // [chunk][step][columns][32 bytes]. Column base_in_chunk * channels + 8 * t + 2 * q + e is
  // channel channels / 4 * q + 2 * t + e of the block. The portable kernel reads the 4 words of a
  // step as they are, wgmma first two words of all columns, then the other two.
  void write_weights(std::int64_t channel, int base) {
    const std::int64_t in_block = channel % shape_.channels;
    const std::int64_t run = shape_.channels / 4;
    const std::int64_t column = base % shape_.chunk * shape_.channels + 8 * (in_block % run / 2) +
                                2 * (in_block / run) + in_block % 2;
    const std::uint64_t* words = source_.conv.weights.tap(channel, base, 0);
    const std::int64_t step_bytes = std::int64_t{shape_.columns()} * kStepBytes;
    const std::int64_t first = block_of(channel) + base / shape_.chunk * args_.steps * step_bytes;
    const std::vector<std::int64_t>& order = source_.order;
    const std::int64_t slots =
        order.empty() ? window_words() : static_cast<std::int64_t>(order.size());
    for (std::int64_t kw = 0; kw < slots; ++kw) {
      const std::int64_t word = order.empty() ? kw : order[static_cast<std::size_t>(kw)];
      if (word < 0) continue;
      const std::int64_t q = kw % kStepWords;
      const std::int64_t in_step = source_.tile == BinaryTile::kPortable
                                       ? column * kStepBytes + 8 * q
                                       : 16 * (q / 2 * shape_.columns() + column) + q % 2 * 8;
      put(first + kw / kStepWords * step_bytes + in_step,
          (word & kOpposite) != 0 ? ~words[word - kOpposite] & args_.raster.signs : words[word]);
    }
  }

  const TableSource& source_;
  const WindowClasses& classes_;
  const BinaryConvArgs& args_;
  BinaryTileShape shape_;
  std::vector<std::uint8_t> packed_;
};

}  // namespace

WindowClasses window_classes(const Window& w, const ImageShape& input, const ImageShape& y) {
  return {axis_classes(y.height, input.height, w.kernel_h, w.stride_h, w.dilation_h, w.pad_top),
          axis_classes(y.width, input.width, w.kernel_w, w.stride_w, w.dilation_w, w.pad_left)};
}

void place_tables(const TableSource& source, const WindowClasses& classes, BinaryConvArgs& args) {
  const BinaryTileShape shape = shape_of(source.tile);
  const bool has_windows = !keeps_rows(source.tile);
  args.mask_words = has_windows ? (args.steps * kStepWords + 31) / 32 : 0;
  std::int64_t at = has_windows ? round16(std::int64_t{args.steps} * kStepWords * 4) : 0;
  const auto add = [&](std::int64_t numbers) {
    const std::int64_t place = at;
    at = round16(at + numbers * 4);
    return place;
  };
  args.masks = static_cast<std::uint32_t>(add(classes.count() * args.mask_words));
  args.rows = static_cast<std::uint32_t>(add(source.y.height));
  args.columns = static_cast<std::uint32_t>(add(source.y.width));
  args.common_bytes = static_cast<std::uint32_t>(at);
  at = std::int64_t{args.weight_bases} * args.steps * shape.channels * kStepBytes;
  args.inside =
      add(has_signs(source.tile) ? 0 : classes.count() * args.weight_bases * shape.channels);
  args.alpha = add(std::int64_t{args.weight_bases} * shape.channels);
  args.bias = add(shape.channels);
  args.gain = add(shape.channels);
  args.shift = add(shape.channels);
  args.block_bytes = at;
}

std::vector<std::uint8_t> make_tables(const TableSource& source, const WindowClasses& classes,
                                      const BinaryConvArgs& args) {
  return TableWriter(source, classes, args).write();
}

}  // namespace qsim::golden::cuda
