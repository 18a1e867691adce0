// Where the RTL and its Verilated models lie: beside the executable, in the source tree, installed,
// and in the user's cache.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace qsim::rtl {

struct RtlPlaces {
  std::filesystem::path sources;                     // the folder rtl/; empty when not found
  std::vector<std::filesystem::path> model_folders;  // searched for built models, in this order
  // Where models are built: ${QSIM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/qsim}/rtl; empty when no
  // variable names a place.
  std::filesystem::path cache;
};

// As seen from the running executable: sources in ../share/qsim/rtl or the source tree that it was
// built from; models in rtl/ and ../rtl/ beside it and in ../lib/qsim/rtl.
RtlPlaces standard_rtl_places();

// The executable file that `name` means on PATH; empty when there is none.
std::filesystem::path find_program(const std::string& name);

}  // namespace qsim::rtl
