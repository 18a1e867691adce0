// The other half of the limit: how long this core takes to pass over so many bytes when nothing
// else happens. Few bytes stay in the caches from pass to pass, as they do for a network that is
// run again.
#pragma once

#include <cstddef>
#include <vector>

namespace qsim {

class MemoryPass {
 public:
  explicit MemoryPass(std::size_t bytes);

  // Seconds for all bytes once, the least of a few passes.
  double copy_seconds();
  double read_seconds();

 private:
  std::vector<std::byte> from_;
  std::vector<std::byte> to_;  // its pages are touched, so that no pass pays for that
};

}  // namespace qsim
