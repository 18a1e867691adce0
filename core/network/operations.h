// What the layers of a graph compute, as plain data: one struct an operation, with its row of the
// table of operations. The operations read and write the Values of core/network/graph.h, and every
// activation is [N][H][W][C]. Between integer Values x' stands for x - zero_point, and a result is
// requantized; between float32 Values x' is x, nothing is rounded to levels, and what says how
// (requantization, rounding, lo, hi) has no effect.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/base/checked_math.h"
#include "core/base/tensor.h"
#include "core/numerics/requantize.h"
#include "core/numerics/requantizer.h"

namespace qsim {

// An operation's row of the table: what holds for it whatever its attributes.
struct OperationRow {
  std::string_view name;  // in layer traces, workload files and tables
  std::size_t least_operands = 1;
  std::size_t most_operands = 1;
  bool takes_integers = true;  // its Values may be int8 or uint8
  bool takes_reals = true;     // its Values may be float32
  // Its ofmap's levels are levels that it reads, or their zero_point: it rounds nothing, and the
  // Values around it have one dtype, scale and zero_point.
  bool selects_levels = false;
};
inline constexpr std::size_t kAnyOperands = std::numeric_limits<std::size_t>::max();
// Beside its row each struct has attributes(operation, visit), which calls visit(key, attribute)
// for each attribute, in the order in which a layer trace has them.

// A sliding window: kernel, stride, pads on each side (in input positions), and dilation: the
// distance of two neighbours of the kernel (1: they touch).
struct Window {
  std::int64_t kernel_h = 1;
  std::int64_t kernel_w = 1;
  std::int64_t stride_h = 1;
  std::int64_t stride_w = 1;
  std::int64_t pad_top = 0;
  std::int64_t pad_left = 0;
  std::int64_t pad_bottom = 0;
  std::int64_t pad_right = 0;
  std::int64_t dilation_h = 1;
  std::int64_t dilation_w = 1;

  // Input positions from the first row (column) of the kernel to the last, both included.
  // Throws SizeOverflow beyond 64 bits.
  std::int64_t extent_h() const { return checked_add(checked_mul(kernel_h - 1, dilation_h), 1); }
  std::int64_t extent_w() const { return checked_add(checked_mul(kernel_w - 1, dilation_w), 1); }
  bool operator==(const Window&) const = default;
};

// How a layer's psums become its ofmap. Either `shifts` with `rounding` (scales that are powers of
// two, core/numerics/requantize.h), or `requantizers` (any scale, core/numerics/requantizer.h),
// each with one for the tensor or one per output channel; the other list is empty. lo and hi are in
// the ofmap's own dtype; ReLU is lo = zero_point. The zero point is the output Value's.
struct Requantization {
  RoundingMode rounding = RoundingMode::kHalfEven;  // of `shifts`
  std::vector<std::uint8_t> shifts;                 // 0..31
  std::int32_t lo = -128;
  std::int32_t hi = 127;
  std::vector<Requantizer> requantizers = {};  // all of one rounding

  bool is_dyadic() const { return !requantizers.empty(); }
  // Of a Requantization that is not dyadic.
  int shift(std::int64_t channel) const {
    return shifts.size() == 1 ? shifts[0] : shifts[static_cast<std::size_t>(channel)];
  }
  // Of either: a shift is the requantizer that gives the same levels. `rounding` must be one of the
  // accelerator's.
  Requantizer requantizer(std::int64_t channel) const;
  // What channel `channel` makes of a psum, by whichever of the two it is.
  std::int32_t level(std::int32_t psum, std::int32_t bias, std::int64_t channel,
                     std::int32_t zero_point) const;
};

// ofmap[n][oy][ox][co] = requantize(sum over ky, kx, ci of x' * weights, bias[co]), where x lies at
// (oy * stride_h + ky * dilation_h - pad_top, ox * stride_w + kx * dilation_w - pad_left) and a
// position outside the picture contributes 0. Output channel co belongs to group co / (Cout /
// groups), and reads the Cin / groups input channels of its group alone.
struct Conv2d {
  static constexpr OperationRow kRow{.name = "conv2d"};
  Window window;
  // [Cout][kernel_h][kernel_w][Cin / groups]; int8, or int16 within -255..255; float32 of reals
  Tensor weights = {};
  Tensor bias = {};  // int32 [Cout]; float32 of reals
  Requantization requantization = {};
  std::int64_t groups = 1;  // divides Cin and Cout

