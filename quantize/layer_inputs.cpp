#include "quantize/layer_inputs.h"

#include <algorithm>

#include "core/base/random.h"
#include "quantize/layer_weights.h"

namespace qsim::quantize {
namespace {

struct Picture {
  const float* values;
  std::int64_t height;
  std::int64_t width;
  std::int64_t channels;
};

// The inputs of group `group` around a position, in the order ky, kx, ci.
void copy_window(const Window& window, const Picture& picture, const OutputPosition& position,
                 std::int64_t group, std::int64_t depth, float* row) {
  for (std::int64_t ky = 0; ky < window.kernel_h; ++ky) {
    const std::int64_t y = position.y * window.stride_h + ky * window.dilation_h - window.pad_top;
    for (std::int64_t kx = 0; kx < window.kernel_w; ++kx, row += depth) {
      const std::int64_t x =
          position.x * window.stride_w + kx * window.dilation_w - window.pad_left;
      if (y < 0 || y >= picture.height || x < 0 || x >= picture.width) continue;
      const float* pixel = picture.values + (y * picture.width + x) * picture.channels;
      std::copy_n(pixel + group * depth, depth, row);
    }
  }
}

}  // namespace

std::vector<OutputPosition> sample_positions(const ImageShape& output, std::int64_t count,
                                             std::uint64_t seed) {
  const std::int64_t pixels = output.height * output.width;
  const std::int64_t all = output.batch * pixels;
  std::vector<OutputPosition> positions;
  Random random(seed);
  for (std::int64_t i = 0; i < std::min(count, all); ++i) {
    const std::int64_t pixel = count >= all ? i % pixels : random.uniform(0, pixels - 1);
    const std::int64_t picture = count >= all ? i / pixels : i * output.batch / count;
    positions.push_back({picture, pixel / output.width, pixel % output.width});
  }
  return positions;
}

std::vector<Matrix> inputs_at(const Operation& operation, const Tensor& input,
                              const std::vector<OutputPosition>& positions) {
  const auto* conv = std::get_if<Conv2d>(&operation);
  const Shape& shape = input.shape;
  const std::int64_t groups = conv != nullptr ? conv->groups : 1;
  const std::int64_t depth = shape[3] / groups;
  const Window window = conv != nullptr ? conv->window : Window{};
  const auto values = input.as<float>();
  std::vector<Matrix> rows(static_cast<std::size_t>(groups),
                           Matrix(static_cast<std::int64_t>(positions.size()),
                                  window.kernel_h * window.kernel_w * depth));
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const Picture picture{values.data() + positions[i].picture * shape[1] * shape[2] * shape[3],
                          shape[1], shape[2], shape[3]};
    for (std::int64_t group = 0; group < groups; ++group) {
      copy_window(window, picture, positions[i], group, depth,
                  rows[static_cast<std::size_t>(group)].row(static_cast<std::int64_t>(i)).data());
    }
  }
  return rows;
}

std::vector<Matrix> weights_by_group(const Operation& operation) {
  const auto* conv = std::get_if<Conv2d>(&operation);
  const Tensor& weights = *weights_of(operation)->weights;
  const std::int64_t groups = conv != nullptr ? conv->groups : 1;
  const std::int64_t rows = weights.shape[0] / groups;
  const std::int64_t columns = weights.elems() / weights.shape[0];
  std::vector<Matrix> matrices(static_cast<std::size_t>(groups), Matrix(rows, columns));
  const float* from = weights.as<float>().data();
  for (Matrix& matrix : matrices) {
    std::copy_n(from, rows * columns, matrix.values.begin());
    from += rows * columns;
  }
  return matrices;
}

}  // namespace qsim::quantize
