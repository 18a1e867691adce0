// Real numbers as the kernels of training layers read and write them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "golden/kernels/train/train_calls.h"

namespace qsim::golden::train::cuda {

struct Half {
  std::uint16_t bits;
};
struct Bfloat {
  std::uint16_t bits;
};

__device__ inline float real_of(float value) { return value; }
__device__ inline float real_of(Half value) {
  float real;
  asm("cvt.f32.f16 %0, %1;" : "=f"(real) : "h"(value.bits));
  return real;
}
__device__ inline float real_of(Bfloat value) {
  return __uint_as_float(static_cast<std::uint32_t>(value.bits) << 16);
}

// To nearest, ties to even; NaN is 0x7E00 and 0x7FC0.
__device__ inline std::uint16_t half_bits(float value) {
  std::uint16_t bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return value == value ? bits : std::uint16_t{0x7E00};
}
__device__ inline std::uint16_t bfloat_bits(float value) {
  std::uint16_t bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return value == value ? bits : std::uint16_t{0x7FC0};
}

// 16 bytes of reals.
template <typename T>
struct alignas(16) RealVector {
  static constexpr int kCount = 16 / sizeof(T);
  T values[kCount];
};

template <typename T>
__device__ inline RealVector<T> load_vector(const void* from) {
  const uint4 loaded = *static_cast<const uint4*>(from);
  RealVector<T> vector;
  memcpy(&vector, &loaded, sizeof(vector));
  return vector;
}
// The same for what is not read again soon.
template <typename T>
__device__ inline RealVector<T> load_vector_once(const void* from) {
  const uint4 loaded = __ldcs(static_cast<const uint4*>(from));
  RealVector<T> vector;
  memcpy(&vector, &loaded, sizeof(vector));
  return vector;
}

// Calls f with a value of the C++ type of `type`.
template <typename F>
void with_real(RealType type, F f) {
  if (type == RealType::kFloat32) {
    f(float{});
  } else if (type == RealType::kFloat16) {
    f(Half{});
  } else {
    f(Bfloat{});
  }
}

inline std::int64_t real_bytes(RealType type) { return type == RealType::kFloat32 ? 4 : 2; }

inline bool is_aligned(const void* data, std::uintptr_t bytes) {
  return reinterpret_cast<std::uintptr_t>(data) % bytes == 0;
}

// Whether the elements lie in memory without gaps, in some order of the axes.
inline bool is_gapless(const RealTensor& x) {
  std::array<int, 4> axes = {0, 1, 2, 3};
  std::sort(axes.begin(), axes.end(), [&](int a, int b) {
    return x.strides[static_cast<std::size_t>(a)] < x.strides[static_cast<std::size_t>(b)];
  });
  std::int64_t next = 1;
  for (const int axis : axes) {
    const auto at = static_cast<std::size_t>(axis);
    if (x.shape[at] == 1) continue;
    if (x.strides[at] != next) return false;
    next *= x.shape[at];
  }
  return true;
}

__device__ inline std::int64_t elems_of(const RealTensor& x) {
  return x.shape[0] * x.shape[1] * x.shape[2] * x.shape[3];
}

// A place in a tensor [B][H][W][C], by its row-major index.
struct RealPlace {
  std::int64_t at[4];

  __device__ RealPlace(const RealTensor& x, std::int64_t index) {
    if (elems_of(x) < (std::int64_t{1} << 32)) {
      auto rest = static_cast<std::uint32_t>(index);
#pragma unroll
      for (int axis = 3; axis > 0; --axis) {
        const auto size = static_cast<std::uint32_t>(x.shape[axis]);
        at[axis] = rest % size;
        rest /= size;
      }
      at[0] = rest;
    } else {
#pragma unroll
      for (int axis = 3; axis > 0; --axis) {
        at[axis] = index % x.shape[axis];
        index /= x.shape[axis];
      }
      at[0] = index;
    }
  }
  __device__ void advance(const RealTensor& x) {
#pragma unroll
    for (int axis = 3; axis > 0; --axis) {
      if (++at[axis] < x.shape[axis]) return;
      at[axis] = 0;
    }
    ++at[0];
  }
  __device__ std::int64_t offset(const RealTensor& x) const {
    return at[0] * x.strides[0] + at[1] * x.strides[1] + at[2] * x.strides[2] +
           at[3] * x.strides[3];
  }
};

}  // namespace qsim::golden::train::cuda
