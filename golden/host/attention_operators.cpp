// Attention as one node, and the turns of positions that go with it.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "golden/host/attention.h"
#include "golden/host/host_operators.h"
#include "golden/host/product_kernels.h"
#include "golden/host/quantization.h"

namespace qsim::golden {
namespace {

// What the contributed operators' masks of padding add to a score: `filter` where a key does not
// count.
std::function<float(std::int64_t, std::int64_t, std::int64_t)> padding_mask(
    const HostCall& call, std::size_t index, const AttentionSizes& sizes, float filter) {
  if (!call.has(index)) return {};
  const Shape shape = call.shape(index);
  const std::vector<std::int64_t> mask = call.integers(index);
  const auto at = [mask](std::int64_t i) { return mask[static_cast<std::size_t>(i)]; };
  const std::int64_t keys = sizes.keys;
  const std::int64_t rows = sizes.rows;
  const std::int64_t batch = sizes.batch;
  if (shape == Shape{batch}) {
    return
        [=](std::int64_t b, std::int64_t, std::int64_t key) { return key < at(b) ? 0.0F : filter; };
  }
  if (shape == Shape{2 * batch}) {
    return [=](std::int64_t b, std::int64_t, std::int64_t key) {
      return key < at(b) && key >= at(batch + b) ? 0.0F : filter;
    };
  }
  if (shape == Shape{batch, keys}) {
    return [=](std::int64_t b, std::int64_t, std::int64_t key) {
      return at(b * keys + key) != 0 ? 0.0F : filter;
    };
  }
  if (shape == Shape{batch, rows, keys}) {
    return [=](std::int64_t b, std::int64_t row, std::int64_t key) {
      return at((b * rows + row) * keys + key) != 0 ? 0.0F : filter;
    };
  }
  call.refuse("a mask of shape " + shape_text(shape),
              shape_text({batch}) + ", " + shape_text({2 * batch}) + ", " +
                  shape_text({batch, keys}) + ", " + shape_text({batch, rows, keys}));
}

void check_broadcasts(const HostCall& call, std::size_t index, const Shape& scores) {
  if (broadcast(call, call.shape(index), scores) == scores) return;
  call.malformed("a mask or bias of shape " + shape_text(call.shape(index)),
                 "one that broadcasts to " + shape_text(scores));
}

// A tensor that broadcasts to [batch][heads][rows][keys]: its element there.
std::function<float(std::int64_t, std::int64_t, std::int64_t, std::int64_t)> broadcast_bias(
    const HostCall& call, std::size_t index, const AttentionSizes& sizes) {
  if (!call.has(index)) return {};
  require_float32(call, index);
  const Shape scores = {sizes.batch, sizes.heads, sizes.rows, sizes.keys};
  check_broadcasts(call, index, scores);
  const std::vector<std::int64_t> steps = broadcast_steps(call.shape(index), scores);
  const float* const from = elements<float>(call.input(index)).data();
  return [=](std::int64_t b, std::int64_t h, std::int64_t row, std::int64_t key) {
    return from[b * steps[0] + h * steps[1] + row * steps[2] + key * steps[3]];
  };
}

// The contributed Attention and QAttention: one product makes queries, keys and values.
struct SelfAttention {
  AttentionSizes sizes;
  std::array<std::int64_t, 3> widths{};  // of all heads' queries, keys and values
  std::int64_t inputs = 0;
  std::int64_t past_rows = 0;
  std::size_t mask = 0;  // inputs of the node
  std::size_t past = 0;
  std::size_t bias = 0;  // of scores; 0: none

