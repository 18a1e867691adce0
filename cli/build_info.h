// What this executable is: filled in by CMake (build_info.cmake), at build time for the commit.
#pragma once

#include <string_view>

namespace qsim::cli {

std::string_view build_version();  // "0.1.0"
std::string_view build_commit();   // `git describe --always --dirty`; "unknown" outside git
std::string_view build_type();     // "Release"
std::string_view protobuf_version();

}  // namespace qsim::cli
