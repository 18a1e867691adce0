// What operators of attention share.
#pragma once

#include <cstdint>
#include <string>

#include "golden/host/host_call.h"

namespace qsim::golden {

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
