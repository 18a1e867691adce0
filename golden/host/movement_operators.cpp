#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <numeric>
#include <string>
#include <utility>

#include "golden/host/movement.h"

namespace qsim::golden {

namespace {

void give_shaped(HostCall& call, Shape shape) {
  const Tensor& input = call.input(0);
  if (element_count(shape) != input.elems()) {
    call.malformed("a shape " + shape_text(shape) + " for a tensor " + shape_text(input.shape),
                   "as many elements");
  }
  Tensor* out = call.output(0, input.dtype, std::move(shape));
  if (out != nullptr) out->bytes = input.bytes;
}

void require_count(const HostCall& call, std::size_t found, std::size_t expected,
                   const char* what) {
  if (found != expected) {
    call.malformed(std::to_string(found) + " " + what, std::to_string(expected));
  }
}

void reshape(HostCall& call) {
  const Shape& from = call.shape(0);
  Shape shape = call.integers(1);
  const bool keeps_zeros = call.attribute("allowzero", std::int64_t{0}) != 0;
  std::optional<std::size_t> open;
  std::int64_t others = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0 && !keeps_zeros) {
      if (d >= from.size()) call.malformed("a 0 beyond the axes", "a size");
      shape[d] = from[d];
    }
    if (shape[d] < -1 || (shape[d] == -1 && open)) {
      call.malformed("a shape " + shape_text(shape), "sizes and at most one -1");
    }
    if (shape[d] == -1) {
      open = d;
    } else {
      others = checked_mul(others, shape[d]);
    }
  }
  if (open) {
    if (others == 0) call.malformed("a shape " + shape_text(shape), "no 0 beside -1");
    shape[*open] = element_count(from) / others;
  }
  give_shaped(call, std::move(shape));
}

void flatten(HostCall& call) {
  const Shape& from = call.shape(0);
  const std::int64_t named = call.attribute("axis", std::int64_t{1});
  const std::size_t rank = from.size();
  const std::size_t axis = named == static_cast<std::int64_t>(rank) ? rank : call.axis(named, rank);
  give_shaped(call, {elements_between(from, 0, axis), elements_between(from, axis, rank)});
}

void squeeze(HostCall& call) {
  const Shape& from = call.shape(0);
  const std::optional<Integers> axes = listed(call, "axes", 1, 13);
  std::vector<bool> drops(from.size(), false);
  if (axes) {
    for (const std::size_t axis : distinct_axes(call, *axes, from.size())) {
      if (from[axis] != 1) {
        call.malformed("axis " + std::to_string(axis) + " of " + shape_text(from), "a size of 1");
      }
      drops[axis] = true;
    }
  }
  Shape shape;
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (axes ? !drops[d] : from[d] != 1) shape.push_back(from[d]);
  }
  give_shaped(call, std::move(shape));
}

void unsqueeze(HostCall& call) {
  const std::optional<Integers> axes = listed(call, "axes", 1, 13);
  if (!axes) call.malformed("no axes", "axes");
  Shape shape(call.shape(0).size() + axes->size(), kNowhere);
  for (const std::size_t axis : distinct_axes(call, *axes, shape.size())) shape[axis] = 1;
  std::size_t next = 0;
  for (std::int64_t& size : shape) {
    if (size == kNowhere) size = call.shape(0)[next++];
  }
  give_shaped(call, std::move(shape));
}

void transpose(HostCall& call) {
  const Tensor& input = call.input(0);
  const std::size_t rank = input.shape.size();
  Integers named = counted(static_cast<std::int64_t>(rank));
  std::ranges::reverse(named);
  if (const auto perm = call.integer_list("perm")) named = *perm;
  require_count(call, named.size(), rank, "axes in perm");
  const std::vector<std::size_t> permutation = distinct_axes(call, named, rank);
  Tensor* out = call.output(0, input.dtype, permuted(input.shape, permutation));
  if (out != nullptr) transpose_to(input, input.shape, permutation, *out);
}

