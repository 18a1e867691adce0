#include "golden/kernels/train/cuda/forward/conv_sizes.h"

#include <string>

#include "core/base/error.h"

namespace qsim::golden::train::cuda {
namespace {

constexpr std::int64_t kMost = (std::int64_t{1} << 30) - 1;  // sums of two are ints

int fitting(const char* what, std::int64_t size) {
  if (size > kMost) {
    throw_bad_input("CUDA: a convolution has " + std::string(what) + " " + std::to_string(size) +
                    "; a GPU takes less than 2^30: divide the batch");
  }
  return static_cast<int>(size);
}

}  // namespace

ConvSizes conv_sizes(const LevelConv& conv) {
  const Window& window = conv.window;
  ConvSizes sizes{};
  sizes.q = conv.q;
  sizes.zero_point = conv.zero_point;
  sizes.w = conv.w;
  sizes.height = fitting("height", conv.x_shape.height);
  sizes.width = fitting("width", conv.x_shape.width);
  sizes.all_channels = fitting("channels", conv.x_shape.channels);
  sizes.out_height = fitting("height", conv.y_shape.height);
  sizes.out_width = fitting("width", conv.y_shape.width);
  sizes.all_columns = fitting("channels", conv.y_shape.channels);
  sizes.groups = fitting("groups", conv.groups);
  sizes.channels = sizes.all_channels / sizes.groups;
  sizes.columns = sizes.all_columns / sizes.groups;
  sizes.kernel_h = fitting("kernel height", window.kernel_h);
  sizes.kernel_w = fitting("kernel width", window.kernel_w);
  sizes.stride_h = fitting("stride", window.stride_h);
  sizes.stride_w = fitting("stride", window.stride_w);
  sizes.pad_top = fitting("pad", window.pad_top);
  sizes.pad_left = fitting("pad", window.pad_left);
  sizes.dilation_h = fitting("dilation", window.dilation_h);
  sizes.dilation_w = fitting("dilation", window.dilation_w);
  sizes.pixels = fitting("output pixels", conv.pixels());
  fitting("products of an output", conv.depth());
  return sizes;
}

}  // namespace qsim::golden::train::cuda
