#include "golden/real/real_rules.h"

#include <gtest/gtest.h>

namespace qsim::golden {
namespace {

float ruled(const TensorRule& rule, float x) {
  Tensor tensor(DType::kFloat32, {1, 1});
  tensor.as<float>()[0] = x;
  apply(rule, tensor);
  return tensor.as<float>()[0];
}

TEST(RealRules, UniformRoundsTiesToEvenAndSaturates) {
  const UniformRule rule{0.5F, 3, -8, 7};
  EXPECT_EQ(ruled(rule, 0.25F), 0.0F);
  EXPECT_EQ(ruled(rule, 0.75F), 1.0F);
  EXPECT_EQ(ruled(rule, 100.0F), 2.0F);
  EXPECT_EQ(ruled(rule, -100.0F), -5.5F);
}

}  // namespace
}  // namespace qsim::golden
