#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "golden/host/movement.h"

namespace qsim::golden {
namespace {

void require_float(const HostCall& call, std::size_t index) {
  if (call.dtype(index) != DType::kFloat32) {
    call.refuse(
        "input " + std::to_string(index) + " of " + std::string(dtype_name(call.dtype(index))),
        "float32");
  }
}

std::int64_t whole(float value) { return saturated<std::int64_t>(static_cast<double>(value)); }

// One image of one channel.
struct Image {
  std::span<const float> pixels;
  std::int64_t rows = 0;
  std::int64_t columns = 0;

  float at(std::int64_t row, std::int64_t column) const {
    return pixels[static_cast<std::size_t>(row * columns + column)];
  }
};

// How GridSample samples.
struct Grid {
  std::string mode;
  std::string padding;
  bool has_corners = false;

  // The coordinate along an axis of `size` of one from -1 to 1.
  float coordinate(float x, std::int64_t size) const {
    const auto length = static_cast<float>(size);
    return has_corners ? (x + 1) / 2 * (length - 1) : ((x + 1) * length - 1) / 2;
  }

  // The coordinate within the image that a coordinate outside of it is reflected to.
  float reflected(float x, std::int64_t size) const {
    const float low = has_corners ? 0.0F : -0.5F;
    const float high = static_cast<float>(size) - (has_corners ? 1.0F : 0.5F);
    if (x >= low && x <= high) return x;
    const float length = high - low;
    const float beyond = x < low ? low - x : x - high;
    const std::int64_t times = whole(beyond / length);
    const float rest = beyond - static_cast<float>(times) * length;
    const bool from_low = (x < low) == (times % 2 == 0);
    return from_low ? low + rest : high - rest;
  }

  // The position of a pixel along an axis; kNowhere for one that is zero.
  std::int64_t position(std::int64_t at, std::int64_t size) const {
    if (at >= 0 && at < size) return at;
    if (padding == "zeros") return kNowhere;
    if (padding == "reflection") at = whole(reflected(static_cast<float>(at), size));
    return std::clamp<std::int64_t>(at, 0, size - 1);
  }

  float pixel(const Image& image, std::int64_t row, std::int64_t column) const {
    row = position(row, image.rows);
    column = position(column, image.columns);
    return row == kNowhere || column == kNowhere ? 0.0F : image.at(row, column);
  }

