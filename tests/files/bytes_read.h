// How many bytes this process has read so far, as the kernel counts them.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace qsim {

inline std::int64_t bytes_read() {
  std::ifstream file("/proc/self/io");
  std::string name;
  std::int64_t bytes = 0;
  while (file >> name >> bytes) {
    if (name == "rchar:") return bytes;
  }
  return 0;
}

}  // namespace qsim
