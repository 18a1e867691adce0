// The plain reference of group conversions: one element after another, one thread, and an extent by
// sorting. It shares the scale of an extent and the code of a number with the optimised path, for
// these are the definition.
#include <algorithm>

#include "golden/kernels/convert/group_scales.h"
#include "golden/kernels/convert/philox.h"

namespace qsim::golden {
namespace {

// The elements of one group, by row and column of its first one.
struct Group {
  std::int64_t row, col;
  std::int64_t rows, cols;
  std::size_t scale;
};

std::vector<Group> groups_of(const GroupLayout& layout) {
  if (layout.per_tensor) return {{0, 0, layout.rows, layout.cols, 0}};
  std::vector<Group> groups;
  for (std::int64_t row = 0; row < layout.rows; ++row) {
    for (std::int64_t g = 0; g < layout.groups_per_row; ++g) {
      const std::int64_t col = g * layout.group;
      groups.push_back(
          {row, col, 1, std::min(layout.group, layout.cols - col), layout.scale_index(row, g)});
    }
  }
  return groups;
}

template <typename Visit>
void each_element(const Group& group, Visit visit) {
  for (std::int64_t row = group.row; row < group.row + group.rows; ++row) {
    for (std::int64_t col = group.col; col < group.col + group.cols; ++col) visit(row, col);
  }
}

std::uint16_t code_at(const Rows& rows, std::int64_t row, std::int64_t col) {
  std::uint16_t code;
  return *rows.read(row, col, 1, &code);
}

Extent extent_of(const Rows& rows, const Group& group, std::uint16_t infinity,
                 const Quantization& how) {
  std::vector<std::uint16_t> magnitudes;
  Extent extent;
  each_element(group, [&](std::int64_t row, std::int64_t col) {
    const std::uint16_t code = code_at(rows, row, col);
    const auto magnitude = static_cast<std::uint16_t>(code & 0x7FFF);
    if (magnitude >= infinity) return;
    magnitudes.push_back(magnitude);
    std::uint16_t& side = code > 0x7FFF ? extent.negative : extent.positive;
    side = std::max(side, magnitude);
  });
  if (magnitudes.empty()) return extent;
  std::sort(magnitudes.begin(), magnitudes.end());
  const std::int64_t rank =
      percentile_rank(static_cast<std::int64_t>(magnitudes.size()), how.clip_percentile);
  const std::uint16_t bound = magnitudes[static_cast<std::size_t>(rank - 1)];
  return {std::min(extent.positive, bound), std::min(extent.negative, bound)};
}

void put_code(std::uint32_t code, std::int64_t row, std::int64_t col, const GroupLayout& layout,
              QuantizedTensor& out) {
  const std::int64_t place = is_packed(out.how.format) ? col / 2 : col;
  std::uint8_t& byte = out.values[static_cast<std::size_t>(row * layout.row_bytes + place)];
  const bool high = is_packed(out.how.format) && col % 2 == 1;
  byte = static_cast<std::uint8_t>(high ? byte | code << 4 : code);
}

std::uint32_t code_of(const QuantizedTensor& q, const GroupLayout& layout, std::int64_t row,
                      std::int64_t col) {
  const bool packed = is_packed(q.how.format);
  const std::int64_t place = row * layout.row_bytes + (packed ? col / 2 : col);
  const std::uint32_t byte = q.values[static_cast<std::size_t>(place)];
  return packed ? byte >> (4 * (col % 2)) & 15 : byte;
}

void quantize_group(const Rows& rows, const Group& group, ElementFormat source,
                    const GroupScale& scale, const GroupLayout& layout, QuantizedTensor& out) {
  const IntegerRange range = integer_range(out.how.format, out.how.zero_point);
  visit_target(out.how.format, [&](auto constant) {
    constexpr ElementFormat target = decltype(constant)::value;
    each_element(group, [&](std::int64_t row, std::int64_t col) {
      const float x = half_number(source, code_at(rows, row, col));
      const auto index = static_cast<std::uint64_t>(row * layout.cols + col);
      const std::uint32_t code =
          out.how.stochastic
              ? quantized<target>(x, scale.scale, scale.zero_point, range,
                                  Stochastic{random_word(out.how.seed, index)})
              : quantized<target>(x, scale.scale, scale.zero_point, range, HalfEven());
      put_code(code, row, col, layout, out);
    });
  });
}

void quantize_all(const HalfTensor& x, const GroupLayout& layout, QuantizedTensor& out) {
  const Rows rows(x);
  const std::vector<Group> groups = groups_of(layout);
  std::vector<Extent> extents;
  Extent whole;
  for (const Group& group : groups) {
    extents.push_back(extent_of(rows, group, infinity_code(x.format), out.how));
    whole.positive = std::max(whole.positive, extents.back().positive);
    whole.negative = std::max(whole.negative, extents.back().negative);
  }
  ScaleRule rule = scale_rule(x.format, out.how);
  if (out.how.scales == ScaleFormat::kE4m3) rule.set_global(whole);
  out.global_scale = rule.global;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const GroupScale scale = rule.of(extents[i]);
    store_scale(scale, groups[i].scale, out);
    quantize_group(rows, groups[i], x.format, scale, layout, out);
  }
}

// visit(row-major index, number times scale) of each element.
template <typename Visit>
void each_product(const QuantizedTensor& q, bool with_scale, Visit visit) {
  const GroupLayout layout = group_layout(q.shape, q.how);
  for (const Group& group : groups_of(layout)) {
    if (layout.scale_count == 0) continue;
    const GroupScale scale = scale_at(q, group.scale);
    visit_target(q.how.format, [&](auto constant) {
      constexpr ElementFormat format = decltype(constant)::value;
      each_element(group, [&](std::int64_t row, std::int64_t col) {
        const float number = number_of<format>(code_of(q, layout, row, col), scale.zero_point);
        visit(static_cast<std::size_t>(row * layout.cols + col),
              product(number, with_scale ? scale.scale : 1.0F));
      });
    });
  }
}

// Runs `work` under golden's floating-point mode.
void in_golden_mode(const std::function<void()>& work) {
  ThreadTeam(1).run(1, [&](std::size_t) { work(); });
}

}  // namespace

