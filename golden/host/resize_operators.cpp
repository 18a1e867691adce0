#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "golden/host/movement.h"

namespace qsim::golden {
namespace {

// What Resize does with coordinates.
struct Sampling {
  std::string mode = "nearest";
  std::string coordinates = "half_pixel";
  std::string rounding = "round_prefer_floor";
  float cubic = -0.75F;
  bool leaves_out = false;  // cubic weights of positions outside are 0
  float outside = 0;        // the value of what tf_crop_and_resize puts outside
};

// An axis that is resized: from `from` to `to` positions.
struct Resized {
  std::int64_t from = 0;
  std::int64_t to = 0;
  float scale = 1;
  float roi_start = 0;
  float roi_end = 1;

  bool stays() const { return scale == 1 && from == to; }
};

// The coordinate in the input of position `at` of the output; the same where the scale is 1, as in
// ONNX Runtime.
float coordinate(const Sampling& sampling, const Resized& axis, std::int64_t at) {
  const auto x = static_cast<float>(at);
  if (axis.stays()) return x;
  const auto from = static_cast<float>(axis.from);
  const auto to = static_cast<float>(axis.to);
  const std::string& kind = sampling.coordinates;
  if (kind == "asymmetric") return x / axis.scale;
  if (kind == "pytorch_half_pixel" && axis.to <= 1) return 0;
  if (kind == "tf_half_pixel_for_nn") return (x + 0.5F) / axis.scale;
  if (kind == "align_corners") return axis.to == 1 ? 0 : x * (from - 1) / (to - 1);
  if (kind == "tf_crop_and_resize") {
    if (axis.to <= 1) return 0.5F * (axis.roi_start + axis.roi_end) * (from - 1);
    return axis.roi_start * (from - 1) +
           x * (axis.roi_end - axis.roi_start) * (from - 1) / (to - 1);
  }
  if (kind == "half_pixel_symmetric") {
    const float shift = from / 2 * (1 - to / (axis.scale * from));
    return static_cast<float>(shift + (static_cast<double>(x) + 0.5) / axis.scale - 0.5);
  }
  return (x + 0.5F) / axis.scale - 0.5F;
}

float rounded(const Sampling& sampling, const Resized& axis, float x) {
  const std::string& rounding = sampling.rounding;
  if (rounding == "by_scale") return axis.scale < 1 ? std::ceil(x) : std::trunc(x);
  if (rounding == "floor") return std::floor(x);
  if (rounding == "ceil") return std::ceil(x);
  if (rounding == "round_prefer_floor" && x == std::trunc(x) + 0.5F) return std::floor(x);
  return std::round(x);
}

bool is_outside(const Sampling& sampling, const Resized& axis, float x) {
  return sampling.coordinates == "tf_crop_and_resize" &&
         !(x >= 0 && x <= static_cast<float>(axis.from - 1));
}

std::int64_t clamped(float x, std::int64_t size) {
  return std::clamp<std::int64_t>(saturated<std::int64_t>(static_cast<double>(x)), 0, size - 1);
}

Integers nearest_positions(const Sampling& sampling, const Resized& axis) {
  Integers positions = counted(axis.to);
  for (std::int64_t& position : positions) {
    const float x = coordinate(sampling, axis, position);
    position =
        is_outside(sampling, axis, x) ? kNowhere : clamped(rounded(sampling, axis, x), axis.from);
  }
  return positions;
}

// What each position of an axis of the output weighs of the input: `count` positions and weights.
struct Taps {
  std::size_t count = 0;
  Integers positions = {};
  std::vector<float> weights = {};
  std::vector<bool> outside = {};
};

void add_linear_taps(float x, std::int64_t size, Taps& taps) {
  x = std::clamp(std::isnan(x) ? 0.0F : x, 0.0F, static_cast<float>(size - 1));
  const std::int64_t low = std::min(static_cast<std::int64_t>(x), size - 1);
  const std::int64_t high = std::min(low + 1, size - 1);
  float of_low = std::abs(x - static_cast<float>(high));
  float of_high = std::abs(x - static_cast<float>(low));
  if (low == high) of_low = of_high = 0.5F;
  taps.positions.insert(taps.positions.end(), {low, high});
  taps.weights.insert(taps.weights.end(), {of_low, of_high});
}

void add_cubic_taps(const Sampling& sampling, float x, std::int64_t size, Taps& taps) {
  const float limit = static_cast<float>(size) + 4;
  x = std::clamp(std::isnan(x) ? 0.0F : x, -limit, limit);
  const float low = std::floor(x);
  std::array<float, 4> weights = cubic_weights(sampling.cubic, x - low);
  float total = 0;
  for (std::int64_t i = 0; i < 4; ++i) {
    const std::int64_t position = static_cast<std::int64_t>(low) - 1 + i;
    float& weight = weights[static_cast<std::size_t>(i)];
    if (sampling.leaves_out && (position < 0 || position >= size)) weight = 0;
    total += weight;
    taps.positions.push_back(std::clamp<std::int64_t>(position, 0, size - 1));
  }
  for (const float weight : weights) {
    taps.weights.push_back(sampling.leaves_out ? weight / total : weight);
  }
}

Taps taps_of(const Sampling& sampling, const Resized& axis) {
  Taps taps;
  taps.count = sampling.mode == "linear" ? 2 : 4;
  for (std::int64_t i = 0; i < axis.to; ++i) {
    const float x = coordinate(sampling, axis, i);
    taps.outside.push_back(is_outside(sampling, axis, x));
    if (sampling.mode == "linear") {
      add_linear_taps(x, axis.from, taps);
    } else {
      add_cubic_taps(sampling, x, axis.from, taps);
    }
  }
  return taps;
}

// Interpolation over several axes: the sum of the elements at all combinations of their taps.
class Interpolation {
 public:
  Interpolation(const Sampling& sampling, const Shape& from, const std::vector<Resized>& axes)
      : sampling_(sampling), axes_(axes), steps_(row_major_steps(from)) {
    for (std::size_t d = 0; d < axes.size(); ++d) {
      taps_.push_back(is_interpolated(d) ? taps_of(sampling, axes[d]) : Taps{});
    }
  }