  std::int64_t wide() const { return widths[0] + widths[1] + widths[2]; }
};

SelfAttention self_attention_of(const HostCall& call, std::size_t mask, std::size_t past,
                                std::size_t bias) {
  SelfAttention a;
  a.mask = mask;
  a.past = past;
  a.bias = bias;
  const Shape& x = call.shape(0);
  const Shape& w = call.shape(1);
  if (x.size() != 3 || w.size() != 2 || w[0] != x[2]) {
    call.malformed("shapes " + shape_text(x) + " and " + shape_text(w),
                   "batch, rows and inputs, and weights of as many inputs");
  }
  a.sizes.batch = x[0];
  a.sizes.rows = x[1];
  a.inputs = x[2];
  a.sizes.heads = a.sizes.kv_heads = call.attribute("num_heads", std::int64_t{0});
  const auto given = call.integer_list("qkv_hidden_sizes");
  if (given && given->size() != 3) {
    call.malformed("qkv_hidden_sizes of " + std::to_string(given->size()) + " numbers", "3");
  }
  for (std::size_t i = 0; i < 3; ++i) a.widths[i] = given ? (*given)[i] : w[1] / 3;
  const bool has_widths =
      std::ranges::all_of(a.widths, [](std::int64_t wide) { return wide >= 1; });
  if (!has_widths || a.wide() != w[1] || a.widths[0] != a.widths[1]) {
    call.malformed("weights " + shape_text(w),
                   "columns of queries, as many of keys, and of values");
  }
  a.sizes.size = divided(call, a.widths[0], a.sizes.heads, "columns");
  a.sizes.value_size = divided(call, a.widths[2], a.sizes.heads, "columns");
  if (call.has(past)) {
    require_float32(call, past);
    const Shape& p = call.shape(past);
    if (p.size() != 5 || p != Shape{2, x[0], a.sizes.heads, p[3], a.sizes.size} ||
        a.sizes.size != a.sizes.value_size) {
      call.malformed("a past of shape " + shape_text(p),
                     "keys and values of each head's earlier rows");
    }
    a.past_rows = p[3];
  }
  a.sizes.keys = a.past_rows + a.sizes.rows;
  return a;
}

// `qkv` is [batch * rows][wide], without the bias.
void finish_self_attention(HostCall& call, const SelfAttention& a, const std::vector<float>& qkv,
                           const float* bias, Tensor& out, Tensor* present) {
  const AttentionSizes& sizes = a.sizes;
  const auto part = [&](std::int64_t first, std::int64_t size) {
    return split_heads(sizes.batch, sizes.heads, sizes.rows, size, qkv.data() + first, a.wide(),
                       bias == nullptr ? nullptr : bias + first);
  };
  const Heads q = part(0, sizes.size);
  Heads k = part(a.widths[0], sizes.size);
  Heads v = part(a.widths[0] + a.widths[1], sizes.value_size);
  if (call.has(a.past)) {
    const float* const past = elements<float>(call.input(a.past)).data();
    const std::int64_t half = sizes.batch * sizes.heads * a.past_rows * sizes.size;
    k = joined(sizes.batch, past, a.past_rows, k);
    v = joined(sizes.batch, past + half, a.past_rows, v);
  }
  if (present != nullptr) {
    const auto to = elements<float>(*present);
    std::ranges::copy(k.numbers, to.begin());
    std::ranges::copy(v.numbers, to.begin() + std::ssize(k.numbers));
  }
  const float filter = call.attribute("mask_filter_value", -10000.0F);
  const bool looks_back = call.attribute("unidirectional", std::int64_t{0}) != 0;
  const auto mask = padding_mask(call, a.mask, sizes, filter);
  const auto added = a.bias == 0 ? nullptr : broadcast_bias(call, a.bias, sizes);
  AttentionRule rule;
  const float scale = call.attribute("scale", 0.0F);
  rule.scale = scale != 0 ? scale : 1.0F / std::sqrt(static_cast<float>(sizes.size));
  rule.bias = [&](std::int64_t b, std::int64_t h, std::int64_t row, std::int64_t key) {
    float sum = mask ? mask(b, row, key) : 0.0F;
    if (looks_back && key > a.past_rows + row) sum += std::numeric_limits<float>::lowest() / 2;
    return added ? sum + added(b, h, row, key) : sum;
  };
  attend(sizes, rule, q.view(), k.view(), v.view(), elements<float>(out).data());
}

void run_self_attention(HostCall& call, const SelfAttention& a, std::size_t bias,
                        const std::function<std::vector<float>()>& product) {
  const AttentionSizes& sizes = a.sizes;
  if (call.has(bias)) {
    require_float32(call, bias);
    if (call.shape(bias) != Shape{a.wide()}) {
      call.malformed("a bias of shape " + shape_text(call.shape(bias)), shape_text({a.wide()}));
    }
  }
  Tensor* const present =
      call.output(1, DType::kFloat32, {2, sizes.batch, sizes.heads, sizes.keys, sizes.size});
  Tensor* const out = call.output(0, DType::kFloat32, {sizes.batch, sizes.rows, a.widths[2]});
  if (out == nullptr) return;
  finish_self_attention(call, a, product(),
                        call.has(bias) ? elements<float>(call.input(bias)).data() : nullptr, *out,
                        present);
}

void attention_of_microsoft(HostCall& call) {
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) require_float32(call, i);
  const SelfAttention a = self_attention_of(call, 3, 4, 5);
  run_self_attention(call, a, 2, [&] {
    const std::int64_t rows = a.sizes.batch * a.sizes.rows;
    std::vector<float> qkv(static_cast<std::size_t>(rows * a.wide()), 0.0F);
    add_scaled_product(elements<float>(call.input(0)).data(), elements<float>(call.input(1)).data(),
                       qkv.data(), rows, a.inputs, a.wide(), 1.0F, true,
                       product_rule(rows, a.inputs, a.wide(), {}));
    return qkv;
  });
}

// The product is of levels; scales and zero_points are one, or those of weights one a column.
void quantized_attention(HostCall& call) {
  check_levels(call, 0);
  check_levels(call, 1);
  const SelfAttention a = self_attention_of(call, 5, 8, 0);
  run_self_attention(call, a, 2, [&] {
    const std::int64_t rows = a.sizes.batch * a.sizes.rows;
    const LevelsScale from = quantization_of(call, 3, 6, call.dtype(0));
    const std::vector<float> scales = scales_of(call, 4, a.wide());
    const std::vector<std::int32_t> zero_points = zero_points_of(call, 7, a.wide());
    std::vector<std::int32_t> x = levels_of(call.input(0));
    for (std::int32_t& level : x) level -= from.zero_point;
    std::vector<std::int32_t> w = levels_of(call.input(1));
    const auto columns = static_cast<std::size_t>(a.wide());
    for (std::size_t i = 0; i < w.size(); ++i) {
      w[i] -= zero_points[zero_points.size() == 1 ? 0 : i % columns];
    }
    std::vector<std::int32_t> sums(static_cast<std::size_t>(rows * a.wide()), 0);
    add_product(x.data(), w.data(), sums.data(), rows, a.inputs, a.wide());
    std::vector<float> qkv(sums.size());
    for (std::size_t i = 0; i < sums.size(); ++i) {
      qkv[i] =
          static_cast<float>(sums[i]) * (from.scale * scales[scales.size() == 1 ? 0 : i % columns]);
    }
    return qkv;
  });
}

// Queries, keys or values: [batch][rows][heads * size], or [batch][heads][rows][size].
Heads heads_of(const HostCall& call, std::size_t index, std::int64_t heads) {
  require_float32(call, index);
  const Shape& shape = call.shape(index);
  if (shape.empty() || call.shape(0).empty() || shape[0] != call.shape(0)[0]) {
    call.malformed("input " + std::to_string(index) + " of shape " + shape_text(shape),
                   "the batch of input 0, " + shape_text(call.shape(0)));
  }
  if (shape.size() == 4) {
    Heads all = {shape[1], shape[2], shape[3]};
    if (call.computes()) {
      const auto from = elements<float>(call.input(index));
      all.numbers.assign(from.begin(), from.end());
    }
    return all;
  }
  if (shape.size() != 3) {
    call.malformed("input " + std::to_string(index) + " of shape " + shape_text(shape),
                   "three or four axes");
  }
  const std::int64_t size = divided(call, shape[2], heads, "columns");
  if (!call.computes()) return {heads, shape[1], size};
  return split_heads(shape[0], heads, shape[1], size, elements<float>(call.input(index)).data(),
                     shape[2]);
}

void add_past(const HostCall& call, std::size_t index, Heads& now) {
  if (!call.has(index)) return;
  require_float32(call, index);
  const Shape& past = call.shape(index);
  const std::int64_t batch = call.shape(0)[0];
  if (past.size() != 4 || past != Shape{batch, now.heads, past[2], now.size}) {
    call.malformed("a past of shape " + shape_text(past), "as the keys or values before it");
  }
  if (!call.computes()) {
    now.rows += past[2];
    return;
  }
  now = joined(batch, elements<float>(call.input(index)).data(), past[2], now);
}

void give_present(HostCall& call, std::size_t index, const Heads& all) {
  Tensor* const to =
      call.output(index, DType::kFloat32, {call.shape(0)[0], all.heads, all.rows, all.size});
  if (to != nullptr) std::ranges::copy(all.numbers, elements<float>(*to).begin());
}

AttentionSizes sizes_of(const HostCall& call, const Heads& q, const Heads& k, const Heads& v) {
  if (q.size != k.size || k.rows != v.rows || k.heads != v.heads || k.heads == 0 ||
      q.heads % k.heads != 0) {
    call.malformed("queries, keys and values that do not fit together",
                   "keys as long as queries, a value a key, and as many heads");
  }
  return {call.shape(0)[0], q.heads, k.heads, q.rows, k.rows, q.size, v.size};
}

// ONNX's own Attention (opset 23 and higher).
void attention(HostCall& call) {
  if (call.has(6)) call.refuse("nonpad_kv_seqlen", "keys and values without padding");
  if (call.attribute("qk_matmul_output_mode", std::int64_t{0}) != 0 || call.wants(3)) {
    call.refuse("an output of scores", "outputs Y, present_key and present_value");
  }
  const bool is_flat = call.shape(0).size() == 3;
  const Heads q = heads_of(call, 0, call.attribute("q_num_heads", std::int64_t{0}));
  Heads k = heads_of(call, 1, call.attribute("kv_num_heads", std::int64_t{0}));
  Heads v = heads_of(call, 2, call.attribute("kv_num_heads", std::int64_t{0}));
  const std::int64_t fresh = k.rows;
  add_past(call, 4, k);
  add_past(call, 5, v);
  const AttentionSizes sizes = sizes_of(call, q, k, v);
  give_present(call, 1, k);
  give_present(call, 2, v);
  const Shape flat = {sizes.batch, sizes.rows, sizes.heads * sizes.value_size};
  Tensor* const out =
      call.output(0, DType::kFloat32,
                  is_flat ? flat : Shape{sizes.batch, sizes.heads, sizes.rows, sizes.value_size});
  if (out == nullptr) return;
  AttentionRule rule;
  rule.scale = call.attribute("scale", 1.0F / std::sqrt(static_cast<float>(sizes.size)));
  rule.softcap = call.attribute("softcap", 0.0F);
  const bool is_causal = call.attribute("is_causal", std::int64_t{0}) != 0;
  const bool is_truth = call.has(3) && call.dtype(3) == DType::kBool;
  const Shape scores = {sizes.batch, sizes.heads, sizes.rows, sizes.keys};
  std::vector<std::int64_t> steps;
  if (is_truth) {
    check_broadcasts(call, 3, scores);
    steps = broadcast_steps(call.shape(3), scores);
  }
  const auto added = is_truth ? nullptr : broadcast_bias(call, 3, sizes);
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  rule.bias = [&](std::int64_t b, std::int64_t h, std::int64_t row, std::int64_t key) {
    if (is_causal && key > sizes.keys - fresh + row) return kNever;
    if (is_truth) {
      const auto at = b * steps[0] + h * steps[1] + row * steps[2] + key * steps[3];
      return call.input(3).bytes[static_cast<std::size_t>(at)] != std::byte{0} ? 0.0F : kNever;
    }
    return added ? added(b, h, row, key) : 0.0F;
  };
  Tensor rows(DType::kFloat32, flat);
  attend(sizes, rule, q.view(), k.view(), v.view(), elements<float>(rows).data());
  if (is_flat) {
    out->bytes = std::move(rows.bytes);
    return;
  }
  const Heads turned = split_heads(sizes.batch, sizes.heads, sizes.rows, sizes.value_size,
                                   elements<float>(rows).data(), flat[2]);
  std::ranges::copy(turned.numbers, elements<float>(*out).begin());
}

// The contributed MultiHeadAttention: queries, keys and values come apart.
void multi_head_attention(HostCall& call) {
  if (call.shape(0).size() != 3 || !call.has(1) || !call.has(2)) {
    call.refuse("packed queries, keys and values", "three inputs");
  }
  const std::int64_t heads = call.attribute("num_heads", std::int64_t{0});
  Heads q = heads_of(call, 0, heads);
  Heads k = heads_of(call, 1, heads);
  Heads v = heads_of(call, 2, heads);
  if (call.has(3) && call.computes()) {
    require_float32(call, 3);
    const auto bias = elements<float>(call.input(3));
    std::int64_t first = 0;
    for (Heads* const part : {&q, &k, &v}) {
      if (first + heads * part->size > std::ssize(bias)) {
        call.malformed("a bias of shape " + shape_text(call.shape(3)), "a number a column");
      }
      for (std::size_t i = 0; i < part->numbers.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i);
        const std::int64_t head = at / (part->rows * part->size) % heads;
        part->numbers[i] +=
            bias[static_cast<std::size_t>(first + head * part->size + at % part->size)];
      }
      first += heads * part->size;
    }
  }
  const std::int64_t fresh = k.rows;
  add_past(call, 6, k);
  add_past(call, 7, v);
  const AttentionSizes sizes = sizes_of(call, q, k, v);
  give_present(call, 1, k);
  give_present(call, 2, v);
  Tensor* const out =
      call.output(0, DType::kFloat32, {sizes.batch, sizes.rows, sizes.heads * sizes.value_size});
  if (out == nullptr) return;
  AttentionRule rule;
  const float scale = call.attribute("scale", 0.0F);
  rule.scale = scale != 0 ? scale : 1.0F / std::sqrt(static_cast<float>(sizes.size));
  const bool looks_back = call.attribute("unidirectional", std::int64_t{0}) != 0;
  const auto mask = padding_mask(call, 4, sizes, call.attribute("mask_filter_value", -10000.0F));
  const auto added = broadcast_bias(call, 5, sizes);
  rule.bias = [&](std::int64_t b, std::int64_t h, std::int64_t row, std::int64_t key) {
    float sum = mask ? mask(b, row, key) : 0.0F;
    if (looks_back && key > sizes.keys - fresh + row) {
      sum += std::numeric_limits<float>::lowest() / 2;
    }
    return added ? sum + added(b, h, row, key) : sum;
  };
  attend(sizes, rule, q.view(), k.view(), v.view(), elements<float>(*out).data());
}

constexpr std::array kAttentionOperators = {
    HostOperator{"Attention", attention},
    HostOperator{"Attention", attention_of_microsoft, kMicrosoft},
    HostOperator{"MultiHeadAttention", multi_head_attention, kMicrosoft},
    HostOperator{"QAttention", quantized_attention, kMicrosoft},
    HostOperator{"RotaryEmbedding", run_rotary_embedding},
    HostOperator{"RotaryEmbedding", run_microsoft_rotary_embedding, kMicrosoft},
};

}  // namespace

std::span<const HostOperator> attention_operators() { return kAttentionOperators; }

}  // namespace qsim::golden
