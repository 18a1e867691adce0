#include "golden/graph/cuda/kernels/pixel_groups.h"

#include <algorithm>

namespace qsim::golden::cuda {
namespace {

constexpr std::int64_t kCopyBytes = 16;      // of the copy engine
constexpr std::int64_t kTileColumns = 64;    // of the narrowest tile
constexpr std::int64_t kMostChannels = 256;  // of a group: its blocks of zeros are multiplied, too

bool is_dense_1x1(const ConvTask& task) {
  Window w = task.window;
  return w == Window{1, 1, 1, 1} && task.groups == 1 && !task.pool;
}

// How many pixels; 1 for none.
std::int64_t group_size(const ConvTask& task) {
  const ImageShape& in = task.input.shape;
  const std::int64_t pixels = in.batch * in.height * in.width;
  const std::int64_t out_channels = task.ofmap.shape.channels;
  for (const std::int64_t size : {4, 2}) {
    if (pixels % size != 0 || size * in.channels > kMostChannels) continue;
    if (size * in.channels % kCopyBytes != 0) continue;
    if (size * out_channels <= kTileColumns) return size;
  }
  if (in.channels % kCopyBytes == 0) return 1;
  for (const std::int64_t size : {2, 4}) {
    if (pixels % size == 0 && size * in.channels % kCopyBytes == 0 &&
        size * in.channels <= kMostChannels) {
      return size;
    }
  }
  return 1;
}

void widen(Value& value, std::int64_t size) {
  const ImageShape& s = value.shape;
  value.shape = {1, 1, s.batch * s.height * s.width / size, s.channels * size};
}

template <typename T>
void repeat(std::vector<T>& list, std::int64_t times) {
  if (list.size() <= 1) return;  // one for all channels
  const std::vector<T> once = list;
  for (std::int64_t i = 1; i < times; ++i) list.insert(list.end(), once.begin(), once.end());
}

// [size * Cout][parts][size * Cin]: pixel i's outputs have weights for pixel i's inputs alone.
std::vector<std::int8_t> block_weights(const ConvTask& task, std::int64_t size) {
  const std::int64_t channels = task.input.shape.channels;
  const std::int64_t rows = task.ofmap.shape.channels * task.weight_parts;
  std::vector<std::int8_t> blocks(static_cast<std::size_t>(size * rows * size * channels), 0);
  for (std::int64_t i = 0; i < size; ++i) {
    for (std::int64_t row = 0; row < rows; ++row) {
      std::copy_n(task.weights + row * channels, channels,
                  blocks.data() + ((i * rows + row) * size + i) * channels);
    }
  }
  return blocks;
}

}  // namespace

std::unique_ptr<GroupedPixels> group_pixels(const ConvTask& task) {
  const std::int64_t size = is_dense_1x1(task) ? group_size(task) : 1;
  if (size == 1) return nullptr;
  auto grouped = std::make_unique<GroupedPixels>();
  grouped->task = task;
  grouped->weights = block_weights(task, size);
  grouped->bias.assign(task.bias, task.bias + task.ofmap.shape.channels);
  repeat(grouped->bias, size);
  if (task.ofmap.shape.channels == 1) {
    grouped->bias.assign(static_cast<std::size_t>(size), task.bias[0]);
  }
  ConvTask& wide = grouped->task;
  wide.weights = grouped->weights.data();
  wide.bias = grouped->bias.data();
  widen(wide.input, size);
  widen(wide.ofmap, size);
  repeat(wide.requantization.shifts, size);
  repeat(wide.requantization.requantizers, size);
  if (wide.addition) {
    widen(wide.addition->other, size);
    widen(wide.addition->sum, size);
  }
  return grouped;
}

}  // namespace qsim::golden::cuda