  template <typename T>
  void run(std::span<const T> from, std::span<T> to) const {
    std::vector<std::size_t> at(axes_.size(), 0);
    for (T& element : to) {
      if (lies_outside(at)) {
        element = saturated<T>(static_cast<double>(sampling_.outside));
      } else {
        element = saturated<T>(static_cast<double>(
            sampling_.mode == "linear" ? linear<T>(from, at) : cubic<T>(from, at, 0, 0)));
      }
      for (std::size_t d = axes_.size(); d-- > 0;) {
        if (++at[d] < static_cast<std::size_t>(axes_[d].to)) break;
        at[d] = 0;
      }
    }
  }

 private:
  // Besides the axes that are resized, linear interpolation has those of the image that stay, as in
  // ONNX Runtime: they change how a sum is rounded.
  bool is_interpolated(std::size_t axis) const {
    if (!axes_[axis].stays()) return true;
    const std::size_t rank = axes_.size();
    const bool has_channels_last = rank == 4 && !axes_[1].stays();
    return sampling_.mode == "linear" && rank <= 5 && !has_channels_last &&
           axis >= std::min<std::size_t>(rank - std::min<std::size_t>(rank, 2), 2);
  }

  bool lies_outside(const std::vector<std::size_t>& at) const {
    for (std::size_t d = 0; d < at.size(); ++d) {
      if (taps_[d].count > 0 && taps_[d].outside[at[d]]) return true;
    }
    return false;
  }

  // A weight is the product of those of the axes, the last axis first.
  template <typename T>
  float linear(std::span<const T> from, const std::vector<std::size_t>& at) const {
    std::array<std::size_t, 8> moving{};
    std::size_t count = 0;
    std::int64_t base = 0;
    for (std::size_t d = 0; d < at.size(); ++d) {
      if (taps_[d].count == 0) {
        base += static_cast<std::int64_t>(at[d]) * steps_[d];
      } else {
        moving[count++] = d;
      }
    }
    float sum = 0;
    for (std::size_t corner = 0; corner < std::size_t{1} << count; ++corner) {
      std::int64_t place = base;
      float weight = 1;
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t d = moving[count - 1 - i];
        const std::size_t tap = 2 * at[d] + ((corner >> i) & 1);
        place += taps_[d].positions[tap] * steps_[d];
        weight *= taps_[d].weights[tap];
      }
      const float term = weight * static_cast<float>(from[static_cast<std::size_t>(place)]);
      sum = corner == 0 ? term : sum + term;
    }
    return sum;
  }

