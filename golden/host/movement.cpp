#include "golden/host/movement.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

namespace qsim::golden {

Integers counted(std::int64_t count) {
  Integers numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

void fill(Tensor& tensor, std::span<const std::byte> value) {
  for (std::size_t at = 0; at < tensor.bytes.size(); at += value.size()) {
    std::memcpy(tensor.bytes.data() + at, value.data(), value.size());
  }
}

std::int64_t elements_between(const Shape& shape, std::size_t begin, std::size_t end) {
  std::int64_t elements = 1;
  for (std::size_t d = begin; d < end; ++d) elements = checked_mul(elements, shape[d]);
  return elements;
}

Shape around(const Shape& shape, std::size_t axis) {
  return {elements_between(shape, 0, axis), shape[axis],
          elements_between(shape, axis + 1, shape.size())};
}

std::array<float, 4> cubic_weights(float a, float s) {
  const float far = s + 1;
  const float near = 1 - s;
  const float last = 2 - s;
  return {((a * far - 5 * a) * far + 8 * a) * far - 4 * a, ((a + 2) * s - (a + 3)) * s * s + 1,
          ((a + 2) * near - (a + 3)) * near * near + 1,
          ((a * last - 5 * a) * last + 8 * a) * last - 4 * a};
}

std::optional<Integers> listed(const HostCall& call, std::string_view name, std::size_t input,
                               int input_since) {
  if (call.opset() < input_since) return call.integer_list(name);
  return call.has(input) ? std::optional(call.integers(input)) : std::nullopt;
}

std::vector<std::size_t> distinct_axes(const HostCall& call, const Integers& axes,
                                       std::size_t rank) {
  std::vector<std::size_t> distinct;
  for (const std::int64_t axis : axes) {
    distinct.push_back(call.axis(axis, rank));
    if (std::count(distinct.begin(), distinct.end(), distinct.back()) > 1) {
      call.malformed("axis " + std::to_string(axis) + " is there twice", "it once");
    }
  }
  return distinct;
}

namespace {

// Neighbours on the last axis that are neighbours in the source as well; in bytes.
struct Run {
  std::size_t to = 0;
  std::size_t from = 0;
  std::size_t bytes = 0;
};

std::vector<Run> runs_of(const Integers& picks, std::size_t block) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < picks.size(); ++i) {
    if (picks[i] == kNowhere) continue;
    const Run run = {i * block, static_cast<std::size_t>(picks[i]) * block, block};
    if (!runs.empty() && runs.back().to + runs.back().bytes == run.to &&
        runs.back().from + runs.back().bytes == run.from) {
      runs.back().bytes += block;
    } else {
      runs.push_back(run);
    }
  }
  return runs;
}

bool is_whole(const Integers& picks, std::int64_t dimension) {
  if (picks.size() != static_cast<std::size_t>(dimension)) return false;
  for (std::size_t i = 0; i < picks.size(); ++i) {
    if (picks[i] != static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

}  // namespace

void pick(const Tensor& from, const Shape& from_shape, const Picks& picks, Tensor& to) {
  if (to.bytes.empty() || from.bytes.empty()) return;
  std::size_t block = dtype_bytes(to.dtype);
  std::size_t rank = picks.size();
  for (; rank > 0 && is_whole(picks[rank - 1], from_shape[rank - 1]); --rank) {
    block *= static_cast<std::size_t>(from_shape[rank - 1]);
  }
  if (rank == 0) {
    std::copy(from.bytes.begin(), from.bytes.end(), to.bytes.begin());
    return;
  }
  const std::vector<Run> runs = runs_of(picks[rank - 1], block);
  const std::size_t outer = rank - 1;
  const Integers steps =
      row_major_steps(Shape(from_shape.begin(), from_shape.begin() + static_cast<long>(rank)));
  const std::size_t row_bytes = picks[outer].size() * block;
  std::vector<std::size_t> at(outer, 0);
  for (std::size_t row = 0; row < to.bytes.size(); row += row_bytes) {
    std::int64_t base = 0;
    bool is_somewhere = true;
    for (std::size_t d = 0; d < outer; ++d) {
      const std::int64_t position = picks[d][at[d]];
      is_somewhere = is_somewhere && position != kNowhere;
      base += position * steps[d];
    }
    if (is_somewhere) {
      const std::byte* source = from.bytes.data() + static_cast<std::size_t>(base) * block;
      for (const Run& run : runs) {
        std::memcpy(to.bytes.data() + row + run.to, source + run.from, run.bytes);
      }
    }
    for (std::size_t d = outer; d-- > 0;) {
      if (++at[d] < picks[d].size()) break;
      at[d] = 0;
    }
  }
}

// Fills `to`, seen as of `shape`, with elements of `from` that lie `steps` apart on its axes.
void walk(const Tensor& from, Integers steps, Shape shape, Tensor& to) {
  if (to.bytes.empty()) return;
  const std::size_t size = dtype_bytes(to.dtype);
  std::int64_t together = 1;  // elements that lie side by side in both
  while (!shape.empty() && (shape.back() == 1 || steps.back() == together)) {
    together *= shape.back();
    shape.pop_back();
    steps.pop_back();
  }
  const auto copy = [&](auto block) {
    for_each_position<1>(shape, {steps}, [&](std::int64_t i, const auto& at) {
      std::memcpy(to.bytes.data() + static_cast<std::size_t>(i) * block,
                  from.bytes.data() + static_cast<std::size_t>(at[0]) * size, block);
    });
  };
  const std::size_t block = static_cast<std::size_t>(together) * size;
  if (block == sizeof(float)) {
    copy(std::integral_constant<std::size_t, sizeof(float)>{});
  } else {
    copy(block);
  }
}

Shape permuted(const Shape& shape, const std::vector<std::size_t>& permutation) {
  Shape result;
  for (const std::size_t axis : permutation) result.push_back(shape[axis]);
  return result;
}

void transpose_to(const Tensor& from, const Shape& shape,
                  const std::vector<std::size_t>& permutation, Tensor& to) {
  if (to.bytes.empty()) return;
  walk(from, permuted(row_major_steps(shape), permutation), permuted(shape, permutation), to);
}

void require_sizes(const HostCall& call, const Integers& sizes, const char* what) {
  if (std::ranges::any_of(sizes, [](std::int64_t size) { return size < 0; })) {
    call.malformed(std::string(what) + " " + shape_text(sizes), "none below 0");
  }
}

}  // namespace qsim::golden
