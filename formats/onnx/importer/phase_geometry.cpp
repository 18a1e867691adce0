#include "formats/onnx/importer/phase_geometry.h"

#include <algorithm>
#include <string>

#include "core/network/auto_pad.h"

namespace qsim::formats {
namespace {

using onnx::NodeProto;

// A quarter of the products, at least, are those of the file's taps.
constexpr std::int64_t kMostGrowth = 4;

Integers integers_of(const NodeProto& node, std::string_view name, Integers fallback) {
  const onnx::AttributeProto* const found = find_attribute(node, name);
  return found == nullptr ? fallback : Integers(found->ints().begin(), found->ints().end());
}

// The network's shapes say that the attributes are as they must be.
PhaseAxis axis_of(const NodeProto& conv, const PhasedConvolution& phased, std::size_t d,
                  std::int64_t in, std::int64_t out, std::int64_t kernel) {
  const auto at = [&](const char* name, std::size_t count, std::int64_t fallback) {
    return integers_of(conv, name, Integers(count, fallback)).at(d);
  };
  PhaseAxis axis{in, out, kernel, at("strides", phased.rank, 1), at("dilations", phased.rank, 1),
                 0};
  const onnx::AttributeProto* const mode = find_attribute(conv, "auto_pad");
  const std::string auto_pad = mode == nullptr ? "NOTSET" : mode->s();
  const bool has_shape = phased.is_transposed && find_attribute(conv, "output_shape") != nullptr;
  if (!has_shape && !auto_pad.starts_with("SAME")) {
    axis.pad = auto_pad == "VALID" ? 0 : at("pads", 2 * phased.rank, 0);
    return axis;
  }
  const std::int64_t wide = phased.is_transposed ? out : in;
  const std::int64_t narrow = phased.is_transposed ? in : out;
  const std::int64_t more = phased.is_transposed ? at("output_padding", phased.rank, 0) : 0;
  const std::int64_t total = (narrow - 1) * axis.stride + axis.extent() + more - wide;
  axis.pad = same_pad_begin(phased.is_transposed ? std::max<std::int64_t>(0, total) : total,
                            auto_pad == "SAME_UPPER");
  return axis;
}

}  // namespace

std::optional<PhasedConvolution> read_phased(const NodeProto& conv, const Shape& x, const Shape& y,
                                             const Tensor& weights) {
  const bool is_8_bit = weights.dtype == DType::kInt8 || weights.dtype == DType::kUint8;
  if (x.size() < 3 || x.size() > 4 || !is_8_bit || weights.shape.size() != x.size() ||
      element_count(x) == 0 || element_count(y) == 0) {
    return std::nullopt;
  }
  PhasedConvolution read;
  read.is_transposed = conv.op_type() == "ConvTranspose";
  read.rank = x.size() - 2;
  read.groups = integer_of(conv, "group", 1);
  read.in_channels = read.is_transposed ? weights.shape[0] / read.groups : weights.shape[1];
  read.out_channels = read.is_transposed ? weights.shape[1] : weights.shape[0] / read.groups;
  std::int64_t taps = 1;
  std::int64_t kernel = kMostGrowth;
  for (std::size_t d = 0; d < read.rank; ++d) {
    PhaseAxis& axis = read.axes[2 - read.rank + d];
    axis = axis_of(conv, read, d, x[2 + d], y[2 + d], weights.shape[2 + d]);
    taps = checked_mul(taps, checked_mul(axis.taps(), axis.stride));
    kernel = checked_mul(kernel, axis.kernel);
  }
  return taps > kernel ? std::nullopt : std::optional(read);
}

Tensor phase_weights(const PhasedConvolution& conv, const Tensor& from, const Tensor* zero_points) {
  const PhaseAxis& y = conv.axes[0];
  const PhaseAxis& x = conv.axes[1];
  const std::int64_t phases = conv.phases();
  const std::int64_t outputs = conv.groups * conv.out_channels;
  Shape shape = {outputs * (conv.is_transposed ? phases : 1),
                 conv.in_channels * (conv.is_transposed ? 1 : phases)};
  for (const PhaseAxis& axis : conv.own_axes()) shape.push_back(axis.taps());
  Tensor made(from.dtype, shape);
  std::byte* const to = made.bytes.data();
  const auto fill = [&](std::int64_t m, std::int64_t r, std::int64_t c, std::byte absent) {
    std::int64_t row = m * phases * conv.in_channels;
    std::int64_t from_row = m * conv.in_channels + c;
    if (conv.is_transposed) {
      row += r * conv.in_channels + c;
      const std::int64_t first = m / conv.out_channels * conv.in_channels;
      from_row = (first + c) * conv.out_channels + m % conv.out_channels;
    } else {
      row += conv.has_phases_outside() ? r * conv.in_channels + c : c * phases + r;
    }
    for (std::int64_t jy = 0; jy < y.taps(); ++jy) {
      for (std::int64_t jx = 0; jx < x.taps(); ++jx) {
        const std::int64_t ky = y.tap(r / x.stride, conv.is_transposed ? y.taps() - 1 - jy : jy);
        const std::int64_t kx = x.tap(r % x.stride, conv.is_transposed ? x.taps() - 1 - jx : jx);
        const bool is_there = ky >= 0 && kx >= 0;
        to[(row * y.taps() + jy) * x.taps() + jx] =
            is_there
                ? from.bytes[static_cast<std::size_t>((from_row * y.kernel + ky) * x.kernel + kx)]
                : absent;
      }
    }
  };
  for (std::int64_t m = 0; m < outputs; ++m) {
    std::byte absent{0};
    if (zero_points != nullptr) {
      const auto channel = m % (conv.is_transposed ? conv.out_channels : outputs);
      absent = zero_points->bytes[static_cast<std::size_t>(channel % zero_points->elems())];
    }
    for (std::int64_t r = 0; r < phases; ++r) {
      for (std::int64_t c = 0; c < conv.in_channels; ++c) fill(m, r, c, absent);
    }
  }
  return made;
}

PhaseSpread spread_of(const PhasedConvolution& conv) {
  PhaseSpread spread;
  Integers ends;
  for (const PhaseAxis& axis : conv.own_axes()) {
    const std::int64_t first = std::min(axis.pad / axis.stride, axis.reach());
    const std::int64_t last = (axis.pad + axis.out - 1) / axis.stride;
    const std::int64_t begin = axis.reach() - first;
    ends.push_back(std::max<std::int64_t>(0, last - (axis.in - 1)));
    spread.pads.push_back(begin);
    spread.positions.push_back(axis.in + begin + ends.back() - axis.reach());
    spread.starts.push_back(axis.pad - axis.stride * first);
    spread.is_cut = spread.is_cut || spread.starts.back() != 0 ||
                    spread.positions.back() * axis.stride != axis.out;
  }
  spread.pads.insert(spread.pads.end(), ends.begin(), ends.end());
  return spread;
}

}  // namespace qsim::formats
