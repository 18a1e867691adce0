#include "golden/kernels/convert/error_report.h"

#include <cmath>

#include "golden/kernels/convert/group_scales.h"

namespace qsim::golden {
namespace {

struct Sums {
  double squared_error = 0;
  double squared = 0;
  double relative = 0;
  std::int64_t elems = 0, nonzero = 0, not_finite = 0;

  void add(double x, double number) {
    if (!std::isfinite(x)) {
      ++not_finite;
      return;
    }
    const double error = number - x;
    ++elems;
    squared_error += error * error;
    squared += x * x;
    if (x == 0) return;
    ++nonzero;
    relative += std::abs(error / x);
  }
  void add(const Sums& other) {
    squared_error += other.squared_error;
    squared += other.squared;
    relative += other.relative;
    elems += other.elems;
    nonzero += other.nonzero;
    not_finite += other.not_finite;
  }
  double nrmse() const { return squared == 0 ? 0 : std::sqrt(squared_error / squared); }
};

// The codes of a row as numbers before the scale.
float number_at(const QuantizedTensor& q, std::size_t row_start, std::int64_t col,
                std::int32_t zero_point) {
  float number = 0;
  visit_target(q.how.format, [&](auto constant) {
    constexpr ElementFormat format = decltype(constant)::value;
    const bool packed = format >= ElementFormat::kInt4;
    const std::uint32_t byte =
        q.values[row_start + static_cast<std::size_t>(packed ? col / 2 : col)];
    number = number_of<format>(packed ? byte >> (4 * (col % 2)) & 15 : byte, zero_point);
  });
  return number;
}

ErrorReport report_of(const HalfTensor& x, const QuantizedTensor& q) {
  const GroupLayout layout = group_layout(q.shape, q.how);
  const Rows rows(x);
  ErrorReport report;
  Sums whole;
  for (std::int64_t row = 0; row < layout.rows; ++row) {
    const auto start = static_cast<std::size_t>(row * layout.row_bytes);
    for (std::int64_t g = 0; g < layout.groups_per_row; ++g) {
      const GroupScale scale = scale_at(q, layout.scale_index(row, g));
      Sums sums;
      for (std::int64_t col = g * layout.group; col < std::min((g + 1) * layout.group, layout.cols);
           ++col) {
        std::uint16_t buffer;
        const float number = half_number(x.format, *rows.read(row, col, 1, &buffer));
        sums.add(number, product(number_at(q, start, col, scale.zero_point), scale.scale));
      }
      whole.add(sums);
      if (sums.nrmse() <= report.worst_nrmse) continue;
      report.worst_nrmse = sums.nrmse();
      report.worst_row = row;
      report.worst_group = g;
    }
  }
  report.elems = whole.elems;
  report.not_finite = whole.not_finite;
  report.nrmse = whole.nrmse();
  report.mean_relative =
      whole.nonzero == 0 ? 0 : whole.relative / static_cast<double>(whole.nonzero);
  return report;
}

}  // namespace

ErrorReport error_report(const HalfTensor& x, const QuantizedTensor& q) {
  check(x);
  check(q);
  if (x.shape != q.shape) {
    throw_bad_input("convert: the tensor is " + shape_text(x.shape) + ", the quantized one " +
                    shape_text(q.shape) + "; give both one shape");
  }
  ErrorReport report;
  ThreadTeam(1).run(1, [&](std::size_t) { report = report_of(x, q); });
  return report;
}

}  // namespace qsim::golden
