// A barrier among some threads of a block, some of which do not wait: from compute capability 8.0
// on. hopper.cuh has the one that also counts bytes.
#pragma once

#include <cstdint>

#include "golden/device/tensor_core.cuh"

namespace qsim::golden::cuda {

// In shared memory, with a phase bit that turns when `count` arrivals have come. What a thread
// wrote before it arrives, threads that wait for that phase see.
class BlockBarrier {
 public:
  __device__ void init(int count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(to_shared(this)), "r"(count)
                 : "memory");
  }
  __device__ void arrive() {
    asm volatile(
        "{\n.reg .b64 state;\nmbarrier.arrive.shared.b64 state, [%0];\n}\n" ::"r"(to_shared(this))
        : "memory");
  }
  // Waits until the phase of this parity is complete.
  __device__ void wait(std::uint32_t parity) {
    std::uint32_t done = 0;
    while (done == 0) {
      asm volatile(
          "{\n.reg .pred p;\nmbarrier.test_wait.parity.shared.b64 p, [%1], %2;\n"
          "selp.u32 %0, 1, 0, p;\n}\n"
          : "=r"(done)
          : "r"(to_shared(this)), "r"(parity)
          : "memory");
    }
  }

 private:
  std::uint64_t state_;
};

}  // namespace qsim::golden::cuda