  template <typename Self, typename Visit>
  static void attributes(Self& self, Visit visit) {
    visit("window", self.window);
    visit("groups", self.groups);
    visit("requantization", self.requantization);
    visit("weights", self.weights);
    visit("bias", self.bias);
  }
};

// ofmap[n][co] = requantize(sum over k of x'[n][k] * weights[co][k], bias[co]).
struct FullyConnected {
  static constexpr OperationRow kRow{.name = "fully_connected"};
  Tensor weights = {};  // [Cout][Cin]; int8, or int16 within -255..255; float32 of reals
  Tensor bias = {};     // int32 [Cout]; float32 of reals
  Requantization requantization = {};

  template <typename Self, typename Visit>
  static void attributes(Self& self, Visit visit) {
    visit("requantization", self.requantization);
    visit("weights", self.weights);
    visit("bias", self.bias);
  }
};

// Weights that are uint8 in a file lose their zero_point there, so they may need nine bits.
inline constexpr int kMostWideWeight = 255;

// The largest value under the window; positions outside the picture are absent. The number of
// windows comes from the output shape, so ceil_mode needs no flag.
struct MaxPool {
  static constexpr OperationRow kRow{.name = "max_pool", .selects_levels = true};
  Window window;

  template <typename Self, typename Visit>
  static void attributes(Self& self, Visit visit) {
    visit("window", self.window);
  }
};

// ofmap = requantize(sum of x' under the window) by the scale x_scale / (y_scale * count), both
// operations in float32 (average_requantizer()). The count is that of the positions inside the
// picture, or with count_include_pad of the positions inside picture and pads. Integer Values have
// a scale; of reals the ofmap is the sum divided by the count. A window as large as the picture is
// a global average pool.
struct AveragePool {
  static constexpr OperationRow kRow{.name = "average_pool"};
  Window window;  // no dilation
  bool count_include_pad = false;
  RequantizerRounding rounding = RequantizerRounding::kFloat32;
  std::int32_t lo = -128;
  std::int32_t hi = 127;

  template <typename Self, typename Visit>
  static void attributes(Self& self, Visit visit) {
    visit("window", self.window);
    visit("count_include_pad", self.count_include_pad);
    visit("rounding", self.rounding);
    visit("lo", self.lo);
    visit("hi", self.hi);
  }
};

// ofmap = clamp(round(a' * (a_scale / y_scale) + b' * (b_scale / y_scale)) + zero_point, lo, hi) of
// two tensors of equal shape, by core/numerics/adder.h. Integer Values have a scale; of reals it is
// a + b.
struct Add {
  static constexpr OperationRow kRow{.name = "add", .least_operands = 2, .most_operands = 2};
  RequantizerRounding rounding = RequantizerRounding::kFloat32;
  std::int32_t lo = -128;
  std::int32_t hi = 127;

  template <typename Self, typename Visit>
  static void attributes(Self& self, Visit visit) {
    visit("rounding", self.rounding);
    visit("lo", self.lo);
    visit("hi", self.hi);
  }
};

// The operands' channels, one operand after the other. At least two operands; dtype, scale and
// zero_point of each are the output's.
struct Concat {
  static constexpr OperationRow kRow{
      .name = "concat", .least_operands = 2, .most_operands = kAnyOperands};
  template <typename Self, typename Visit>
  static void attributes(Self&, Visit) {}
};

// ofmap = bytes[x]: any function of one integer activation. The index is x's byte as an unsigned
// number, the entry the ofmap's byte.
struct LookupTable {
  static constexpr OperationRow kRow{.name = "lookup_table", .takes_reals = false};
  std::string function;  // what it computes, for people: "hard_swish", "requantize", ...
  std::array<std::uint8_t, 256> bytes{};

  template <typename Self, typename Visit>
  static void attributes(Self& self, Visit visit) {
    visit("function", self.function);
    visit("table", self.bytes);
  }
};

// A function of one real number (core/network/float_rules.h has what each computes).
struct Activation {
  static constexpr OperationRow kRow{.name = "activation", .takes_integers = false};
  enum class Kind : std::uint8_t { kRelu, kClip, kLeakyRelu, kSigmoid, kHardSigmoid, kHardSwish };
  Kind kind = Kind::kRelu;
  float alpha = 0;  // kLeakyRelu: slope below 0; kHardSigmoid: max(0, min(1, alpha * x + beta))
  float beta = 0;
  float lo = -std::numeric_limits<float>::infinity();  // kClip
  float hi = std::numeric_limits<float>::infinity();   // kClip

