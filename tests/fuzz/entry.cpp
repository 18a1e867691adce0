// The name by which libFuzzer calls a target.
#include "tests/fuzz/fuzz_support.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  qsim::fuzz::fuzz_one({data, size});
  return 0;
}
