#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "core/base/checked_math.h"
#include "core/base/limits.h"
#include "golden/host/host_operators.h"
#include "golden/host/movement.h"

namespace qsim::golden {
namespace {

void shape_of(HostCall& call) {
  const Shape& shape = call.shape(0);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto within = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const std::int64_t start = within(call.attribute("start", std::int64_t{0}));
  const std::int64_t end = std::max(start, within(call.attribute("end", rank)));
  const std::span<const std::int64_t> sizes = std::span(shape).subspan(
      static_cast<std::size_t>(start), static_cast<std::size_t>(end - start));
  call.give(0, make_tensor({end - start}, sizes));
}

void size_of(HostCall& call) {
  const std::int64_t elements = call.input(0).elems();
  call.give(0, make_tensor({}, std::span<const std::int64_t>(&elements, 1)));
}

void constant(HostCall& call) {
  const auto give = [&]<typename T>(Shape shape, const std::vector<T>& values) {
    call.give(0, make_tensor(std::move(shape), std::span<const T>(values)));
  };
  if (const Tensor* value = call.tensor_attribute("value")) {
    call.give(0, *value);
  } else if (call.has_attribute("value_float")) {
    give({}, std::vector<float>{call.attribute("value_float", 0.0F)});
  } else if (call.has_attribute("value_int")) {
    give({}, Integers{call.attribute("value_int", std::int64_t{0})});
  } else if (const auto reals = call.real_list("value_floats")) {
    give({static_cast<std::int64_t>(reals->size())}, *reals);
  } else if (const auto integers = call.integer_list("value_ints")) {
    give({static_cast<std::int64_t>(integers->size())}, *integers);
  } else {
    call.refuse("another kind of value", "value, value_float(s), value_int(s)");
  }
}

void constant_of_shape(HostCall& call) {
  const Integers shape = call.integers(0);
  require_sizes(call, shape, "a shape");
  const Tensor* value = call.tensor_attribute("value");
  if (value != nullptr && value->elems() != 1) {
    call.malformed("a value of shape " + shape_text(value->shape), "one number");
  }
  Tensor* out = call.output(0, value == nullptr ? DType::kFloat32 : value->dtype, shape);
  if (out != nullptr && value != nullptr) fill(*out, value->bytes);
}

void range(HostCall& call) {
  const DType dtype = call.dtype(0);
  if (call.dtype(1) != dtype || call.dtype(2) != dtype) {
    call.malformed("inputs of several types", "one type");
  }
  with_type(dtype, [&]<typename T>() {
    const auto number = [&](std::size_t index) {
      if constexpr (std::integral<T>) return static_cast<T>(call.integer(index));
      if constexpr (!std::integral<T>) return static_cast<T>(call.real(index));
    };
    const T start = number(0);
    const T limit = number(1);
    const T delta = number(2);
    if (delta == T{0}) call.malformed("a delta of 0", "another");
    const double steps = std::ceil((static_cast<double>(limit) - static_cast<double>(start)) /
                                   static_cast<double>(delta));
    if (std::isnan(steps)) call.malformed("a range of NaN", "numbers");
    Tensor* out = call.output(0, dtype, {saturated<std::int64_t>(std::max(steps, 0.0))});
    if (out == nullptr) return;
    T value = start;
    for (T& element : elements<T>(*out)) {
      element = value;
      if constexpr (std::integral<T>) {
        value =
            static_cast<T>(static_cast<std::uint64_t>(value) + static_cast<std::uint64_t>(delta));
      } else {
        value += delta;
      }
    }
  });
}

// The side of DepthToSpace's blocks; the input has four axes.
std::int64_t block_side(const HostCall& call) {
  if (call.shape(0).size() != 4) call.malformed(shape_text(call.shape(0)), "four axes");
  const std::int64_t side = call.attribute("blocksize", std::int64_t{0});
  if (side < 1) call.malformed("blocksize " + std::to_string(side), "1 or more");
  return side;
}

void depth_to_space(HostCall& call) {
  const std::int64_t side = block_side(call);
  const Shape& in = call.shape(0);
  const std::int64_t depth = in[1] / checked_mul(side, side);
  if (depth * side * side != in[1]) {
    call.malformed(std::to_string(in[1]) + " channels", "a multiple of blocksize squared");
  }
  const std::string mode = call.attribute("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") call.malformed("mode '" + mode + "'", "DCR or CRD");
  Tensor* out = call.output(0, call.dtype(0),
                            {in[0], depth, checked_mul(in[2], side), checked_mul(in[3], side)});
  if (out == nullptr) return;
  if (mode == "DCR") {
    transpose_to(call.input(0), {in[0], side, side, depth, in[2], in[3]}, {0, 3, 4, 1, 5, 2}, *out);
  } else {
    transpose_to(call.input(0), {in[0], depth, side, side, in[2], in[3]}, {0, 1, 4, 2, 5, 3}, *out);
  }
}

void space_to_depth(HostCall& call) {
  const std::int64_t side = block_side(call);
  const Shape& in = call.shape(0);
  if (in[2] % side != 0 || in[3] % side != 0) {
    call.malformed(shape_text(in), "multiples of blocksize");
  }
  Tensor* out =
      call.output(0, call.dtype(0),
                  {in[0], checked_mul(in[1], checked_mul(side, side)), in[2] / side, in[3] / side});
  if (out == nullptr) return;
  transpose_to(call.input(0), {in[0], in[1], in[2] / side, side, in[3] / side, side},
               {0, 3, 5, 1, 2, 4}, *out);
}

void trilu(HostCall& call) {
  const Tensor& input = call.input(0);
  const std::size_t rank = input.shape.size();
  if (rank < 2) call.malformed(shape_text(input.shape), "two axes or more");
  const bool upper = call.attribute("upper", std::int64_t{1}) != 0;
  const std::int64_t rows = input.shape[rank - 2];
  const std::int64_t columns = input.shape[rank - 1];
  const std::int64_t diagonal =
      std::clamp(call.has(1) ? call.integer(1) : std::int64_t{0}, -rows, columns);
  Tensor* out = call.output(0, input.dtype, input.shape);
  if (out == nullptr || out->bytes.empty()) return;
  const std::size_t size = dtype_bytes(input.dtype);
  const std::int64_t all_rows = elements_between(input.shape, 0, rank - 1);
  for (std::int64_t row = 0; row < all_rows; ++row) {
    const std::int64_t edge =
        std::clamp<std::int64_t>(row % rows + diagonal + (upper ? 0 : 1), 0, columns);
    const auto begin = static_cast<std::size_t>(row * columns + (upper ? edge : 0)) * size;
    const auto bytes = static_cast<std::size_t>(upper ? columns - edge : edge) * size;
    std::memcpy(out->bytes.data() + begin, input.bytes.data() + begin, bytes);
  }
}

void reverse_sequence(HostCall& call) {
  const Tensor& input = call.input(0);
  const std::int64_t time_axis = call.attribute("time_axis", std::int64_t{0});
  const std::int64_t batch_axis = call.attribute("batch_axis", std::int64_t{1});
  if (input.shape.size() < 2 || (time_axis != 0 && time_axis != 1) || batch_axis != 1 - time_axis) {
    call.malformed(
        "time_axis " + std::to_string(time_axis) + ", batch_axis " + std::to_string(batch_axis),
        "0 and 1");
  }
  const auto times = input.shape[static_cast<std::size_t>(time_axis)];
  const auto batches = input.shape[static_cast<std::size_t>(batch_axis)];
  if (call.shape(1) != Shape{batches}) {
    call.malformed("lengths " + shape_text(call.shape(1)), shape_text({batches}));
  }
  Tensor* out = call.output(0, input.dtype, input.shape);
  if (out == nullptr || out->bytes.empty()) return;
  const Integers lengths = call.integers(1);
  const std::size_t block = input.bytes.size() / static_cast<std::size_t>(times * batches);
  const auto at = [&](std::int64_t time, std::int64_t batch) {
    return static_cast<std::size_t>(time_axis == 0 ? time * batches + batch
                                                   : batch * times + time) *
           block;
  };
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    const std::int64_t length = lengths[static_cast<std::size_t>(batch)];
    if (length < 0 || length > times) {
      call.malformed("a length of " + std::to_string(length), "0 to " + std::to_string(times));
    }
    for (std::int64_t time = 0; time < times; ++time) {
      const std::int64_t from = time < length ? length - 1 - time : time;
      std::memcpy(out->bytes.data() + at(time, batch), input.bytes.data() + at(from, batch), block);
    }
  }
}

constexpr std::array<HostOperator, 9> kValueOperators = {{
    {"Constant", constant},
    {"ConstantOfShape", constant_of_shape},
    {"DepthToSpace", depth_to_space},
    {"Range", range},
    {"ReverseSequence", reverse_sequence},
    {"Shape", shape_of},
    {"Size", size_of},
    {"SpaceToDepth", space_to_depth},
    {"Trilu", trilu},
}};

}  // namespace

std::span<const HostOperator> value_operators() { return kValueOperators; }

}  // namespace qsim::golden