  template <typename Self, typename Visit>
  static void attributes(Self& self, Visit visit) {
    visit("kind", self.kind);
    visit("alpha", self.alpha);
    visit("beta", self.beta);
    visit("lo", self.lo);
    visit("hi", self.hi);
  }
};

// x where x >= 0, else slope * x, by channel. Integer Values have a scale: a level becomes a real
// number first, and a level again after it (core/network/float_rules.h).
struct PRelu {
  static constexpr OperationRow kRow{.name = "prelu"};
  Tensor slopes;  // float32 [1] or [C]

  template <typename Self, typename Visit>
  static void attributes(Self& self, Visit visit) {
    visit("slopes", self.slopes);
  }
};

// max(x, zero_point) of integers; kRelu of Activation is that of reals.
struct Relu {
  static constexpr OperationRow kRow{.name = "relu", .takes_reals = false, .selects_levels = true};
  template <typename Self, typename Visit>
  static void attributes(Self&, Visit) {}
};

// [N][H][W][C] to [N][1][1][H*W*C]; the elements of one picture in the order C, H, W (as ONNX,
// whose pictures are NCHW) or H, W, C.
struct Flatten {
  static constexpr OperationRow kRow{.name = "flatten", .selects_levels = true};
  enum class Order : std::uint8_t { kChw, kHwc };
  Order order = Order::kChw;

  template <typename Self, typename Visit>
  static void attributes(Self& self, Visit visit) {
    visit("order", self.order);
  }
};

using Operation = std::variant<Conv2d, FullyConnected, MaxPool, Relu, Flatten, AveragePool, Add,
                               Concat, LookupTable, Activation, PRelu>;

// The table of operations, in the order of Operation.
template <typename... Each>
constexpr std::array<OperationRow, sizeof...(Each)> table_of_rows(const std::variant<Each...>*) {
  return {Each::kRow...};
}
inline constexpr auto kOperationRows = table_of_rows(static_cast<const Operation*>(nullptr));
inline const OperationRow& row_of(const Operation& operation) {
  return kOperationRows[operation.index()];
}

// Calls visit(operation) with the struct of an operation of integers (of reals). Throws
// InternalError for an operation of the other kind alone.
template <typename Visit>
void visit_integer(const Operation& operation, Visit visit) {
  std::visit(
      [&](const auto& each) {
        using Op = std::decay_t<decltype(each)>;
        if constexpr (Op::kRow.takes_integers) {
          visit(each);
        } else {
          QSIM_CHECK(false, std::string(Op::kRow.name) + " has no integers");
        }
      },
      operation);
}
template <typename Visit>
void visit_real(const Operation& operation, Visit visit) {
  std::visit(
      [&](const auto& each) {
        using Op = std::decay_t<decltype(each)>;
        if constexpr (Op::kRow.takes_reals) {
          visit(each);
        } else {
          QSIM_CHECK(false, std::string(Op::kRow.name) + " has no reals");
        }
      },
      operation);
}

// A default operation of the row of that name. Throws InternalError where no row has it.
Operation operation_called(std::string_view name);

// The row's name; an Activation's is "relu", "clip", "leaky_relu", "sigmoid", "hard_sigmoid" or
// "hard_swish".
std::string_view operation_name(const Operation& operation);

// The window of an operation that has one; else nullptr.
const Window* window_of(const Operation& operation);

// The range to which an operation on integers clamps its ofmap, where it has one; and that range
// set. False for an operation without one.
struct Clamp {
  std::int32_t lo;
  std::int32_t hi;
};
std::optional<Clamp> clamp_of(const Operation& operation);
bool set_clamp(Operation& operation, const Clamp& clamp);

// The requantization of an operation with weights; else nullptr.
Requantization* requantization_of(Operation& operation);

// How a layer's requantizers round; nothing for shifts, and for a layer that rounds nothing.
std::optional<RequantizerRounding> requantizer_rounding(const Operation& operation);

// Number of window positions along one axis; the last window may hang over the end when
// `ceil_mode` is set, but it starts inside the picture or its leading pad (ONNX MaxPool). `extent`
// is the kernel's, dilation included.
std::int64_t window_count(std::int64_t size, std::int64_t extent, std::int64_t stride,
                          std::int64_t pad_begin, std::int64_t pad_end, bool ceil_mode = false);

}  // namespace qsim