QuantizedTensor quantize_reference(const HalfTensor& x, const Quantization& how) {
  check(x);
  check(how);
  QuantizedTensor out;
  size_parts(x.shape, how, out);
  in_golden_mode([&] { quantize_all(x, group_layout(x.shape, how), out); });
  return out;
}

std::vector<std::uint16_t> dequantize_reference(const QuantizedTensor& q, ElementFormat target) {
  check(q);
  check_half_target(target);
  std::vector<std::uint16_t> out(static_cast<std::size_t>(element_count(q.shape)));
  in_golden_mode([&] {
    each_product(q, true, [&](std::size_t i, float number) {
      out[i] =
          target == ElementFormat::kHalf ? half_from_float(number) : bfloat16_from_float(number);
    });
  });
  return out;
}

std::vector<std::uint8_t> int4_to_fp8_reference(const QuantizedTensor& q, ElementFormat target,
                                                Int4ToFp8 what) {
  check(q);
  check_int4_to_fp8(q.how, target, what);
  std::vector<std::uint8_t> out(static_cast<std::size_t>(element_count(q.shape)));
  in_golden_mode([&] {
    each_product(q, what == Int4ToFp8::kProduct, [&](std::size_t i, float number) {
      const std::uint32_t bits = bits_of(number);
      out[i] = static_cast<std::uint8_t>(target == ElementFormat::kE4m3 ? encode<kFp8E4m3>(bits)
                                                                        : encode<kFp8E5m2>(bits));
    });
  });
  return out;
}

}  // namespace qsim::golden