void concat(HostCall& call) {
  Shape shape = call.shape(0);
  const std::size_t axis = call.axis(call.attribute("axis", std::int64_t{1}), shape.size());
  for (std::size_t i = 1; i < call.inputs(); ++i) {
    Shape other = call.shape(i);
    const std::int64_t size = other.size() == shape.size() ? other[axis] : 0;
    if (other.size() == shape.size()) other[axis] = shape[axis];
    if (other != shape || call.dtype(i) != call.dtype(0)) {
      call.malformed("input " + std::to_string(i) + " is " + shape_text(call.shape(i)),
                     "what input 0 is but for axis " + std::to_string(axis));
    }
    shape[axis] = checked_add(shape[axis], size);
  }
  Tensor* out = call.output(0, call.dtype(0), shape);
  if (out == nullptr || out->bytes.empty()) return;
  const auto rows = static_cast<std::size_t>(elements_between(shape, 0, axis));
  const std::size_t row_bytes = out->bytes.size() / rows;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < call.inputs(); ++i) {
    const std::vector<std::byte>& part = call.input(i).bytes;
    const std::size_t bytes = part.size() / rows;
    if (bytes == 0) continue;
    for (std::size_t row = 0; row < rows; ++row) {
      std::memcpy(out->bytes.data() + row * row_bytes + begin, part.data() + row * bytes, bytes);
    }
    begin += bytes;
  }
}

// The sizes of the parts of a Split.
Integers part_sizes(const HostCall& call, std::int64_t size) {
  const auto parts = static_cast<std::int64_t>(call.node().outputs.size());
  if (const auto sizes = listed(call, "split", 1, 13)) {
    require_count(call, sizes->size(), static_cast<std::size_t>(parts), "sizes of parts");
    return *sizes;
  }
  if (parts == 0) call.malformed("no outputs", "one at least");
  if (call.has_attribute("num_outputs")) {
    if (call.attribute("num_outputs", parts) != parts) {
      call.malformed("num_outputs of another number than the outputs", std::to_string(parts));
    }
  } else if (size % parts != 0) {
    call.malformed("a size of " + std::to_string(size) + " for " + std::to_string(parts) + " parts",
                   "equal parts");
  }
  Integers sizes(static_cast<std::size_t>(parts), size / parts + (size % parts != 0 ? 1 : 0));
  sizes.back() = size - checked_mul(sizes[0], parts - 1);
  return sizes;
}

void split(HostCall& call) {
  const Tensor& input = call.input(0);
  const std::size_t axis = call.axis(call.attribute("axis", std::int64_t{0}), input.shape.size());
  const Integers sizes = part_sizes(call, input.shape[axis]);
  require_sizes(call, sizes, "parts of");
  std::int64_t total = 0;
  for (const std::int64_t size : sizes) total = checked_add(total, size);
  if (total != input.shape[axis]) {
    call.malformed(
        "parts of " + shape_text(sizes) + " for a size of " + std::to_string(input.shape[axis]),
        "parts that make it up");
  }
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    Shape shape = input.shape;
    shape[axis] = sizes[i];
    Tensor* out = call.output(i, input.dtype, shape);
    if (out != nullptr && !out->bytes.empty()) {
      const Shape view = around(input.shape, axis);
      Integers positions = counted(sizes[i]);
      for (std::int64_t& position : positions) position += begin;
      pick(input, view, {counted(view[0]), positions, counted(view[2])}, *out);
    }
    begin += sizes[i];
  }
}

// The part of an axis that a Slice takes.
struct Cut {
  std::int64_t start = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};

Cut cut(std::int64_t size, std::int64_t start, std::int64_t end, std::int64_t step) {
  if (size == 0) return {};
  step = std::max(step, -std::numeric_limits<std::int64_t>::max());
  const std::int64_t low = step > 0 ? 0 : -1;
  const std::int64_t high = step > 0 ? size : size - 1;
  start = std::clamp<std::int64_t>(start < 0 ? start + size : start, 0, high);
  end = std::clamp(end < 0 ? end + size : end, low, high);
  const std::int64_t distance = step > 0 ? end - start : start - end;
  return {start, step, distance <= 0 ? 0 : (distance - 1) / std::abs(step) + 1};
}

