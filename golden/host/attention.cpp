#include "golden/host/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace qsim::golden {
namespace {

// max-subtracted exponentials over their sum.
void softmax_row(std::vector<float>& scores) {
  const float most = *std::ranges::max_element(scores);
  if (most == -std::numeric_limits<float>::infinity()) {  // no key counts
    std::ranges::fill(scores, 0.0F);
    return;
  }
  float sum = 0;
  for (float& score : scores) {
    score = std::exp(score - most);
    sum += score;
  }
  for (float& score : scores) score /= sum;
}

}  // namespace

// softmax(scale * q * k^T + bias) * v, a query at a time; `out` is
// [batch][rows][heads][value_size].
void attend(const AttentionSizes& sizes, const AttentionRule& rule, const HeadsView& q,
            const HeadsView& k, const HeadsView& v, float* out) {
  std::vector<float> scores(static_cast<std::size_t>(sizes.keys));
  const std::int64_t group = sizes.heads / sizes.kv_heads;
  for (std::int64_t b = 0; b < sizes.batch; ++b) {
    for (std::int64_t h = 0; h < sizes.heads; ++h) {
      const std::int64_t kv = h / group;
      for (std::int64_t r = 0; r < sizes.rows; ++r) {
        const float* const query = q.row(b, h, r);
        for (std::int64_t key = 0; key < sizes.keys; ++key) {
          const float* const other = k.row(b, kv, key);
          float sum = 0;
          for (std::int64_t i = 0; i < sizes.size; ++i) sum += query[i] * other[i];
          float score = sum * rule.scale;
          if (rule.bias) score += rule.bias(b, h, r, key);
          if (rule.softcap != 0) score = rule.softcap * std::tanh(score / rule.softcap);
          scores[static_cast<std::size_t>(key)] = score;
        }
        if (sizes.keys > 0) softmax_row(scores);
        float* const to = out + ((b * sizes.rows + r) * sizes.heads + h) * sizes.value_size;
        std::fill_n(to, sizes.value_size, 0.0F);
        for (std::int64_t key = 0; key < sizes.keys; ++key) {
          const float weight = scores[static_cast<std::size_t>(key)];
          const float* const value = v.row(b, kv, key);
          for (std::int64_t i = 0; i < sizes.value_size; ++i) to[i] += weight * value[i];
        }
      }
    }
  }
}

Heads joined(std::int64_t batch, const float* past, std::int64_t past_rows, const Heads& now) {
  Heads all = {now.heads, past_rows + now.rows, now.size};
  all.numbers.reserve(static_cast<std::size_t>(batch * all.heads * all.rows * all.size));
  for (std::int64_t i = 0; i < batch * now.heads; ++i) {
    const float* const before = past == nullptr ? nullptr : past + i * past_rows * now.size;
    if (before != nullptr)
      all.numbers.insert(all.numbers.end(), before, before + past_rows * now.size);
    const auto own = now.numbers.begin() + i * now.rows * now.size;
    all.numbers.insert(all.numbers.end(), own, own + now.rows * now.size);
  }
  return all;
}

Heads split_heads(std::int64_t batch, std::int64_t heads, std::int64_t rows, std::int64_t size,
                  const float* from, std::int64_t row_step, const float* bias) {
  Heads all = {heads, rows, size};
  all.numbers.resize(static_cast<std::size_t>(batch * heads * rows * size));
  float* to = all.numbers.data();
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t r = 0; r < rows; ++r) {
        const float* const row = from + (b * rows + r) * row_step + h * size;
        for (std::int64_t i = 0; i < size; ++i) {
          *to++ = bias == nullptr ? row[i] : row[i] + bias[h * size + i];
        }
      }
    }
  }
  return all;
}

}  // namespace qsim::golden
