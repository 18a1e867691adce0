#include "golden/c_interface/train_views.h"

#include <vector>

#include "golden/c_interface/window.h"

namespace qsim::golden::c_interface {
namespace {

struct Axis {
  std::int64_t size;
  std::int64_t stride;
};

// The axes begin..end - 1; those that follow each other without gaps are one.
std::vector<Axis> joined(const View& view, std::size_t begin, std::size_t end) {
  std::vector<Axis> axes;
  for (std::size_t axis = begin; axis < end; ++axis) {
    const Axis next = {view.shape[axis], view.strides[axis]};
    if (next.size == 0) return {{0, 1}};
    if (next.size == 1) continue;
    if (!axes.empty() && axes.back().stride == next.size * next.stride) {
      axes.back() = {axes.back().size * next.size, next.stride};
    } else {
      axes.push_back(next);
    }
  }
  return axes;
}

// Strides of axes of one place do not matter: they become those of a tensor without gaps.
void set_free_strides(train::RealTensor& x) {
  for (std::size_t axis = 4; axis-- > 0;) {
    if (x.shape[axis] != 1) continue;
    x.strides[axis] = axis == 3 ? 1 : x.shape[axis + 1] * x.strides[axis + 1];
  }
}

train::RealType real_type(std::int32_t dtype) {
  return dtype == QSIM_FLOAT32   ? train::RealType::kFloat32
         : dtype == QSIM_FLOAT16 ? train::RealType::kFloat16
                                 : train::RealType::kBfloat16;
}

// A tensor whose shape alone counts.
View shape_alone(Call& call, const char* what, const qsim_tensor* tensor) {
  call.require(what, tensor);
  qsim_tensor described = *tensor;
  described.strides = nullptr;
  described.data = &described;
  View view = call.tensor(what, &described, {QSIM_INT8}, 4);
  view.data = nullptr;
  return view;
}

std::int64_t outputs_of(const Call& call, const char* axis, std::int64_t size, std::int64_t extent,
                        std::int64_t stride, std::int64_t pads) {
  if (extent > size + pads) {
    throw_bad_input(call.place("window") + " spans " + std::to_string(extent) + " " + axis +
                    "; the picture with its pads has " + std::to_string(size + pads));
  }
  return (size + pads - extent) / stride + 1;
}

}  // namespace

void require_struct(const Call& call, const char* what, std::size_t found, std::size_t expected) {
  if (found == expected) return;
  throw_bad_input(call.place(what) + ": struct_bytes is " + std::to_string(found) +
                  "; expected sizeof(qsim_" + what + "), which is " + std::to_string(expected));
}

void require_range(const Call& call, const char* field, std::int64_t found, std::int64_t least,
                   std::int64_t most) {
  if (found >= least && found <= most) return;
  const std::string allowed = std::to_string(least) + " to " + std::to_string(most);
  call.refuse_value(field, found, allowed.c_str());
}

bool flag_of(const Call& call, const char* field, std::int32_t value) {
  if (value != 0 && value != 1) call.refuse_value(field, value, "0 and 1");
  return value == 1;
}

train::Levels levels_of(const Call& call, const qsim_levels* levels) {
  call.require("levels", levels);
  require_struct(call, "levels", levels->struct_bytes, sizeof(qsim_levels));
  require_range(call, "lo", levels->lo, -128, 0);
  require_range(call, "hi", levels->hi, 1, 127);
  require_range(call, "rounding", levels->rounding, QSIM_LEVEL_HALF_EVEN, QSIM_LEVEL_TOWARD_ZERO);
  require_range(call, "scale_kind", levels->scale_kind, QSIM_SCALE_GIVEN, QSIM_SCALE_AFFINE);
  train::Levels result;
  result.lo = levels->lo;
  result.hi = levels->hi;
  result.rounding = static_cast<train::LevelRounding>(levels->rounding);
  result.scale_kind = static_cast<train::ScaleKind>(levels->scale_kind);
  return result;
}

train::RealTensor real_of(const View& view, Keep keep) {
  const std::size_t rank = view.shape.size();
  const std::size_t first = keep == Keep::kFirst || keep == Keep::kAll ? std::min(rank, 1UL) : 0;
  const std::size_t last = keep == Keep::kLast && rank > 0 ? rank - 1 : rank;
  std::vector<Axis> axes = joined(view, first, last);
  if (keep == Keep::kAll) {
    axes.clear();
    for (std::size_t axis = first; axis < rank; ++axis) {
      axes.push_back({view.shape[axis], view.strides[axis]});
    }
  } else if (last < rank) {
    axes.push_back({view.shape[last], view.strides[last]});
  }
  if (axes.size() + first > 4) {
    throw_bad_input(view.name + " has " + std::to_string(axes.size() + first) +
                    " axes that do not join; allowed: 4");
  }
  train::RealTensor result;
  result.data = view.data;
  result.type = real_type(view.dtype);
  result.shape = {1, 1, 1, 1};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    result.shape[4 - axes.size() + i] = axes[i].size;
    result.strides[4 - axes.size() + i] = axes[i].stride;
  }
  if (first == 1) {
    result.shape[0] = view.shape[0];
    result.strides[0] = view.strides[0];
  }
  set_free_strides(result);
  return result;
}

