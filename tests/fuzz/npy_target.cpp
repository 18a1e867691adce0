// .npy bytes: a tensor that is read is written and read again as itself.
#include "formats/traces/npy.h"
#include "tests/fuzz/fuzz_support.h"

namespace qsim::fuzz {

using namespace formats;

bool fuzz_one(Bytes input) {
  Tensor tensor;
  if (!accepted([&] { tensor = parse_npy(bytes_of(input), "input.npy"); })) return false;
  const std::string written = npy_bytes(tensor);
  const Tensor again = parse_npy(std::as_bytes(std::span(written)), "written.npy");
  require(again == tensor, "parse(print(tensor)) is another tensor");
  return true;
}

}  // namespace qsim::fuzz
