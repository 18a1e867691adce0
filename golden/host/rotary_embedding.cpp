#include <algorithm>
#include <string>
#include <vector>

#include "golden/host/attention.h"

namespace qsim::golden {
namespace {

// RotaryEmbedding: pairs of a row's numbers turned by angles of its position. ONNX's own has the
// caches before the positions, the contributed one after them.
void rotary_embedding(HostCall& call, std::size_t positions, std::size_t cosines,
                      std::size_t sines) {
  for (const std::size_t input : {std::size_t{0}, cosines, sines}) require_float32(call, input);
  const Shape& shape = call.shape(0);
  Tensor* const out = call.output(0, DType::kFloat32, shape);
  if (out == nullptr) return;
  if (shape.size() != 3 && shape.size() != 4) {
    call.malformed("an input of shape " + shape_text(shape), "three or four axes");
  }
  const Shape& cache = call.shape(cosines);
  if (cache.empty() || call.shape(sines) != cache) {
    call.malformed(
        "caches of shapes " + shape_text(cache) + " and " + shape_text(call.shape(sines)),
        "two of one shape");
  }
  const std::int64_t half = cache.back();
  const std::int64_t batch = shape[0];
  const bool is_split = shape.size() == 4;  // [batch][heads][rows][size]
  std::int64_t heads = call.attribute("num_heads", std::int64_t{0});
  if (is_split) heads = shape[1];
  if (!is_split && heads == 0)
    heads = divided(call, shape[2], 2 * half, "columns") > 0 ? shape[2] / (2 * half) : 1;
  const std::int64_t rows = is_split ? shape[2] : shape[1];
  const std::int64_t size = is_split ? shape[3] : divided(call, shape[2], heads, "columns");
  std::int64_t turned = call.attribute("rotary_embedding_dim", std::int64_t{0});
  if (turned == 0) turned = size;
  if (turned > size || turned != 2 * half) {
    call.malformed(
        "caches of " + std::to_string(half) + " angles for " + std::to_string(turned) + " numbers",
        "an angle a pair");
  }
  const bool is_interleaved = call.attribute("interleaved", std::int64_t{0}) != 0;
  const bool has_positions = call.has(positions);
  const std::vector<std::int64_t> given =
      has_positions ? call.integers(positions) : std::vector<std::int64_t>{};
  const auto cache_rows = element_count(cache) / std::max<std::int64_t>(half, 1);
  const auto row_of_cache = [&](std::int64_t b, std::int64_t r) {
    std::int64_t found = b * rows + r;
    if (has_positions) {
      found = std::ssize(given) == 1 ? given[0] + r : given.at(static_cast<std::size_t>(found));
    }
    if (found < 0 || found >= cache_rows) {
      call.malformed("position " + std::to_string(found), "0 to " + std::to_string(cache_rows - 1));
    }
    return found * half;
  };
  if (has_positions && std::ssize(given) != 1 && std::ssize(given) != batch * rows) {
    call.malformed(std::to_string(given.size()) + " positions",
                   "1 or " + std::to_string(batch * rows));
  }
  const auto from = elements<float>(call.input(0));
  const auto to = elements<float>(*out);
  const auto cosine = elements<float>(call.input(cosines));
  const auto sine = elements<float>(call.input(sines));
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t first =
            is_split ? ((b * heads + h) * rows + r) * size : ((b * rows + r) * heads + h) * size;
        const std::int64_t angles = row_of_cache(b, r);
        const auto at = [&](std::int64_t i) { return static_cast<std::size_t>(first + i); };
        for (std::int64_t i = 0; i < half; ++i) {
          const std::size_t one = at(is_interleaved ? 2 * i : i);
          const std::size_t other = at(is_interleaved ? 2 * i + 1 : half + i);
          const float c = cosine[static_cast<std::size_t>(angles + i)];
          const float s = sine[static_cast<std::size_t>(angles + i)];
          to[one] = from[one] * c - from[other] * s;
          to[other] = from[other] * c + from[one] * s;
        }
        for (std::int64_t i = turned; i < size; ++i) to[at(i)] = from[at(i)];
      }
    }
  }
}

}  // namespace

void run_rotary_embedding(HostCall& call) { rotary_embedding(call, 3, 1, 2); }
void run_microsoft_rotary_embedding(HostCall& call) { rotary_embedding(call, 1, 2, 3); }

}  // namespace qsim::golden
