// Sums over the pixels of a convolution's channels, and what normalization makes of its gradient.
#include <algorithm>
#include <cmath>
#include <vector>

#include "golden/common/float_formats.h"
#include "golden/kernels/train/conv_sums.h"
#include "golden/kernels/train/train.h"

namespace qsim::golden::train {
namespace {

// Sums of parts of this many pixels are added in the order of the parts.
constexpr std::int64_t kPixels = 1024;

// Calls add(sums of the part [out][width], pixel, acc of the pixel) for each pixel, then adds the
// parts in order.
template <typename Sum, typename Add>
std::vector<Sum> sums_of(const LevelConv& conv, std::int64_t width, ThreadTeam& team,
                         const Add& add) {
  const ConvSums conv_sums(conv, team);
  const std::int64_t outs = conv.y_shape.channels;
  const auto size = static_cast<std::size_t>(outs * width);
  std::vector<std::vector<Sum>> parts(static_cast<std::size_t>(ceil_div(conv.pixels(), kPixels)),
                                      std::vector<Sum>(size));
  for_each_item(team, std::ssize(parts), [&](std::int64_t part) {
    Sum* sums = parts[static_cast<std::size_t>(part)].data();
    const std::int64_t end = std::min(conv.pixels(), (part + 1) * kPixels);
    conv_sums.each_block(part * kPixels, end,
                         [&](std::int64_t first, std::int64_t count, const std::int32_t* acc) {
                           for (std::int64_t i = 0; i < count; ++i)
                             add(sums, first + i, acc + i * outs);
                         });
  });
  std::vector<Sum> whole(size);
  team.run(1, [&](std::size_t) {
    for (const auto& part : parts) {
      for (std::size_t i = 0; i < size; ++i) whole[i] += part[i];
    }
  });
  return whole;
}

}  // namespace

void compute(const ConvStatistics& call, ThreadTeam& team) {
  const std::int64_t outs = call.conv.y_shape.channels;
  const auto sums = sums_of<std::int64_t>(
      call.conv, 3, team, [outs](std::int64_t* to, std::int64_t, const std::int32_t* acc) {
        for (std::int64_t o = 0; o < outs; ++o) {
          const std::int64_t square = std::int64_t{acc[o]} * acc[o];
          to[o * 3] += acc[o];
          to[o * 3 + 1] += square & 0xFFFFFFFF;
          to[o * 3 + 2] += square >> 32;
        }
      });
  std::copy(sums.begin(), sums.end(), call.sums);
}

// Products are exact in double, and a sum's rounding there is far below float32's.
void compute(const ConvGradientSums& call, ThreadTeam& team) {
  const std::int64_t outs = call.conv.y_shape.channels;
  const auto sums = sums_of<double>(
      call.conv, 2, team, [&](double* to, std::int64_t pixel, const std::int32_t* acc) {
        for (std::int64_t o = 0; o < outs; ++o) {
          const double g = float_from_bfloat16(call.g[pixel * outs + o]);
          to[o * 2] += g;
          to[o * 2 + 1] += g * acc[o];
        }
      });
  team.run(1, [&](std::size_t) {  // in golden's float environment
    std::transform(sums.begin(), sums.end(), call.sums,
                   [](double sum) { return static_cast<float>(sum); });
  });
}

void compute(const ConvNormalizeGradient& call, ThreadTeam& team) {
  const ConvSums sums(call.conv, team);
  const std::int64_t outs = call.conv.y_shape.channels;
  for_ranges(team, call.conv.pixels(), ConvSums::kBlock, [&](std::int64_t begin, std::int64_t end) {
    sums.each_block(begin, end, [&](std::int64_t first, std::int64_t count, const auto* acc) {
      std::uint16_t* g = call.g + first * outs;
      for (std::int64_t i = 0; i < count * outs; ++i) {
        const float* factors = call.factors + i % outs * 3;
        const float rest = std::fma(factors[1], static_cast<float>(acc[i]), factors[2]);
        g[i] = bfloat16_from_float(std::fma(factors[0], float_from_bfloat16(g[i]), rest));
      }
    });
  });
}

}  // namespace qsim::golden::train
