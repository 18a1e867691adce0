// What becomes of a float32 tensor in fake quantization: each value goes to the nearest one that
// the quantized network could hold, and stays float32.
#pragma once

#include <span>

#include "core/base/tensor.h"
#include "core/numerics/tensor_rules.h"
#include "golden/common/thread_team.h"

namespace qsim::golden {

// They are core's: files have them too.
using qsim::DynamicRule;
using qsim::FloatRule;
using qsim::kMostLevel;
using qsim::Log2Rule;
using qsim::TensorRule;
using qsim::UniformRule;

// Throws Error for a scale that is not a positive finite number, and for bits and levels outside
// the ranges above.
void check_rule(const TensorRule& rule);

// Applies a rule in place; `tensor` is float32, its first axis the pictures. Throws Error as
// check_rule().
void apply(const TensorRule& rule, Tensor& tensor);
void apply(const TensorRule& rule, Tensor& tensor, ThreadTeam& team);

// What a DynamicRule is for these values (its per_picture has no meaning here).
UniformRule uniform_rule(const DynamicRule& rule, std::span<const float> values);

}  // namespace qsim::golden
