// The operand of a convolution's gradients, and the gradients of learned step sizes.
#include <vector>

#include "golden/common/float_formats.h"
#include "golden/kernels/train/parts.h"
#include "golden/kernels/train/real_spans.h"
#include "golden/kernels/train/train.h"

namespace qsim::golden::train {
namespace {

// Sums of parts of about this many elements are added in double in the order of the parts, then
// rounded once.
constexpr std::int64_t kElems = 32768;

// Rows of a part: a multiple of 8, so that it begins at a byte of bits.
std::int64_t rows_of_part(std::int64_t columns) {
  return std::max<std::int64_t>(kElems / std::max<std::int64_t>(columns, 1) / 8, 1) * 8;
}

// `sums`: of dy that passes, [columns].
void operand_of_rows(const GradientOperand& call, std::int64_t first, std::int64_t count,
                     std::vector<double>& sums) {
  const std::int64_t columns = call.dy.shape[3];
  std::vector<float> row(static_cast<std::size_t>(columns));
  for (std::int64_t i = first * columns; i < (first + count) * columns; i += columns) {
    load_span(call.dy, i, columns, row.data());
    for (std::int64_t c = 0; c < columns; ++c) {
      const auto at = static_cast<std::size_t>(c);
      const float dy = passes_at(call.passes, i + c) ? row[at] : 0.0F;
      call.g[i + c] = bfloat16_from_float(dy);
      sums[at] += static_cast<double>(dy);
    }
  }
}

double step_gradient_of(const StepGradient& call, std::int64_t begin, std::int64_t end) {
  const std::int32_t zero_point = call.zero_point == nullptr ? 0 : *call.zero_point;
  double sum = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    const double dq = call.dq[i];
    sum +=
        bit_of(call.passes, i) ? dq * (-call.residual[i] / 127.0) : dq * (call.q[i] - zero_point);
  }
  return sum;
}

}  // namespace

void compute(const GradientOperand& call, ThreadTeam& team) {
  const std::int64_t columns = call.dy.shape[3];
  const std::int64_t rows = columns == 0 ? 0 : call.dy.elems() / columns;
  const std::int64_t unit = rows_of_part(columns);
  std::vector<std::vector<double>> parts(static_cast<std::size_t>(ceil_div(rows, unit)),
                                         std::vector<double>(static_cast<std::size_t>(columns)));
  for_each_item(team, std::ssize(parts), [&](std::int64_t part) {
    operand_of_rows(call, part * unit, std::min(unit, rows - part * unit),
                    parts[static_cast<std::size_t>(part)]);
  });
  if (call.bias_gradient == nullptr) return;
  team.run(1, [&](std::size_t) {
    for (std::int64_t c = 0; c < columns; ++c) {
      double sum = 0;
      for (const auto& part : parts) sum += part[static_cast<std::size_t>(c)];
      call.bias_gradient[c] = static_cast<float>(sum);
    }
  });
}

void compute(const StepGradient& call, ThreadTeam& team) {
  const std::int64_t elems = call.channels == 0 ? 0 : call.elems / call.channels;  // of a step
  const std::int64_t parts = ceil_div(elems, kElems);
  std::vector<double> sums(static_cast<std::size_t>(call.channels * parts));
  for_each_item(team, std::ssize(sums), [&](std::int64_t i) {
    const std::int64_t begin = i / parts * elems + i % parts * kElems;
    const std::int64_t end = std::min(i / parts * elems + elems, begin + kElems);
    sums[static_cast<std::size_t>(i)] = step_gradient_of(call, begin, end);
    for (std::int64_t at = begin; at < end; ++at) {
      call.dx[at] = bit_of(call.passes, at) ? call.dq[at] : 0.0F;
    }
  });
  team.run(1, [&](std::size_t) {
    for (std::int64_t channel = 0; channel < call.channels; ++channel) {
      double sum = 0;
      for (std::int64_t part = 0; part < parts; ++part) {
        sum += sums[static_cast<std::size_t>(channel * parts + part)];
      }
      call.step_gradient[channel] = static_cast<float>(sum);
    }
  });
}

}  // namespace qsim::golden::train
