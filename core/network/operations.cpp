#include "core/network/operations.h"

#include "core/base/checked_math.h"

namespace qsim {

Requantizer Requantization::requantizer(std::int64_t channel) const {
  if (is_dyadic())
    return requantizers[requantizers.size() == 1 ? 0 : static_cast<std::size_t>(channel)];
  QSIM_CHECK(static_cast<int>(rounding) < kAcceleratorRoundingModes,
             "a rounding of golden's alone");
  return requantizer_of_shift(shift(channel), static_cast<RequantizerRounding>(rounding));
}

std::int32_t Requantization::level(std::int32_t psum, std::int32_t bias, std::int64_t channel,
                                   std::int32_t zero_point) const {
  if (is_dyadic()) return requantize(psum, bias, requantizer(channel), zero_point, lo, hi);
  return requantize(psum, bias, shift(channel), rounding, zero_point, lo, hi);
}

namespace {

template <typename... Each>
Operation called(std::string_view name, std::variant<Each...>*) {
  Operation operation;
  const bool found = ((Each::kRow.name == name && (operation = Each{}, true)) || ...);
  QSIM_CHECK(found, "no operation is called " + std::string(name));
  return operation;
}

}  // namespace

Operation operation_called(std::string_view name) {
  return called(name, static_cast<Operation*>(nullptr));
}

std::string_view operation_name(const Operation& operation) {
  constexpr std::string_view kActivations[] = {"relu",    "clip",         "leaky_relu",
                                               "sigmoid", "hard_sigmoid", "hard_swish"};
  static_assert(std::size(kActivations) ==
                static_cast<std::size_t>(Activation::Kind::kHardSwish) + 1);
  if (const auto* activation = std::get_if<Activation>(&operation)) {
    return kActivations[static_cast<std::size_t>(activation->kind)];
  }
  return row_of(operation).name;
}

const Window* window_of(const Operation& operation) {
  return std::visit(
      [](const auto& each) -> const Window* {
        if constexpr (requires { each.window; }) return &each.window;
        return nullptr;
      },
      operation);
}

namespace {

// Calls visit with what has the operation's lo and hi, where it clamps.
template <typename AnyOperation, typename Visit>
void visit_clamp(AnyOperation& operation, Visit visit) {
  std::visit(
      [&](auto& each) {
        if constexpr (requires { each.requantization; }) {
          visit(each.requantization);
        } else if constexpr (requires { each.rounding; }) {
          visit(each);
        }
      },
      operation);
}

}  // namespace

std::optional<Clamp> clamp_of(const Operation& operation) {
  std::optional<Clamp> clamp;
  visit_clamp(operation, [&](const auto& range) { clamp = {range.lo, range.hi}; });
  return clamp;
}

bool set_clamp(Operation& operation, const Clamp& clamp) {
  bool is_set = false;
  visit_clamp(operation, [&](auto& range) {
    range.lo = clamp.lo;
    range.hi = clamp.hi;
    is_set = true;
  });
  return is_set;
}

Requantization* requantization_of(Operation& operation) {
  return std::visit(
      [](auto& each) -> Requantization* {
        if constexpr (requires { each.requantization; }) return &each.requantization;
        return nullptr;
      },
      operation);
}

std::optional<RequantizerRounding> requantizer_rounding(const Operation& operation) {
  return std::visit(
      [](const auto& each) -> std::optional<RequantizerRounding> {
        if constexpr (requires { each.requantization; }) {
          const Requantization& requantization = each.requantization;
          if (requantization.is_dyadic()) return requantization.requantizers[0].rounding;
        } else if constexpr (requires { each.rounding; }) {
          return each.rounding;
        }
        return std::nullopt;
      },
      operation);
}

std::int64_t window_count(std::int64_t size, std::int64_t extent, std::int64_t stride,
                          std::int64_t pad_begin, std::int64_t pad_end, bool ceil_mode) {
  const std::int64_t span = checked_add(size, checked_add(pad_begin, pad_end)) - extent;
  if (span < 0) return 0;
  if (!ceil_mode) return span / stride + 1;
  const std::int64_t count = ceil_div(span, stride) + 1;
  return (count - 1) * stride >= size + pad_begin ? count - 1 : count;
}

}  // namespace qsim