void slice(HostCall& call) {
  const Tensor& input = call.input(0);
  const std::size_t rank = input.shape.size();
  const std::optional<Integers> starts = listed(call, "starts", 1, 10);
  const std::optional<Integers> ends = listed(call, "ends", 2, 10);
  if (!starts || !ends) call.malformed("no starts or no ends", "both");
  const Integers named =
      listed(call, "axes", 3, 10).value_or(counted(static_cast<std::int64_t>(starts->size())));
  const Integers steps = listed(call, "steps", 4, 10).value_or(Integers(named.size(), 1));
  require_count(call, starts->size(), named.size(), "starts");
  require_count(call, ends->size(), named.size(), "ends");
  require_count(call, steps.size(), named.size(), "steps");
  const std::vector<std::size_t> axes = distinct_axes(call, named, rank);
  std::vector<Cut> cuts;
  for (const std::int64_t size : input.shape) cuts.push_back({0, 1, size});
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (steps[i] == 0) call.malformed("a step of 0", "another");
    cuts[axes[i]] = cut(input.shape[axes[i]], (*starts)[i], (*ends)[i], steps[i]);
  }
  Shape shape;
  for (const Cut& cut : cuts) shape.push_back(cut.count);
  Tensor* out = call.output(0, input.dtype, shape);
  if (out == nullptr || out->bytes.empty()) return;
  Picks picks;
  for (const Cut& cut : cuts) {
    picks.push_back(counted(cut.count));
    for (std::int64_t& position : picks.back()) position = cut.start + position * cut.step;
  }
  pick(input, input.shape, picks, *out);
}

// Each axis of the result repeats the axis of the input.
void repeat(HostCall& call, const Shape& from, const Shape& shape) {
  Tensor* out = call.output(0, call.dtype(0), shape);
  if (out == nullptr || out->bytes.empty()) return;
  Picks picks;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    picks.push_back(counted(shape[d]));
    for (std::int64_t& position : picks.back()) position %= from[d];
  }
  pick(call.input(0), from, picks, *out);
}

void expand(HostCall& call) {
  const Integers wanted = call.integers(1);
  require_sizes(call, wanted, "a shape");
  const Shape shape = broadcast(call, call.shape(0), wanted);
  Shape from(shape.size() - call.shape(0).size(), 1);
  from.insert(from.end(), call.shape(0).begin(), call.shape(0).end());
  repeat(call, from, shape);
}

void tile(HostCall& call) {
  const Integers repeats = call.integers(1);
  require_count(call, repeats.size(), call.shape(0).size(), "repeats");
  require_sizes(call, repeats, "repeats");
  Shape shape = call.shape(0);
  for (std::size_t d = 0; d < shape.size(); ++d) shape[d] = checked_mul(shape[d], repeats[d]);
  repeat(call, call.shape(0), shape);
}

// The position within an axis of `size` that Pad's mode puts at a position outside of it.
std::int64_t padded(std::int64_t at, std::int64_t size, std::string_view mode) {
  if (at >= 0 && at < size) return at;
  if (mode == "constant") return kNowhere;
  if (mode == "edge" || size == 1) return std::clamp<std::int64_t>(at, 0, size - 1);
  const std::int64_t period = mode == "wrap" ? size : 2 * (size - 1);
  const std::int64_t within = (at % period + period) % period;
  return within < size ? within : period - within;
}

struct AxisPad {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

std::vector<AxisPad> axis_pads(const HostCall& call) {
  const std::size_t rank = call.shape(0).size();
  const std::optional<Integers> pads = listed(call, "pads", 1, 11);
  if (!pads) call.malformed("no pads", "pads");
  Integers named = counted(static_cast<std::int64_t>(rank));
  if (call.opset() >= 18 && call.has(3)) named = call.integers(3);
  const std::vector<std::size_t> axes = distinct_axes(call, named, rank);
  require_count(call, pads->size(), 2 * axes.size(), "pads");
  std::vector<AxisPad> result(rank);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    result[axes[i]] = {(*pads)[i], (*pads)[axes.size() + i]};
  }
  return result;
}

void fill_pads(const HostCall& call, Tensor& out) {
  if (call.opset() < 11) {
    with_type(out.dtype, [&]<typename T>() {
      const T value = saturated<T>(static_cast<double>(call.attribute("value", 0.0F)));
      fill(out, std::as_bytes(std::span(&value, 1)));
    });
  } else if (call.has(2) && !call.input(2).bytes.empty()) {
    const Tensor& value = call.input(2);
    if (value.dtype != out.dtype || value.elems() != 1) {
      call.malformed(
          "a value of " + std::string(dtype_name(value.dtype)) + " " + shape_text(value.shape),
          "one " + std::string(dtype_name(out.dtype)));
    }
    fill(out, value.bytes);
  }
}

