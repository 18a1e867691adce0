# Precompiled headers, where asked for with -DQSIM_PRECOMPILE=ON: the C++ library's for all sources, and
# the same with GoogleTest for tests. Each is compiled once for a build folder. The project's own headers
# are not among them: an edit of one rebuilds what includes it and no more. A source includes what it
# uses all the same. ccache stores nothing that uses a precompiled header, unless it is told to be sloppy.
option(QSIM_PRECOMPILE "Precompile the C++ library's headers" OFF)

set(QSIM_STANDARD_HEADERS
  <algorithm> <array> <bit> <charconv> <chrono> <cmath> <cstdint> <cstdio> <cstdlib> <cstring>
  <deque> <filesystem> <functional> <limits> <map> <memory> <numeric> <optional> <set> <span>
  <sstream> <string> <string_view> <utility> <variant> <vector>)

# qsim_precompile(NAME HEADERS <header> ... LINK lib ...): a library that others take its precompiled
# headers from. LINK brings macros that the headers depend on.
function(qsim_precompile name)
  cmake_parse_arguments(arg "" "" "HEADERS;LINK" ${ARGN})
  if(NOT QSIM_PRECOMPILE)
    return()
  endif()
  set(source ${CMAKE_BINARY_DIR}/precompiled/${name}.cpp)
  file(GENERATE OUTPUT ${source} CONTENT "// Only the precompiled headers of this library are used.\n")
  add_library(${name} OBJECT ${source})
  target_link_libraries(${name} PRIVATE qsim_options ${arg_LINK})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
endfunction()

# qsim_use_precompiled(NAME FROM): the target NAME takes those of qsim_precompile(FROM).
function(qsim_use_precompiled name from)
  if(TARGET ${from})
    target_precompile_headers(${name} REUSE_FROM ${from})
    # With a precompiled header GCC 12 sees overflows in std::string's operator+ where there are none, as
    # it sees overlaps without one (GCC bug 105651, QsimTargets.cmake).
    target_compile_options(${name} PRIVATE
      $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-array-bounds;-Wno-stringop-overflow>)
  endif()
endfunction()
