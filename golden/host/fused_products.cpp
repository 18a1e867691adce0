#include "golden/host/fused_products.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace qsim::golden {
namespace {

void fused_block(const FloatProduct& p) {
  std::vector<float> sums(static_cast<std::size_t>(p.columns));
  for (std::int64_t m = 0; m < p.rows; ++m) {
    std::ranges::fill(sums, 0.0F);
    for (std::int64_t k = 0; k < p.inner; ++k) {
      const float factor = p.a[m * p.a_step + k];
      const float* b = p.b + k * p.b_step;
      for (float& sum : sums) sum = std::fma(factor, *b++, sum);
    }
    float* out = p.out + m * p.out_step;
    for (const float sum : sums) {
      *out = p.adds ? std::fma(sum, p.alpha, *out) : sum * p.alpha;
      ++out;
    }
  }
}

// Blocks of the inner axis, then one block of 0 where it has no element.
void multiply_fused(const FloatProduct& product, std::int64_t block, FusedBlock function) {
  FloatProduct part = product;
  std::int64_t done = 0;
  do {
    part.inner = std::min(block, product.inner - done);
    part.a = product.a + done;
    part.b = product.b + done * product.b_step;
    function(part);
    part.adds = true;
    done += part.inner;
  } while (done < product.inner);
}

// A row of factors by a matrix: element (k, n) of it is b[k * k_step + n * n_step].
struct RowProduct {
  const float* factors;
  const float* b;
  std::int64_t k_step;
  std::int64_t n_step;
  float* out;
  std::int64_t out_step;
  std::int64_t inner;
  std::int64_t columns;
  bool adds;

  float product(std::int64_t k, std::int64_t n) const {
    return factors[k] * b[k * k_step + n * n_step];
  }
};

// onnxruntime/core/mlas/lib/x86_64/SgemmKernelM1Avx.S
void multiply_by_fours(const RowProduct& p) {
  if (!p.adds) {
    for (std::int64_t n = 0; n < p.columns; ++n) p.out[n * p.out_step] = 0.0F;
  }
  std::int64_t k = 0;
  for (; k + 4 <= p.inner; k += 4) {
    for (std::int64_t n = 0; n < p.columns; ++n) {
      const float sum =
          ((p.product(k, n) + p.product(k + 1, n)) + p.product(k + 2, n)) + p.product(k + 3, n);
      p.out[n * p.out_step] = sum + p.out[n * p.out_step];
    }
  }
  if (p.inner - k >= 2) {
    for (std::int64_t n = 0; n < p.columns; ++n) {
      p.out[n * p.out_step] = (p.product(k, n) + p.product(k + 1, n)) + p.out[n * p.out_step];
    }
    k += 2;
  }
  if (k == p.inner) return;
  for (std::int64_t n = 0; n < p.columns; ++n) {
    p.out[n * p.out_step] = p.product(k, n) + p.out[n * p.out_step];
  }
}

// onnxruntime/core/mlas/lib/x86_64/SgemmKernelM1TransposeBAvx.S: four columns at a time, then two,
// then one, each with its own order of the last sums.
void multiply_by_lanes(const RowProduct& p) {
  for (std::int64_t n = 0; n < p.columns; ++n) {
    std::array<float, 8> s{};
    for (std::int64_t k = 0; k < p.inner; ++k)
      s[static_cast<std::size_t>(k % 8)] += p.product(k, n);
    const std::int64_t tail = p.columns % 4;
    const std::int64_t in_tail = n - (p.columns - tail);
    float sum = 0.0F;
    if (in_tail < 0) {
      sum = (((s[0] + s[1]) + s[2]) + s[3]) + (((s[4] + s[5]) + s[6]) + s[7]);
    } else if (tail >= 2 && in_tail < 2) {
      sum = ((s[0] + s[2]) + (s[4] + s[6])) + ((s[1] + s[3]) + (s[5] + s[7]));
    } else {
      sum = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
    }
    float& to = p.out[n * p.out_step];
    to = sum + (p.adds ? to : 0.0F);
  }
}

}  // namespace

const FusedBlock kPortableFusedBlock = fused_block;
#if !defined(__x86_64__)
const FusedBlock kAvx2FusedBlock = nullptr;
#endif

ProductRule product_rule(std::int64_t rows, std::int64_t inner, std::int64_t columns,
                         const ProductForm& form) {
  if (form.b_is_packed) return {.block = 256};
  if (rows == 1 && !form.a_is_turned && form.is_plain) {
    return {.order = form.b_is_turned ? ProductOrder::kLanes : ProductOrder::kFours};
  }
  if (columns == 1 && form.is_plain && form.has_dense_columns && !form.b_is_turned) {
    return {.order = form.a_is_turned ? ProductOrder::kFours : ProductOrder::kLanes,
            .is_column = true};
  }
  ProductRule rule;
  if (columns >= inner || form.a_is_turned) return rule;
  for (std::int64_t width = 128; width > 16 && width / 2 >= columns; width /= 2) rule.block *= 2;
  return rule;
}

void multiply(const FloatProduct& product, const ProductRule& rule, VectorPath path) {
  if (rule.order == ProductOrder::kFused) {
    const bool is_vector = resolve(path) != VectorPath::kPortable && kAvx2FusedBlock != nullptr &&
                           is_available(VectorPath::kAvx2);
    return multiply_fused(product, rule.block, is_vector ? kAvx2FusedBlock : kPortableFusedBlock);
  }
  const RowProduct row =
      rule.is_column ? RowProduct{product.b,      product.a,    1,
                                  product.a_step, product.out,  product.out_step,
                                  product.inner,  product.rows, product.adds}
                     : RowProduct{product.a,     product.b,       product.b_step, 1, product.out, 1,
                                  product.inner, product.columns, product.adds};
  return rule.order == ProductOrder::kFours ? multiply_by_fours(row) : multiply_by_lanes(row);
}

}  // namespace qsim::golden
