#include "bench/limits/memory_pass.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "bench/common/cpu_clock.h"

namespace qsim {
namespace {

constexpr int kPasses = 3;

template <typename Work>
double least_seconds(const Work& work) {
  double least = 1e9;
  for (int i = 0; i < kPasses; ++i) {
    const double begin = bench::cpu_seconds();
    work();
    least = std::min(least, bench::cpu_seconds() - begin);
  }
  return least;
}

// Makes the compiler believe that somebody looks at the bytes.
void look_at(const void* bytes) { asm volatile("" ::"r"(bytes) : "memory"); }

std::uint64_t sum_of(const std::vector<std::byte>& bytes) {
  constexpr std::size_t kSums = 32;  // independent, so that no addition waits for the one before
  std::uint64_t words[kSums];
  std::uint64_t sums[kSums] = {};
  for (std::size_t at = 0; at + sizeof words <= bytes.size(); at += sizeof words) {
    std::memcpy(words, bytes.data() + at, sizeof words);
    for (std::size_t i = 0; i < kSums; ++i) sums[i] += words[i];
  }
  std::uint64_t sum = 0;
  for (const std::uint64_t part : sums) sum += part;
  return sum;
}

}  // namespace

MemoryPass::MemoryPass(std::size_t bytes) : from_(bytes, std::byte{1}), to_(bytes, std::byte{2}) {}

double MemoryPass::copy_seconds() {
  return least_seconds([this] {
    std::copy(from_.begin(), from_.end(), to_.begin());
    look_at(to_.data());
  });
}

double MemoryPass::read_seconds() {
  return least_seconds([this] {
    const std::uint64_t sum = sum_of(from_);
    look_at(&sum);
  });
}

}  // namespace qsim
