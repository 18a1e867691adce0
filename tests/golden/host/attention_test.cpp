// Attention and what goes with it: inputs that do not fit are told, and what no key counts for is
// 0.
#include <gtest/gtest.h>

#include "tests/golden/host/one_node.h"

namespace qsim::golden {
namespace {

// Of one head of two numbers.
OneNode attention(const Shape& q, const Shape& k) {
  return OneNode("Attention", 23)
      .with("q_num_heads", Int{1})
      .with("kv_num_heads", Int{1})
      .input(counted(q))
      .input(counted(k))
      .input(counted(k));
}

void expect_error(const OneNode& node, const std::string& part) {
  const std::string error = node.error(kBad);
  EXPECT_NE(error.find(part), std::string::npos) << error;
}

TEST(HostAttention, TellsBatchesThatDiffer) {
  expect_error(attention({1, 3, 2}, {2, 3, 2}), "expected the batch of input 0");
  expect_error(OneNode("MultiHeadAttention", 1, "com.microsoft")
                   .with("num_heads", Int{1})
                   .input(counted({4, 1, 2}))
                   .input(counted({1, 1, 2}))
                   .input(counted({1, 1, 2})),
               "expected the batch of input 0");
}

TEST(HostAttention, TellsAMaskThatDoesNotFit) {
  for (const Shape& shape : {Shape{1, 1, 1, 3, 3}, Shape{2}}) {
    Tensor mask(DType::kBool, shape);
    const std::string error = attention({1, 3, 2}, {1, 3, 2}).input(mask).error(kBad);
    EXPECT_NE(error.find("broadcast"), std::string::npos) << error;
  }
}

TEST(HostAttention, OfARowWithoutKeysIsZero) {
  EXPECT_EQ(attention({1, 1, 2}, {1, 2, 2}).input(bools({1, 2}, {0, 0})).result(),
            f32({1, 1, 2}, {0, 0}));
}

TEST(HostAttention, TellsColumnsBelowOne) {
  expect_error(OneNode("Attention", 1, "com.microsoft")
                   .with("num_heads", Int{3})
                   .with("qkv_hidden_sizes", Integers{-3, -3, 12})
                   .input(counted({1, 2, 4}))
                   .input(counted({4, 6})),
               "expected columns of queries");
}

TEST(HostRotaryEmbedding, TellsCachesOfOtherTypes) {
  const std::string error = OneNode("RotaryEmbedding", 1, "com.microsoft")
                                .input(counted({1, 1, 2, 4}))
                                .input(i64({1, 2}, {0, 1}))
                                .input(i8({2, 2}, {1, 2, 3, 4}))
                                .input(i8({2, 2}, {1, 2, 3, 4}))
                                .error(kUnsupported);
  EXPECT_NE(error.find("input 2 of int8; supported: float32"), std::string::npos) << error;
}

OneNode embedding(const Shape& segments) {
  return OneNode("EmbedLayerNormalization", 1, "com.microsoft")
      .outputs(2)
      .input(i32({1, 2}, {0, 1}))
      .input(Tensor(DType::kInt32, segments))
      .input(counted({3, 4}))
      .input(counted({2, 4}))
      .input(counted({2, 4}))
      .input(counted({4}))
      .input(counted({4}));
}

TEST(HostEmbedding, TellsRowsThatDoNotFit) {
  expect_error(embedding({1, 9}), "input 1 of shape [1, 9]; expected [1, 2]");
  expect_error(embedding({1, 2}).input(Tensor(DType::kInt32, {1, 3})),
               "input 7 of shape [1, 3]; expected [1, 2]");
  expect_error(embedding({1, 2}).absent().input(Tensor(DType::kInt32, {3})),
               "positions of shape [3]");
}

TEST(HostSignals, TellWhatDoesNotFit) {
  expect_error(OneNode("STFT").input(counted({1, 8, 1})).input(i64({}, {2})).input(f32({}, {1})),
               "a window of shape []; expected one axis");
  expect_error(OneNode("MelWeightMatrix")
                   .input(i64({}, {8}))
                   .input(i64({}, {16}))
                   .input(i64({}, {8000}))
                   .input(f32({}, {0}))
                   .input(f32({}, {1e30F})),
               "within half the sample rate");
}

}  // namespace
}  // namespace qsim::golden
