#include "golden/kernels/linear/packed_rows.h"

#include <algorithm>

namespace qsim::golden {
namespace {

int digits_for(std::int64_t largest) {
  int digits = kLeastDigits;
  std::int64_t reach = 0x7F7F7F;
  while (reach < largest) {
    reach = reach * 256 + 0x7F;
    ++digits;
  }
  return digits;
}

// A row in steps of its fixed point.
struct FixedRow {
  std::vector<std::int64_t> fixed;  // [in_features]
  std::int64_t largest = 0;         // of |fixed|
};

FixedRow fixed_row(const FloatMatrix& x, std::size_t row, PackedRows& rows) {
  const auto columns = static_cast<std::size_t>(x.columns);
  std::vector<std::uint32_t> bits(columns);
  std::uint32_t largest = 0;
  for (std::size_t k = 0; k < columns; ++k) {
    bits[k] = x.fp32_bits(row * columns + k);
    if (is_finite(bits[k])) {
      largest = std::max(largest, bits[k] & kFp32Magnitude);
    } else {
      rows.non_finite[row].push_back({k, bits[k]});
      bits[k] = 0;
    }
  }
  const int exponent = step_exponent(x.type, largest);
  rows.steps[row] = power_of_two(exponent);
  FixedRow result;
  result.largest = fixed_point(largest, exponent);
  result.fixed.resize(columns);
  for (std::size_t k = 0; k < columns; ++k) result.fixed[k] = fixed_point(bits[k], exponent);
  return result;
}

void split_row(const FixedRow& from, std::size_t row, const RowLayout& layout, PackedRows& rows) {
  const auto digits = static_cast<std::size_t>(rows.digits);
  std::int8_t* split = rows.split.data() + row * rows.row_stride(layout.quads);
  std::int32_t* sums = rows.digit_sums.data() + row * layout.groups * kMostDigits;
  for (std::size_t k = 0; k < layout.in_features; ++k) {
    std::int64_t rest = from.fixed[k];
    std::int8_t* quad = split + k / kLinearQuad * digits * kLinearQuad + k % kLinearQuad;
    std::int32_t* group = sums + k / layout.group_elems * kMostDigits;
    for (std::size_t i = 0; i < digits; ++i) {
      const std::int32_t digit = take_digit(rest);
      quad[i * kLinearQuad] = static_cast<std::int8_t>(digit);
      group[i] += digit;  // at most 128 * kMostInFeatures
    }
  }
}

void code_row(const FloatMatrix& x, const Int8Activations& activations, std::size_t row,
              const RowLayout& layout, PackedRows& rows) {
  const std::size_t first = row * layout.in_features;
  std::uint32_t largest = 0;
  std::vector<std::uint32_t> bits(layout.in_features);
  for (std::size_t k = 0; k < layout.in_features; ++k) {
    bits[k] = x.fp32_bits(first + k);
    if (is_finite(bits[k])) largest = std::max(largest, bits[k] & kFp32Magnitude);
  }
  const float scale = activations.scale ? *activations.scale : row_scale(largest);
  rows.steps[row] = scale;
  std::int8_t* codes = rows.split.data() + row * rows.row_stride(layout.quads);
  std::int32_t sum = 0;  // at most 127 * kMostInFeatures
  for (std::size_t k = 0; k < layout.in_features; ++k) {
    const int code = activation_code(bits[k], scale);
    codes[k] = static_cast<std::int8_t>(code);
    sum += code;
  }
  rows.digit_sums[row * kMostDigits] = sum;
}

PackedRows sized(std::int64_t count) {
  PackedRows rows;
  rows.count = static_cast<std::size_t>(count);
  rows.steps.resize(rows.count);
  rows.non_finite.resize(rows.count);
  return rows;
}

void size_digits(const RowLayout& layout, int digits, PackedRows& rows) {
  rows.digits = digits;
  rows.split.resize(rows.count * rows.row_stride(layout.quads));
  rows.digit_sums.resize(rows.count * layout.groups * kMostDigits);
}

}  // namespace

PackedRows split_rows(const FloatMatrix& x, const RowLayout& layout, ThreadTeam& team) {
  PackedRows rows = sized(x.rows);
  std::vector<FixedRow> fixed(rows.count);
  team.run(rows.count, [&](std::size_t row) { fixed[row] = fixed_row(x, row, rows); });
  int digits = kLeastDigits;
  for (const FixedRow& row : fixed) digits = std::max(digits, digits_for(row.largest));
  size_digits(layout, digits, rows);
  team.run(rows.count, [&](std::size_t row) { split_row(fixed[row], row, layout, rows); });
  return rows;
}

PackedRows coded_rows(const FloatMatrix& x, const Int8Activations& activations,
                      const RowLayout& layout, ThreadTeam& team) {
  PackedRows rows = sized(x.rows);
  size_digits(layout, 1, rows);
  team.run(rows.count, [&](std::size_t row) { code_row(x, activations, row, layout, rows); });
  return rows;
}

}  // namespace qsim::golden
