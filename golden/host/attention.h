// What operators of attention share.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "golden/host/host_call.h"

namespace qsim::golden {

// Numbers of [batch][heads][rows][size], wherever they lie: steps in elements.
struct HeadsView {
  const float* data = nullptr;
  std::int64_t batch_step = 0;
  std::int64_t head_step = 0;
  std::int64_t row_step = 0;

  const float* row(std::int64_t b, std::int64_t h, std::int64_t r) const {
    return data + b * batch_step + h * head_step + r * row_step;
  }
};

// The same with memory of their own, dense.
struct Heads {
  std::int64_t heads = 0;
  std::int64_t rows = 0;
  std::int64_t size = 0;
  std::vector<float> numbers = {};

  HeadsView view() const { return {numbers.data(), heads * rows * size, rows * size, size}; }
};

struct AttentionSizes {
  std::int64_t batch = 0;
  std::int64_t heads = 0;     // of the queries
  std::int64_t kv_heads = 0;  // of keys and values; each serves heads / kv_heads
  std::int64_t rows = 0;      // queries
  std::int64_t keys = 0;
  std::int64_t size = 0;        // of a query and a key
  std::int64_t value_size = 0;  // of a value
};

// What a score becomes before the softmax.
struct AttentionRule {
  float scale = 1.0F;
  float softcap = 0.0F;  // 0: none
  // Is added to the score of a query and a key.
  std::function<float(std::int64_t b, std::int64_t h, std::int64_t row, std::int64_t key)> bias;
};

// softmax(scale * q * k^T + bias) * v, a query at a time; `out` is
// [batch][rows][heads][value_size].
void attend(const AttentionSizes& sizes, const AttentionRule& rule, const HeadsView& q,
            const HeadsView& k, const HeadsView& v, float* out);
// `past`, [batch][heads][rows][size], then the rows of `now`.
Heads joined(std::int64_t batch, const float* past, std::int64_t past_rows, const Heads& now);
// From [batch][rows][heads * size], whose rows begin `row_step` apart, with a bias a column.
Heads split_heads(std::int64_t batch, std::int64_t heads, std::int64_t rows, std::int64_t size,
                  const float* from, std::int64_t row_step, const float* bias = nullptr);

inline void require_float32(const HostCall& call, std::size_t index) {
  if (!call.has(index) || call.dtype(index) == DType::kFloat32) return;
  call.refuse(
      "input " + std::to_string(index) + " of " + std::string(dtype_name(call.dtype(index))),
      "float32");
}

// all / parts, which must be a whole number.
inline std::int64_t divided(const HostCall& call, std::int64_t all, std::int64_t parts,
                            const std::string& what) {
  if (parts >= 1 && all % parts == 0) return all / parts;
  call.malformed(std::to_string(all) + " " + what + " for " + std::to_string(parts) + " heads",
                 "as many for each head");
}

// Operators of attention_operators() in a file of their own.
void run_rotary_embedding(HostCall& call);            // ONNX's
void run_microsoft_rotary_embedding(HostCall& call);  // the contributed one

}  // namespace qsim::golden
