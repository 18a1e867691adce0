// Sums of products that MatMul, Gemm, convolutions and recurrent layers share, for real numbers
// and for integers. Integers are unsigned: their sums wrap, and are exact as long as they fit.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "golden/host/fused_products.h"
#include "golden/host/host_call.h"
#include "golden/host/window_geometry.h"

namespace qsim::golden {

// out[rows][columns] += a[rows][inner] * b[inner][columns], from inner index 0 on. Rows of a are
// dense; those of b and out begin `b_step` and `out_step` elements apart.
template <typename T>
void add_block(const T* a, const T* b, std::int64_t b_step, T* out, std::int64_t out_step,
               std::int64_t rows, std::int64_t inner, std::int64_t columns) {
  for (std::int64_t m = 0; m < rows; ++m) {
    const T* of_a = a + m * inner;
    T* __restrict to = out + m * out_step;
    std::int64_t k = 0;
    for (; k + 4 <= inner; k += 4) {  // four at a time: fewer reads and writes of `to`
      const T a0 = of_a[k];
      const T a1 = of_a[k + 1];
      const T a2 = of_a[k + 2];
      const T a3 = of_a[k + 3];
      const T* b0 = b + k * b_step;
      const T* b1 = b0 + b_step;
      const T* b2 = b1 + b_step;
      const T* b3 = b2 + b_step;
      for (std::int64_t n = 0; n < columns; ++n) {
        to[n] = (((to[n] + a0 * b0[n]) + a1 * b1[n]) + a2 * b2[n]) + a3 * b3[n];
      }
    }
    for (; k < inner; ++k) {
      const T factor = of_a[k];
      const T* of_b = b + k * b_step;
      for (std::int64_t n = 0; n < columns; ++n) to[n] += factor * of_b[n];
    }
  }
}

// The same of dense matrices, a block of columns at a time, so that b stays in the cache.
template <typename T>
void add_product(const T* a, const T* b, T* out, std::int64_t rows, std::int64_t inner,
                 std::int64_t columns) {
  const std::int64_t block = rows == 1 ? columns : 256;
  for (std::int64_t n = 0; n < columns; n += block) {
    add_block(a, b + n, columns, out + n, columns, rows, inner, std::min(block, columns - n));
  }
}

// Adds alpha * a * b of dense matrices to `out`, or for `starts` sets it where it is zeros. Those
// of float32 by the rule.
template <typename T>
void add_scaled_product(const T* a, const T* b, T* out, std::int64_t rows, std::int64_t inner,
                        std::int64_t columns, float alpha, bool starts, const ProductRule& rule) {
  if constexpr (std::is_same_v<T, float>) {
    multiply({.a = a,
              .a_step = inner,
              .b = b,
              .b_step = columns,
              .out = out,
              .out_step = columns,
              .rows = rows,
              .inner = inner,
              .columns = columns,
              .alpha = alpha,
              .adds = !starts},
             rule);
  } else if (alpha == 1.0F) {
    add_product(a, b, out, rows, inner, columns);
  } else {
    std::vector<T> sums(static_cast<std::size_t>(rows * columns), T{0});
    add_product(a, b, sums.data(), rows, inner, columns);
    for (const T& sum : sums) *out++ += static_cast<T>(alpha) * sum;
  }
}

// [rows][columns] as [columns][rows].
template <typename T>
std::vector<T> transposed(const T* matrix, std::int64_t rows, std::int64_t columns) {
  std::vector<T> turned(static_cast<std::size_t>(rows * columns));
  for (std::int64_t m = 0; m < rows; ++m) {
    for (std::int64_t n = 0; n < columns; ++n) {
      turned[static_cast<std::size_t>(n * rows + m)] = matrix[m * columns + n];
    }
  }
  return turned;
}

// A product of stacks of matrices, by the rules of MatMul: the shapes that broadcast, and the size
// of each matrix.
struct MatrixStacks {
  Shape stack;                        // of the output, without its matrices
  Shape output;                       // without the axes that a vector does not have
  std::vector<std::int64_t> a_steps;  // through the stack, in elements
  std::vector<std::int64_t> b_steps;
  std::int64_t rows = 0;
  std::int64_t inner = 0;
  std::int64_t columns = 0;
  bool is_one_product = false;  // b is one matrix for all of a's stack
  std::int64_t all_rows = 0;    // of a product

  bool b_is_vector = false;  // then each row is a product of its own

  ProductRule rule(const ProductForm& form) const {
    ProductRule rule = product_rule(b_is_vector ? 1 : all_rows, inner, columns, form);
    rule.is_column = rule.is_column || b_is_vector;
    return rule;
  }
};
MatrixStacks matrix_stacks(const HostCall& call, const Shape& a, const Shape& b);

// `out` gets all sums; it is zeros, or `starts` is false and they are added.
template <typename T>
void multiply_stacks(const MatrixStacks& stacks, const T* a, const T* b, T* out,
                     const ProductForm& form = {}, float alpha = 1.0F, bool starts = true) {
  const ProductRule rule = stacks.rule(form);
  const auto one = [&](std::int64_t i, const std::array<std::int64_t, 2>& at, std::int64_t rows) {
    add_scaled_product(a + at[0], b + at[1], out + i * rows * stacks.columns, rows, stacks.inner,
                       stacks.columns, alpha, starts, rule);
  };
  if (stacks.is_one_product) return one(0, {0, 0}, stacks.all_rows);
  for_each_position<2>(
      stacks.stack, {stacks.a_steps, stacks.b_steps},
      [&](std::int64_t i, const std::array<std::int64_t, 2>& at) { one(i, at, stacks.rows); });
}

// A convolution of [N, C, ...] by [M, C / group, ...].
struct Convolution {
  WindowGeometry window;
  std::int64_t batch = 0;
  std::int64_t group = 1;
  std::int64_t inputs = 0;   // channels of a group
  std::int64_t outputs = 0;  // the same

