#include "golden/kernels/train/cuda/forward/conv_direct.h"

#include <algorithm>

#include "core/base/checked_math.h"

namespace qsim::golden::train::cuda {
namespace {

using golden::cuda::FastDivisor;

constexpr int kColumns = 64;
constexpr int kMostBlocks = 2048;
constexpr int kMostBlocksOfColumns = 1024;  // slots
constexpr int kMostQuadWords = 4;  // then tensor cores are faster, though most of a tile is empty
constexpr int kMostDirectShared = 46 * 1024;  // dynamic: with the frame below what needs no asking
constexpr int kPieceBytes = 64 * 72 * 4;      // the largest PieceSums
constexpr int kFewestPixels = 16;             // of a picture

// A block's columns are whole groups, and what they read are whole words.
bool takes_direct(const ConvSizes& conv) {
  return conv.groups > 1 && conv.pixels > 0 && conv.columns > 0 && kColumns % conv.columns == 0 &&
         conv.channels > 0 && kColumns / conv.columns * std::int64_t{conv.channels} % 4 == 0 &&
         conv.all_channels % 4 == 0 && reinterpret_cast<std::uintptr_t>(conv.q) % 4 == 0 &&
         conv.channels <= 4 * kMostQuadWords &&
         std::int64_t{conv.out_height} * conv.out_width >= kFewestPixels;
}

// The most words that a quad's groups touch.
int quad_words(const ConvSizes& conv) {
  int most = 0;
  for (int column = 0; column < kColumns; column += 4) {
    const int first = column / conv.columns * conv.channels;
    const int last = ((column + 3) / conv.columns + 1) * conv.channels - 1;
    most = std::max(most, last / 4 - first / 4 + 1);
  }
  return most;
}

// The box of a unit's input and where its words are; false where it does not fit.
bool set_box(const ConvSizes& conv, DirectConv& plan) {
  const auto side = [](std::int64_t stride, std::int64_t kernel, std::int64_t dilation) {
    return 7 * stride + (kernel - 1) * dilation + 1;
  };
  const std::int64_t width = side(conv.stride_w, conv.kernel_w, conv.dilation_w);
  const std::int64_t height = side(conv.stride_h, conv.kernel_h, conv.dilation_h);
  const std::int64_t taps = std::int64_t{conv.kernel_h} * conv.kernel_w;
  if (width > kMostDirectShared || height > kMostDirectShared || taps > kMostDirectShared)
    return false;
  plan.quad_words = quad_words(conv);
  plan.words = kColumns / conv.columns * conv.channels / 4;
  const std::int64_t box_bytes = round_up((width + 1) * height * plan.words * 4, 16);
  const std::int64_t weight_words = taps * plan.quad_words * kColumns;
  const std::int64_t bytes = std::max<std::int64_t>(box_bytes, kPieceBytes) + weight_words * 4;
  if (plan.quad_words > kMostQuadWords || bytes > kMostDirectShared) return false;
  plan.box_width = FastDivisor(static_cast<int>(width));
  plan.box_height = static_cast<int>(height);
  plan.pitch = static_cast<int>(width % 2 == 0 ? width + 1 : width);  // two rows' banks differ
  const bool is_aligned =
      conv.all_channels % 16 == 0 && reinterpret_cast<std::uintptr_t>(conv.q) % 16 == 0;
  plan.load_words = plan.words % 4 == 0 && is_aligned ? 4 : 1;
  plan.pixel_loads = FastDivisor(plan.words / plan.load_words);
  plan.weight_words = static_cast<int>(weight_words);
  plan.shared_bytes = static_cast<int>(bytes);
  return true;
}

}  // namespace

std::optional<DirectConv> plan_direct(const ConvSizes& conv) {
  DirectConv plan{};
  if (!takes_direct(conv) || !set_box(conv, plan)) return std::nullopt;
  const auto across = static_cast<int>(ceil_div(conv.out_width, 8));
  const auto down = static_cast<int>(ceil_div(conv.out_height, 8));
  const std::int64_t pictures = conv.pixels / conv.out_width / conv.out_height;
  const std::int64_t units = pictures * across * down;
  const std::int64_t column_blocks = ceil_div(conv.all_columns, kColumns);
  if (units > (std::int64_t{1} << 30) || column_blocks > kMostBlocks) return std::nullopt;
  plan.units_x = FastDivisor(across);
  plan.picture_units = FastDivisor(across * down);
  plan.column_blocks = FastDivisor(static_cast<int>(column_blocks));
  plan.units = static_cast<int>(units);
  const std::int64_t of_columns =
      std::min<std::int64_t>({units, kMostBlocksOfColumns, kMostBlocks / column_blocks});
  plan.blocks = static_cast<int>(of_columns * column_blocks);
  return plan;
}

std::int64_t columns_together(const LevelConv& conv) {
  return plan_direct(conv_sizes(conv)) ? conv.y_shape.channels : conv.out_channels();
}

}  // namespace qsim::golden::train::cuda
