// Products of float32 matrices with the roundings of ONNX Runtime's CPU (its MLAS library): which
// products are fused with which sums, and in what order. The same bits on every processor.
#pragma once

#include <cstdint>

#include "golden/common/vector_path.h"

namespace qsim::golden {

// How MLAS computes the products of one call (onnxruntime/core/mlas/lib/sgemm.cpp).
enum class ProductOrder : std::uint8_t {
  kFused,  // fused multiply-adds along the inner axis from 0, in blocks that are added up
  kFours,  // one row: four rounded products are added up, then added to the sum
  kLanes,  // one row by a matrix that is turned: eight sums, added up at the end
};

// The first operand is [rows][inner]; the second is [inner][columns].
struct ProductRule {
  ProductOrder order = ProductOrder::kFused;
  std::int64_t block = 128;  // of the inner axis, for kFused
  bool is_column = false;    // kFours and kLanes along the rows of the one column
};

// What decides on the rule beside the sizes.
struct ProductForm {
  bool a_is_turned = false;  // stored as [inner][rows]
  bool b_is_turned = false;  // stored as [columns][inner]
  bool b_is_packed = false;  // a constant matrix
  bool is_plain = true;      // alpha is 1, and beta 0 or 1
  // The elements of b, and those of the output, follow one another when there is one column.
  bool has_dense_columns = true;
};
ProductRule product_rule(std::int64_t rows, std::int64_t inner, std::int64_t columns,
                         const ProductForm& form);

// One product. Rows begin so many elements apart.
struct FloatProduct {
  const float* a = nullptr;
  std::int64_t a_step = 0;
  const float* b = nullptr;
  std::int64_t b_step = 0;
  float* out = nullptr;
  std::int64_t out_step = 0;
  std::int64_t rows = 0;
  std::int64_t inner = 0;
  std::int64_t columns = 0;
  float alpha = 1.0F;
  bool adds = false;  // to what `out` has
};
// alpha * a * b, or out + alpha * a * b, by the rule. A call for a part of the columns, from a
// multiple of 4 on, gives what a call for all gives.
void multiply(const FloatProduct& product, const ProductRule& rule,
              VectorPath path = VectorPath::kAuto);

// The part of multiply() that is fused, of one block of the inner axis. The AVX2 one is null where
// the processor's kind has none.
using FusedBlock = void (*)(const FloatProduct& product);
extern const FusedBlock kPortableFusedBlock;
extern const FusedBlock kAvx2FusedBlock;

}  // namespace qsim::golden