  Shape output_shape() const { return window.output_shape(batch, group * outputs); }
};
// `picture` is [N, C, ...], whatever order the call's tensor has.
Convolution convolution_of(const HostCall& call, const Shape& picture, const Shape& weights);

// What the windows of `count` output positions from `first` on read from one channel: a row of
// `columns` for each kernel position, 0 in the padding.
template <typename T>
void fill_columns(const WindowGeometry& window, const T* channel, std::int64_t first,
                  std::int64_t count, T* columns) {
  const auto& [z, y, x] = window.axes;
  for (std::int64_t kz = 0; kz < z.kernel; ++kz) {
    for (std::int64_t ky = 0; ky < y.kernel; ++ky) {
      for (std::int64_t kx = 0; kx < x.kernel; ++kx) {
        for (std::int64_t done = 0; done < count;) {  // a row of the output, or part of one
          const std::int64_t row = (first + done) / x.output;
          const std::int64_t ox = (first + done) % x.output;
          const std::int64_t run = std::min(x.output - ox, count - done);
          const std::int64_t iz = z.first(row / y.output) + kz * z.dilation;
          const std::int64_t iy = y.first(row % y.output) + ky * y.dilation;
          T* to = columns + done;
          done += run;
          if (iz < 0 || iz >= z.input || iy < 0 || iy >= y.input) {
            std::fill_n(to, run, T{0});
            continue;
          }
          const T* from = channel + (iz * y.input + iy) * x.input;
          const std::int64_t start = x.first(ox) + kx * x.dilation;
          for (std::int64_t i = 0; i < run; ++i) {
            const std::int64_t ix = start + i * x.stride;
            to[i] = ix < 0 || ix >= x.input ? T{0} : from[ix];
          }
        }
        columns += count;
      }
    }
  }
}

// How float32 products of a convolution are summed. The matrix of what the windows read is stored
// turned where a window is as wide as the picture (onnxruntime/core/mlas/lib/convolve.cpp).
ProductRule convolution_rule(const Convolution& conv);

// Adds the sums of products to `out`, [N, M, ...].
template <typename T>
void convolve(const Convolution& conv, const T* picture, const T* weights, T* out) {
  if (element_count(conv.output_shape()) == 0 || conv.inputs == 0) return;
  const WindowGeometry& window = conv.window;
  const std::int64_t positions = window.outputs();
  const std::int64_t kernels = window.kernels();
  const std::int64_t inner = conv.inputs * kernels;
  const std::int64_t block = std::clamp<std::int64_t>((1 << 16) / inner, 64, 2048);
  std::vector<T> columns(static_cast<std::size_t>(inner * std::min(block, positions)));
  [[maybe_unused]] const ProductRule rule = convolution_rule(conv);
  for (std::int64_t part = 0; part < conv.batch * conv.group; ++part) {
    const T* from = picture + part * conv.inputs * window.inputs();
    const T* factors = weights + part % conv.group * conv.outputs * inner;
    T* to = out + part * conv.outputs * positions;
    for (std::int64_t first = 0; first < positions; first += block) {
      const std::int64_t count = std::min(block, positions - first);
      for (std::int64_t c = 0; c < conv.inputs; ++c) {
        fill_columns(window, from + c * window.inputs(), first, count,
                     columns.data() + c * kernels * count);
      }
      if constexpr (std::is_same_v<T, float>) {
        multiply({.a = factors,
                  .a_step = inner,
                  .b = columns.data(),
                  .b_step = count,
                  .out = to + first,
                  .out_step = positions,
                  .rows = conv.outputs,
                  .inner = inner,
                  .columns = count,
                  .adds = true},
                 rule);
      } else {
        add_block(factors, columns.data(), count, to + first, positions, conv.outputs, inner,
                  count);
      }
    }
  }
}

// An activation by its name, as recurrent layers and fused operators have it.
struct NamedActivation {
  float (*function)(float x, float alpha, float beta) = nullptr;
  float alpha = 0.0F;
  float beta = 0.0F;

  float operator()(float x) const { return function(x, alpha, beta); }
};
// With the defaults of its numbers where they are absent; refuse() for an unknown one.
NamedActivation named_activation(const HostCall& call, const std::string& name,
                                 std::optional<float> alpha, std::optional<float> beta);
// How many numbers an activation has: alpha, or alpha and beta.
int activation_numbers(const std::string& name);

// Operators of product_operators() in files of their own.
void run_lstm(HostCall& call);
void run_gru(HostCall& call);
void run_rnn(HostCall& call);
void run_convolution(HostCall& call);
void run_fused_convolution(HostCall& call);
void run_transposed_convolution(HostCall& call);
void run_max_pool(HostCall& call);
void run_nhwc_max_pool(HostCall& call);
void run_average_pool(HostCall& call);
void run_lp_pool(HostCall& call);
void run_global_average_pool(HostCall& call);
void run_global_max_pool(HostCall& call);
void run_global_lp_pool(HostCall& call);

}  // namespace qsim::golden