  // The sum over the axes from `axis` on.
  template <typename T>
  float cubic(std::span<const T> from, const std::vector<std::size_t>& at, std::size_t axis,
              std::int64_t base) const {
    if (axis == at.size()) return static_cast<float>(from[static_cast<std::size_t>(base)]);
    const Taps& taps = taps_[axis];
    if (taps.count == 0) {
      return cubic(from, at, axis + 1, base + static_cast<std::int64_t>(at[axis]) * steps_[axis]);
    }
    float sum = 0;
    for (std::size_t tap = taps.count * at[axis]; tap < taps.count * (at[axis] + 1); ++tap) {
      sum +=
          taps.weights[tap] * cubic(from, at, axis + 1, base + taps.positions[tap] * steps_[axis]);
    }
    return sum;
  }

  const Sampling& sampling_;
  const std::vector<Resized>& axes_;
  std::vector<std::int64_t> steps_;
  std::vector<Taps> taps_;
};

void resize_to(HostCall& call, const Sampling& sampling, const std::vector<Resized>& axes) {
  const Tensor& input = call.input(0);
  Shape shape;
  std::size_t moving = 0;
  for (const Resized& axis : axes) {
    if (axis.to > 0 && axis.from == 0) call.malformed("an axis of nothing resized", "elements");
    shape.push_back(axis.to);
    moving += axis.stays() ? 0 : 1;
  }
  const bool is_nearest = sampling.mode == "nearest";
  if (!is_nearest && (axes.size() > 8 || moving > 3)) {
    call.refuse("interpolation over " + std::to_string(moving) + " of " +
                    std::to_string(axes.size()) + " axes",
                "3 of 8");
  }
  const bool is_small = input.dtype == DType::kInt8 || input.dtype == DType::kUint8;
  if (!is_nearest && input.dtype != DType::kFloat32 && !is_small) {
    call.refuse("interpolation of " + std::string(dtype_name(input.dtype)), "float32, int8, uint8");
  }
  Tensor* out = call.output(0, input.dtype, shape);
  if (out == nullptr || out->bytes.empty()) return;
  if (shape == input.shape) {  // ONNX Runtime's too, whatever the scales
    out->bytes = input.bytes;
    return;
  }
  if (!is_nearest) {
    const Interpolation interpolation(sampling, input.shape, axes);
    with_type(input.dtype,
              [&]<typename T>() { interpolation.run(elements<T>(input), elements<T>(*out)); });
    return;
  }
  if (sampling.coordinates == "tf_crop_and_resize") {
    with_type(out->dtype, [&]<typename T>() {
      std::ranges::fill(elements<T>(*out), saturated<T>(static_cast<double>(sampling.outside)));
    });
  }
  Picks picks;
  for (const Resized& axis : axes) picks.push_back(nearest_positions(sampling, axis));
  pick(input, input.shape, picks, *out);
}

// The axes that scales name; an axis not named stays.
void set_scales(const HostCall& call, const std::vector<double>& scales,
                const std::vector<std::size_t>& named, std::vector<Resized>& axes) {
  if (scales.size() != named.size()) {
    call.malformed(std::to_string(scales.size()) + " scales", std::to_string(named.size()));
  }
  for (std::size_t i = 0; i < named.size(); ++i) {
    const auto scale = static_cast<float>(scales[i]);
    if (!(scale > 0) || !std::isfinite(scale)) {
      call.malformed("a scale of " + std::to_string(scale), "above 0");
    }
    Resized& axis = axes[named[i]];
    axis.scale = scale;
    axis.to = saturated<std::int64_t>(static_cast<double>(scale * static_cast<float>(axis.from)));
  }
}

void set_sizes(const HostCall& call, const Integers& sizes, const std::vector<std::size_t>& named,
               std::vector<Resized>& axes) {
  const std::string policy = call.attribute("keep_aspect_ratio_policy", "stretch");
  if (sizes.size() != named.size()) {
    call.malformed(std::to_string(sizes.size()) + " sizes", std::to_string(named.size()));
  }
  const bool is_larger = policy == "not_smaller";
  std::optional<float> common;
  for (std::size_t i = 0; i < named.size(); ++i) {
    Resized& axis = axes[named[i]];
    if (sizes[i] < 0) call.malformed("a size of " + std::to_string(sizes[i]), "0 or more");
    axis.to = sizes[i];
    axis.scale = axis.from == 0 ? 1 : static_cast<float>(sizes[i]) / static_cast<float>(axis.from);
    if (!common || (is_larger ? axis.scale > *common : axis.scale < *common)) common = axis.scale;
  }
  if (policy == "stretch" || !common) return;
  if (!is_larger && policy != "not_larger") {
    call.malformed("keep_aspect_ratio_policy '" + policy + "'",
                   "stretch, not_larger or not_smaller");
  }
  for (const std::size_t name : named) {
    axes[name].scale = *common;
    axes[name].to = saturated<std::int64_t>(
        std::round(static_cast<double>(*common * static_cast<float>(axes[name].from))));
  }
}

std::vector<Resized> unresized(const Shape& shape) {
  std::vector<Resized> axes;
  for (const std::int64_t size : shape) axes.push_back({size, size});
  return axes;
}

void require_one_of(const HostCall& call, const char* attribute, const std::string& value,
                    std::initializer_list<std::string_view> known) {
  if (std::ranges::find(known, value) != known.end()) return;
  std::string names;
  for (const std::string_view name : known)
    names += (names.empty() ? "" : ", ") + std::string(name);
  call.refuse(std::string(attribute) + " '" + value + "'", names);
}

std::vector<std::size_t> resized_axes(const HostCall& call) {
  const std::size_t rank = call.shape(0).size();
  return distinct_axes(
      call, call.integer_list("axes").value_or(counted(static_cast<std::int64_t>(rank))), rank);
}

void set_roi(const HostCall& call, const std::vector<std::size_t>& named,
             std::vector<Resized>& axes) {
  const std::vector<double> roi = call.reals(1);
  if (roi.size() != 2 * named.size()) {
    call.malformed("a roi of " + std::to_string(roi.size()) + " numbers",
                   std::to_string(2 * named.size()));
  }
  for (std::size_t i = 0; i < named.size(); ++i) {
    axes[named[i]].roi_start = static_cast<float>(roi[i]);
    axes[named[i]].roi_end = static_cast<float>(roi[named.size() + i]);
  }
}

void resize(HostCall& call) {
  Sampling sampling;
  std::vector<Resized> axes = unresized(call.shape(0));
  const std::vector<std::size_t> named = resized_axes(call);
  sampling.mode = call.attribute("mode", "nearest");
  require_one_of(call, "mode", sampling.mode, {"nearest", "linear", "cubic"});
  if (call.opset() < 11) {
    sampling.coordinates = "asymmetric";
    sampling.rounding = "by_scale";
    set_scales(call, call.reals(1), named, axes);
    resize_to(call, sampling, axes);
    return;
  }
  sampling.coordinates = call.attribute("coordinate_transformation_mode", "half_pixel");
  sampling.rounding = call.attribute("nearest_mode", "round_prefer_floor");
  sampling.cubic = call.attribute("cubic_coeff_a", -0.75F);
  sampling.leaves_out = call.attribute("exclude_outside", std::int64_t{0}) != 0;
  sampling.outside = call.attribute("extrapolation_value", 0.0F);
  require_one_of(call, "coordinate_transformation_mode", sampling.coordinates,
                 {"half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners",
                  "tf_half_pixel_for_nn", "tf_crop_and_resize", "half_pixel_symmetric"});
  require_one_of(call, "nearest_mode", sampling.rounding,
                 {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  if (call.attribute("antialias", std::int64_t{0}) != 0) call.refuse("antialias 1", "0");
  if (call.has(2) && element_count(call.shape(2)) > 0) {
    set_scales(call, call.reals(2), named, axes);
  } else if (call.has(3)) {
    set_sizes(call, call.integers(3), named, axes);
  } else {
    call.malformed("no scales and no sizes", "one of them");
  }
  if (sampling.coordinates == "tf_crop_and_resize") set_roi(call, named, axes);
  resize_to(call, sampling, axes);
}

void upsample(HostCall& call) {
  Sampling sampling;
  std::vector<Resized> axes = unresized(call.shape(0));
  sampling.mode = call.attribute("mode", "nearest");
  sampling.coordinates = "asymmetric";
  sampling.rounding = "by_scale";
  require_one_of(call, "mode", sampling.mode, {"nearest", "linear"});
  std::vector<double> scales;
  if (call.opset() >= 9) {
    scales = call.reals(1);
  } else if (const auto list = call.real_list("scales")) {
    scales.assign(list->begin(), list->end());
  }
  set_scales(call, scales, resized_axes(call), axes);
  resize_to(call, sampling, axes);
}

constexpr std::array<HostOperator, 2> kResizeOperators = {{
    {"Resize", resize},
    {"Upsample", upsample},
}};

}  // namespace

std::span<const HostOperator> resize_operators() { return kResizeOperators; }

}  // namespace qsim::golden