  float sample(const Image& image, float x, float y) const;
};

float Grid::sample(const Image& image, float x, float y) const {
  x = coordinate(x, image.columns);
  y = coordinate(y, image.rows);
  if (mode == "nearest") {
    x = std::nearbyint(x);
    y = std::nearbyint(y);
  }
  // Further away all is the same, and positions fit their type.
  constexpr float kFar = 0x1p40F;
  x = std::clamp(std::isnan(x) ? -kFar : x, -kFar, kFar);
  y = std::clamp(std::isnan(y) ? -kFar : y, -kFar, kFar);
  if (mode == "nearest") return pixel(image, whole(y), whole(x));
  const std::int64_t column = whole(std::floor(x));
  const std::int64_t row = whole(std::floor(y));
  const float right = x - static_cast<float>(column);
  const float below = y - static_cast<float>(row);
  if (mode == "linear") {
    const float left = static_cast<float>(column + 1) - x;
    const float above = static_cast<float>(row + 1) - y;
    return above * (left * pixel(image, row, column) + right * pixel(image, row, column + 1)) +
           below *
               (left * pixel(image, row + 1, column) + right * pixel(image, row + 1, column + 1));
  }
  constexpr float kCubic = -0.75F;
  const std::array<float, 4> across = cubic_weights(kCubic, right);
  const std::array<float, 4> down = cubic_weights(kCubic, below);
  float sum = 0;
  for (std::int64_t i = 0; i < 4; ++i) {
    float line = 0;
    for (std::int64_t j = 0; j < 4; ++j) {
      line += across[static_cast<std::size_t>(j)] * pixel(image, row - 1 + i, column - 1 + j);
    }
    sum += down[static_cast<std::size_t>(i)] * line;
  }
  return sum;
}

Grid grid_of(const HostCall& call) {
  Grid grid;
  grid.mode = call.attribute("mode", "linear");
  if (grid.mode == "bilinear") grid.mode = "linear";
  if (grid.mode == "bicubic") grid.mode = "cubic";
  grid.padding = call.attribute("padding_mode", "zeros");
  grid.has_corners = call.attribute("align_corners", std::int64_t{0}) != 0;
  if (grid.mode != "linear" && grid.mode != "nearest" && grid.mode != "cubic") {
    call.malformed("mode '" + grid.mode + "'", "linear, nearest or cubic");
  }
  if (grid.padding != "zeros" && grid.padding != "border" && grid.padding != "reflection") {
    call.malformed("padding_mode '" + grid.padding + "'", "zeros, border or reflection");
  }
  return grid;
}

void grid_sample(HostCall& call) {
  require_float(call, 0);
  require_float(call, 1);
  const Grid grid = grid_of(call);
  const Shape& in = call.shape(0);
  const Shape& places = call.shape(1);
  if (in.size() != 4) call.refuse(std::to_string(in.size()) + " axes", "4");
  if (places.size() != 4 || places[0] != in[0] || places[3] != 2) {
    call.malformed("a grid " + shape_text(places), "[n, rows, columns, 2]");
  }
  Tensor* out = call.output(0, DType::kFloat32, {in[0], in[1], places[1], places[2]});
  if (out == nullptr || out->bytes.empty()) return;
  if (in[2] == 0 || in[3] == 0) call.malformed("an image " + shape_text(in), "pixels");
  const std::span<const float> pixels = elements<float>(call.input(0));
  const std::span<const float> grids = elements<float>(call.input(1));
  const auto image_size = static_cast<std::size_t>(in[2] * in[3]);
  const auto place_count = static_cast<std::size_t>(places[1] * places[2]);
  std::size_t next = 0;
  for (float& element : elements<float>(*out)) {
    const std::size_t channel = next / place_count;
    const std::size_t batch = channel / static_cast<std::size_t>(in[1]);
    const std::size_t place = 2 * (batch * place_count + next % place_count);
    const Image image = {pixels.subspan(channel * image_size, image_size), in[2], in[3]};
    element = grid.sample(image, grids[place], grids[place + 1]);
    ++next;
  }
}

// The value between pixels, each pixel weighed by its distance; 0 a pixel or more outside.
float interpolated(const Image& image, float y, float x) {
  if (!(y >= -1 && y <= static_cast<float>(image.rows) && x >= -1 &&
        x <= static_cast<float>(image.columns))) {
    return 0;
  }
  const auto place = [](float& at, std::int64_t size) {
    at = std::max(at, 0.0F);
    const std::int64_t low = std::min(static_cast<std::int64_t>(at), size - 1);
    if (low == size - 1) at = static_cast<float>(low);
    return low;
  };
  const std::int64_t row = place(y, image.rows);
  const std::int64_t column = place(x, image.columns);
  const std::int64_t next_row = std::min(row + 1, image.rows - 1);
  const std::int64_t next_column = std::min(column + 1, image.columns - 1);
  const float below = y - static_cast<float>(row);
  const float right = x - static_cast<float>(column);
  const float above = 1 - below;
  const float left = 1 - right;
  return above * left * image.at(row, column) + above * right * image.at(row, next_column) +
         below * left * image.at(next_row, column) +
         below * right * image.at(next_row, next_column);
}

// An axis of a region: where its bins begin, how long each is, and how many samples it has.
struct Bins {
  float start = 0;
  float length = 0;
  std::int64_t samples = 1;

  float sample(std::int64_t bin, std::int64_t i) const {
    return start + static_cast<float>(bin) * length +
           (static_cast<float>(i) + 0.5F) * length / static_cast<float>(samples);
  }
};

struct RoiAlign {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t samples = 0;  // a bin's, along an axis; 0 for as many as it has pixels
  float scale = 1;
  bool is_half_pixel = true;

