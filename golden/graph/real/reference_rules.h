// The definition of every rule of real_rules.h as plain loops.
#pragma once

#include <variant>
#include <vector>

#include "golden/graph/real/real_rules.h"

namespace qsim::golden {

// What a value becomes.
float ruled(const UniformRule& rule, float x);
float ruled(const FloatRule& rule, float x);
float ruled(const Log2Rule& rule, float x);

// q of the uniform rule.
std::int64_t level_of(const UniformRule& rule, float x);

// The uniform rule of each picture of a tensor.
std::vector<UniformRule> reference_uniform_rules(const std::variant<UniformRule, DynamicRule>& rule,
                                                 const Tensor& tensor);

void reference_rule(const TensorRule& rule, Tensor& tensor);

}  // namespace qsim::golden