void pad(HostCall& call) {
  const Tensor& input = call.input(0);
  const std::string mode = call.attribute("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap") {
    call.refuse("mode '" + mode + "'", "constant, reflect, edge, wrap");
  }
  const std::vector<AxisPad> pads = axis_pads(call);
  Shape shape;
  Shape kept;  // what is left of each axis when pads below 0 have cut it
  for (std::size_t d = 0; d < pads.size(); ++d) {
    const std::int64_t size = input.shape[d];
    shape.push_back(checked_add(checked_add(size, pads[d].begin), pads[d].end));
    kept.push_back(checked_add(checked_add(size, std::min<std::int64_t>(pads[d].begin, 0)),
                               std::min<std::int64_t>(pads[d].end, 0)));
    if (kept[d] < 0 || (kept[d] == 0 && shape[d] > 0 && mode != "constant")) {
      call.malformed("pads " + std::to_string(pads[d].begin) + " and " +
                         std::to_string(pads[d].end) + " of a size of " + std::to_string(size),
                     "pads that leave something of it");
    }
  }
  Tensor* out = call.output(0, input.dtype, shape);
  if (out == nullptr || out->bytes.empty()) return;
  if (mode == "constant") fill_pads(call, *out);
  Picks picks;
  for (std::size_t d = 0; d < pads.size(); ++d) {
    const std::int64_t cut = std::max<std::int64_t>(-pads[d].begin, 0);
    picks.push_back(counted(shape[d]));
    for (std::int64_t& position : picks.back()) {
      const std::int64_t at =
          padded(position - std::max<std::int64_t>(pads[d].begin, 0), kept[d], mode);
      position = at == kNowhere ? kNowhere : at + cut;
    }
  }
  pick(input, input.shape, picks, *out);
}

void center_crop_pad(HostCall& call) {
  const Tensor& input = call.input(0);
  const std::size_t rank = input.shape.size();
  const Integers sizes = call.integers(1);
  require_sizes(call, sizes, "a shape");
  const std::vector<std::size_t> axes = distinct_axes(
      call, call.integer_list("axes").value_or(counted(static_cast<std::int64_t>(rank))), rank);
  require_count(call, sizes.size(), axes.size(), "sizes");
  Shape shape = input.shape;
  for (std::size_t i = 0; i < axes.size(); ++i) shape[axes[i]] = sizes[i];
  Tensor* out = call.output(0, input.dtype, shape);
  if (out == nullptr || out->bytes.empty()) return;
  Picks picks;
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t shift = shape[d] > input.shape[d] ? -((shape[d] - input.shape[d]) / 2)
                                                         : (input.shape[d] - shape[d]) / 2;
    picks.push_back(counted(shape[d]));
    for (std::int64_t& position : picks.back()) {
      position = padded(position + shift, input.shape[d], "constant");
    }
  }
  pick(input, input.shape, picks, *out);
}

constexpr std::array<HostOperator, 13> kShapeOperators = {{
    {"CenterCropPad", center_crop_pad},
    {"Concat", concat},
    {"Einsum", run_einsum},
    {"Expand", expand},
    {"Flatten", flatten},
    {"Pad", pad},
    {"Reshape", reshape},
    {"Slice", slice},
    {"Split", split},
    {"Squeeze", squeeze},
    {"Tile", tile},
    {"Transpose", transpose},
    {"Unsqueeze", unsqueeze},
}};

}  // namespace

std::span<const HostOperator> movement_operators() {
  static const std::vector<HostOperator> all = [] {
    std::vector<HostOperator> rows(kShapeOperators.begin(), kShapeOperators.end());
    for (const auto more :
         {value_operators(), selection_operators(), resize_operators(), sampling_operators()}) {
      rows.insert(rows.end(), more.begin(), more.end());
    }
    return rows;
  }();
  return all;
}

}  // namespace qsim::golden