  Bins bins(const HostCall& call, float start, float end, std::int64_t count) const {
    constexpr std::int64_t kMostSamples = 4096;
    const float shift = is_half_pixel ? 0.5F : 0.0F;
    Bins bins;
    bins.start = start * scale - shift;
    float length = end * scale - shift - bins.start;
    if (!is_half_pixel) length = std::max(length, 1.0F);
    bins.length = length / static_cast<float>(count);
    bins.samples = samples > 0 ? samples : whole(std::ceil(bins.length));
    if (bins.samples > kMostSamples) {
      call.refuse(std::to_string(bins.samples) + " samples", std::to_string(kMostSamples));
    }
    return bins;
  }
};

float region_mean(const Image& image, const Bins& down, const Bins& across, std::int64_t row,
                  std::int64_t column) {
  float sum = 0;
  for (std::int64_t i = 0; i < down.samples; ++i) {
    for (std::int64_t j = 0; j < across.samples; ++j) {
      sum += interpolated(image, down.sample(row, i), across.sample(column, j));
    }
  }
  return sum / static_cast<float>(std::max<std::int64_t>(down.samples * across.samples, 1));
}

RoiAlign roi_align_of(const HostCall& call) {
  RoiAlign align;
  align.rows = call.attribute("output_height", std::int64_t{1});
  align.columns = call.attribute("output_width", std::int64_t{1});
  align.samples = call.attribute("sampling_ratio", std::int64_t{0});
  align.scale = call.attribute("spatial_scale", 1.0F);
  const std::string coordinates = call.attribute(
      "coordinate_transformation_mode", call.opset() < 16 ? "output_half_pixel" : "half_pixel");
  align.is_half_pixel = coordinates == "half_pixel";
  if (!align.is_half_pixel && coordinates != "output_half_pixel") {
    call.malformed("coordinate_transformation_mode '" + coordinates + "'",
                   "half_pixel or output_half_pixel");
  }
  if (call.attribute("mode", "avg") != "avg") call.refuse("another mode", "avg");
  if (align.rows < 1 || align.columns < 1 || align.samples < 0) {
    call.malformed("an output of no size", "1 or more");
  }
  return align;
}

void roi_align(HostCall& call) {
  for (std::size_t i = 0; i < 2; ++i) require_float(call, i);
  const RoiAlign align = roi_align_of(call);
  const Shape& in = call.shape(0);
  const Shape& rois = call.shape(1);
  if (in.size() != 4 || rois.size() != 2 || rois[1] != 4 || call.shape(2) != Shape{rois[0]}) {
    call.malformed("regions " + shape_text(rois) + " of " + shape_text(in),
                   "[regions, 4] of 4 axes");
  }
  Tensor* out = call.output(0, DType::kFloat32, {rois[0], in[1], align.rows, align.columns});
  if (out == nullptr || out->bytes.empty()) return;
  const Integers batches = call.integers(2);
  const std::span<const float> pixels = elements<float>(call.input(0));
  const std::span<const float> corners = elements<float>(call.input(1));
  const auto image_size = static_cast<std::size_t>(elements_between(in, 2, 4));
  if (image_size == 0) call.malformed("an image " + shape_text(in), "pixels");
  std::span<float> to = elements<float>(*out);
  std::size_t next = 0;
  for (std::size_t roi = 0; roi < batches.size(); ++roi) {
    if (batches[roi] < 0 || batches[roi] >= in[0]) {
      call.malformed("batch index " + std::to_string(batches[roi]), "one of the batch");
    }
    const std::span<const float> corner = corners.subspan(4 * roi, 4);
    const Bins across = align.bins(call, corner[0], corner[2], align.columns);
    const Bins down = align.bins(call, corner[1], corner[3], align.rows);
    for (std::int64_t channel = 0; channel < in[1]; ++channel) {
      const auto plane = static_cast<std::size_t>(batches[roi] * in[1] + channel);
      const Image image = {pixels.subspan(plane * image_size, image_size), in[2], in[3]};
      for (std::int64_t i = 0; i < align.rows * align.columns; ++i) {
        to[next++] = region_mean(image, down, across, i / align.columns, i % align.columns);
      }
    }
  }
}

// An attribute with a number for each of `count` axes.
Integers per_axis(const HostCall& call, const char* name, std::size_t count, std::int64_t fallback,
                  std::int64_t least) {
  const Integers values = call.integer_list(name).value_or(Integers(count, fallback));
  if (values.size() != count ||
      std::ranges::any_of(values, [&](std::int64_t value) { return value < least; })) {
    call.malformed(std::string(name) + " " + shape_text(values),
                   std::to_string(count) + " numbers from " + std::to_string(least) + " on");
  }
  return values;
}

void max_unpool(HostCall& call) {
  const Tensor& input = call.input(0);
  const Shape& in = input.shape;
  if (in.size() < 3 || call.shape(1) != in) {
    call.malformed("indices " + shape_text(call.shape(1)) + " of " + shape_text(in),
                   "one for each element, and three axes or more");
  }
  const std::size_t spatial = in.size() - 2;
  const Integers kernel = per_axis(call, "kernel_shape", spatial, 0, 1);
  const Integers strides = per_axis(call, "strides", spatial, 1, 1);
  const Integers pads = per_axis(call, "pads", 2 * spatial, 0, 0);
  Shape shape = {in[0], in[1]};
  for (std::size_t d = 0; d < spatial; ++d) {
    const std::int64_t size =
        checked_add(checked_mul(checked_add(in[d + 2], -1), strides[d]), kernel[d]);
    shape.push_back(checked_add(size, -checked_add(pads[d], pads[spatial + d])));
  }
  if (call.has(2)) shape = call.integers(2);
  if (std::ranges::any_of(shape, [](std::int64_t size) { return size < 0; })) {
    call.malformed("a shape " + shape_text(shape), "sizes");
  }
  Tensor* out = call.output(0, input.dtype, shape);
  if (out == nullptr) return;
  const Integers places = call.integers(1);
  const std::int64_t count = out->elems();
  with_type(input.dtype, [&]<typename T>() {
    const std::span<const T> from = elements<T>(input);
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (places[i] < 0 || places[i] >= count) {
        call.malformed("index " + std::to_string(places[i]), "below " + std::to_string(count));
      }
      elements<T>(*out)[static_cast<std::size_t>(places[i])] = from[i];
    }
  });
}

// An axis of an image of which Col2Im has blocks.
struct BlockAxis {
  std::int64_t image = 0;
  std::int64_t block = 0;
  std::int64_t dilation = 1;
  std::int64_t stride = 1;
  std::int64_t pad = 0;
  std::int64_t blocks = 0;  // along the axis
};

std::vector<BlockAxis> block_axes(const HostCall& call) {
  const Integers image = call.integers(1);
  const Integers block = call.integers(2);
  const std::size_t rank = image.size();
  if (block.size() != rank || rank == 0) call.malformed("blocks of another rank", "the image's");
  const Integers dilations = per_axis(call, "dilations", rank, 1, 1);
  const Integers strides = per_axis(call, "strides", rank, 1, 1);
  const Integers pads = per_axis(call, "pads", 2 * rank, 0, 0);
  std::vector<BlockAxis> axes;
  for (std::size_t d = 0; d < rank; ++d) {
    if (image[d] < 1 || block[d] < 1) call.malformed("an image or a block of 0", "1 or more");
    const std::int64_t reach = checked_add(checked_mul(dilations[d], block[d] - 1), 1);
    const std::int64_t room =
        checked_add(checked_add(image[d], checked_add(pads[d], pads[rank + d])), -reach);
    if (room < 0) call.malformed("a block beyond the image", "one within it");
    axes.push_back({image[d], block[d], dilations[d], strides[d], pads[d], room / strides[d] + 1});
  }
  return axes;
}

// The element of the image that element `in_block` of block `number` is; kNowhere in a pad.
std::int64_t image_element(const std::vector<BlockAxis>& axes, std::int64_t in_block,
                           std::int64_t number) {
  std::int64_t element = 0;
  std::int64_t step = 1;
  for (std::size_t d = axes.size(); d-- > 0;) {
    const BlockAxis& axis = axes[d];
    const std::int64_t at =
        number % axis.blocks * axis.stride + in_block % axis.block * axis.dilation - axis.pad;
    if (at < 0 || at >= axis.image) return kNowhere;
    element += at * step;
    step *= axis.image;
    number /= axis.blocks;
    in_block /= axis.block;
  }
  return element;
}

void column_to_image(HostCall& call) {
  require_float(call, 0);
  const Shape& in = call.shape(0);
  const std::vector<BlockAxis> axes = block_axes(call);
  std::int64_t block = 1;
  std::int64_t blocks = 1;
  std::int64_t image = 1;
  for (const BlockAxis& axis : axes) {
    block = checked_mul(block, axis.block);
    blocks = checked_mul(blocks, axis.blocks);
    image = checked_mul(image, axis.image);
  }
  if (in.size() != 3 || in[1] % block != 0 || in[2] != blocks) {
    call.malformed("columns " + shape_text(in),
                   "[n, channels x " + std::to_string(block) + ", " + std::to_string(blocks) + "]");
  }
  Shape shape = {in[0], in[1] / block};
  for (const BlockAxis& axis : axes) shape.push_back(axis.image);
  Tensor* out = call.output(0, DType::kFloat32, shape);
  if (out == nullptr) return;
  const std::span<const float> from = elements<float>(call.input(0));
  const std::span<float> to = elements<float>(*out);
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::int64_t row = static_cast<std::int64_t>(i) / blocks;
    const std::int64_t element =
        image_element(axes, row % block, static_cast<std::int64_t>(i) % blocks);
    if (element == kNowhere) continue;
    to[static_cast<std::size_t>(row / block * image + element)] += from[i];
  }
}

constexpr std::array<HostOperator, 4> kSamplingOperators = {{
    {"Col2Im", column_to_image},
    {"GridSample", grid_sample},
    {"MaxUnpool", max_unpool},
    {"RoiAlign", roi_align},
}};

}  // namespace

std::span<const HostOperator> sampling_operators() { return kSamplingOperators; }

}  // namespace qsim::golden
