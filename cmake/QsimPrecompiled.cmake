# Precompiled headers: the C++ library's for all sources, and the same with GoogleTest for tests. Each is
# compiled once for a build folder. The project's own headers are not among them: an edit of one
# rebuilds what includes it and no more. A source includes what it uses all the same: builds other than
# Release have no precompiled headers, and ./dev lint compiles without them. ccache stores nothing that
# uses one, unless its `sloppiness` has pch_defines and time_macros.
set(QSIM_PRECOMPILE_DEFAULT OFF)
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(QSIM_PRECOMPILE_DEFAULT ON)
endif()
option(QSIM_PRECOMPILE "Precompile the C++ library's headers" ${QSIM_PRECOMPILE_DEFAULT})

set(QSIM_STANDARD_HEADERS
  <algorithm> <array> <bit> <charconv> <chrono> <cmath> <cstdint> <cstdio> <cstdlib> <cstring>
  <deque> <filesystem> <functional> <limits> <map> <memory> <numeric> <optional> <set> <span>
  <sstream> <string> <string_view> <utility> <variant> <vector>)

# libstdc++ turns these warnings off for the functions of char_traits.h, by a pragma that GCC 12 loses in
# a precompiled header (GCC bug 64117): it then sees overflows in std::string where there are none. The
# parameter makes GCC collect its garbage later: 5 to 10% of its time, for 180 MB more at most.
set(QSIM_PRECOMPILED_OPTIONS
  -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread --param=ggc-min-heapsize=524288)

# Position-independent code with hidden names, for what a shared library has.
function(qsim_make_pic name)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()

# qsim_precompile(NAME [PIC] HEADERS <header> ... LINK lib ...): a library that others take its
# precompiled headers from, all of them PIC or none. LINK brings macros that the headers depend on.
function(qsim_precompile name)
  cmake_parse_arguments(arg "PIC" "" "HEADERS;LINK" ${ARGN})
  if(NOT QSIM_PRECOMPILE)
    return()
  endif()
  set(source ${CMAKE_BINARY_DIR}/precompiled/${name}.cpp)
  file(GENERATE OUTPUT ${source} CONTENT "// Only the precompiled headers of this library are used.\n")
  add_library(${name} OBJECT ${source})
  target_link_libraries(${name} PRIVATE qsim_options ${arg_LINK})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
  if(arg_PIC)
    qsim_make_pic(${name})
  endif()
endfunction()

# qsim_use_precompiled(NAME FROM): the target NAME takes those of qsim_precompile(FROM).
function(qsim_use_precompiled name from)
  if(TARGET ${from})
    target_precompile_headers(${name} REUSE_FROM ${from})
    target_compile_options(${name} PRIVATE
      $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:${QSIM_PRECOMPILED_OPTIONS}>)
  endif()
endfunction()