std::uint8_t* bits_of_elems(Call& call, const char* what, const qsim_tensor* bits,
                            std::int64_t elems) {
  return data_of<std::uint8_t>(call, what, bits, QSIM_UINT8, {(elems + 7) / 8});
}

const std::int32_t* zero_point_of(Call& call, const char* what, const qsim_tensor* zero_point) {
  const auto* data = data_of<const std::int32_t>(call, what, zero_point, QSIM_INT32, {1});
  if (data != nullptr && !call.is_cuda()) require_range(call, what, *data, -128, 127);
  return data;
}

Window checked_window(const Call& call, const qsim_window* given, std::int64_t kernel_h,
                      std::int64_t kernel_w) {
  const Window window = window_of(call, given, kernel_h, kernel_w);
  constexpr std::int64_t kMost = INT32_MAX;
  require_range(call, "kernel_h", window.kernel_h, 1, kMost);
  require_range(call, "kernel_w", window.kernel_w, 1, kMost);
  require_range(call, "stride_h", window.stride_h, 1, kMost);
  require_range(call, "stride_w", window.stride_w, 1, kMost);
  require_range(call, "dilation_h", window.dilation_h, 1, kMost);
  require_range(call, "dilation_w", window.dilation_w, 1, kMost);
  require_range(call, "pad_top", window.pad_top, 0, kMost);
  require_range(call, "pad_left", window.pad_left, 0, kMost);
  require_range(call, "pad_bottom", window.pad_bottom, 0, kMost);
  require_range(call, "pad_right", window.pad_right, 0, kMost);
  return window;
}

ImageShape shape_under(const Call& call, const Window& w, const ImageShape& x,
                       std::int64_t channels) {
  const std::int64_t pads_h = w.pad_top + w.pad_bottom;
  const std::int64_t pads_w = w.pad_left + w.pad_right;
  return {x.batch, outputs_of(call, "rows", x.height, w.extent_h(), w.stride_h, pads_h),
          outputs_of(call, "columns", x.width, w.extent_w(), w.stride_w, pads_w), channels};
}

train::LevelConv conv_of_shapes(Call& call, const View& x, const View& w, const qsim_window* window,
                                std::int64_t groups) {
  train::LevelConv conv;
  conv.x_shape = image_of(x);
  conv.groups = groups;
  const std::int64_t outs = w.dim(0);
  if (conv.groups < 1) call.refuse_value("groups", conv.groups, "1 and more");
  if (conv.x_shape.channels % conv.groups != 0 || outs % conv.groups != 0) {
    throw_bad_input(call.place("groups") + ": " + std::to_string(conv.groups) +
                    " groups do not divide " + std::to_string(conv.x_shape.channels) +
                    " input channels and " + std::to_string(outs) + " output channels");
  }
  w.require_shape({outs, w.dim(1), w.dim(2), conv.in_channels()});
  conv.window = checked_window(call, window, w.dim(1), w.dim(2));
  conv.y_shape = shape_under(call, conv.window, conv.x_shape, outs);
  with_place(call.place("y"), [&] { return element_count(conv.y_shape.nhwc()); });
  return conv;
}

train::LevelConv conv_of(Call& call, const qsim_level_conv* given, Operands operands) {
  call.require("conv", given);
  require_struct(call, "level_conv", given->struct_bytes, sizeof(qsim_level_conv));
  const auto view_of = [&](const char* what, const qsim_tensor* tensor, Operands other) {
    return operands == other || operands == Operands::kNone
               ? shape_alone(call, what, tensor)
               : call.dense_tensor(what, tensor, {QSIM_INT8}, 4);
  };
  const View q = view_of("q", given->q, Operands::kWeights);
  const View w = view_of("w", given->w, Operands::kLevels);
  const std::int32_t* zero_point =
      operands == Operands::kNone ? nullptr : zero_point_of(call, "zero_point", given->zero_point);
  train::LevelConv conv = conv_of_shapes(call, q, w, given->window, given->groups);
  conv.q = reinterpret_cast<const std::int8_t*>(q.data);
  conv.w = reinterpret_cast<const std::int8_t*>(w.data);
  conv.zero_point = zero_point;
  return conv;
}

}  // namespace qsim::golden::c_interface
