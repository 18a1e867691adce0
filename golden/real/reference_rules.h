// The definition of every rule of real_rules.h as plain loops.
#pragma once

#include "golden/real/real_rules.h"

namespace qsim::golden {

// What a value becomes.
float ruled(const UniformRule& rule, float x);
float ruled(const FloatRule& rule, float x);
float ruled(const Log2Rule& rule, float x);

void reference_rule(const TensorRule& rule, Tensor& tensor);

}  // namespace qsim::golden
