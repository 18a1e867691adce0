# How every target of the project is built: language level, warnings, sanitizers. Folders call
# qsim_add_library / qsim_add_executable / qsim_add_test and nothing else.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library(qsim_options INTERFACE)
target_include_directories(qsim_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(qsim_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wconversion;-Wshadow;-Werror>)
# GCC 12 sees an overlap in std::string's operator+ where there is none (GCC bug 105651).
target_compile_options(qsim_options INTERFACE
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-restrict>)
if(QSIM_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "QSIM_FUZZ needs clang++, which brings libFuzzer; use the preset 'fuzz'")
  endif()
  # Coverage counters everywhere; libFuzzer's main comes with the targets of tests/fuzz alone.
  target_compile_options(qsim_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=fuzzer-no-link,address,undefined;-fno-sanitize-recover=all;-fno-omit-frame-pointer>)
  target_link_options(qsim_options INTERFACE -fsanitize=address,undefined)
endif()
if(QSIM_SANITIZE)
  target_compile_options(qsim_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=address,undefined;-fno-sanitize-recover=all;-fno-omit-frame-pointer>)
  target_link_options(qsim_options INTERFACE -fsanitize=address,undefined)
  # GCC 12 takes members of <regex> for uninitialized once sanitizers are on.
  target_compile_options(qsim_options INTERFACE
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-maybe-uninitialized>)
endif()

include(QsimPrecompiled)
qsim_precompile(qsim_precompiled HEADERS ${QSIM_STANDARD_HEADERS})
qsim_precompile(qsim_precompiled_pic PIC HEADERS ${QSIM_STANDARD_HEADERS})

# -O1 takes two thirds of the time of -O3: for tests' own sources, since what they test is optimized whole, and for
# libraries that read, write and print, where a run spends no time.
set(QSIM_COLD_OPTIONS $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)

# qsim_add_library(NAME [PIC] [COLD] SOURCES a.cpp ... LINK lib ...)
# PIC: libqsim_golden has it too. Hidden names let the compiler inline as it does in an executable.
function(qsim_add_library name)
  cmake_parse_arguments(arg "PIC;COLD" "" "SOURCES;LINK;LINK_PRIVATE" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC qsim_options ${arg_LINK} PRIVATE ${arg_LINK_PRIVATE})
  if(arg_COLD)
    target_compile_options(${name} PRIVATE ${QSIM_COLD_OPTIONS})
  endif()
  if(arg_PIC)
    qsim_make_pic(${name})
    qsim_use_precompiled(${name} qsim_precompiled_pic)
  else()
    qsim_use_precompiled(${name} qsim_precompiled)
  endif()
endfunction()

# qsim_vector_sources(SOURCE ...): the sources of this folder that have functions for vector instructions of
# their own (__attribute__((target)) or target_clones). Their products and sums are rounded one by one: no
# two become a fused multiply-add. In such functions GCC 12 takes that option from a precompiled header
# instead, so these sources have none. tests/system/meta/vector_sources_test.py finds those not listed.
function(qsim_vector_sources)
  foreach(source ${ARGN})
    set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
    set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -ffp-contract=off)
    # GCC 12's own AVX-512 intrinsics start from deliberately undefined registers (GCC bug 105593).
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND source MATCHES "avx512")
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -Wno-uninitialized -Wno-maybe-uninitialized)
    endif()
  endforeach()
endfunction()

# qsim_add_executable(NAME SOURCES a.cpp ... LINK lib ...)
function(qsim_add_executable name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE qsim_options ${arg_LINK})
  qsim_use_precompiled(${name} qsim_precompiled)
endfunction()

# qsim_add_test(NAME SOURCES a_test.cpp ... LINK lib ... [TIMEOUT seconds] [ENVIRONMENT NAME=VALUE]
#               [LABEL ctest's label])
# One GoogleTest executable with the project's own main (tests/test_main.cpp); each TEST runs as a
# process of its own, which SystemC needs.
function(qsim_add_test name)
  cmake_parse_arguments(arg "" "TIMEOUT;ENVIRONMENT;LABEL" "SOURCES;LINK" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE qsim_options qsim_test_main ${arg_LINK})
  qsim_use_precompiled(${name} qsim_precompiled_for_tests)
  target_compile_options(${name} PRIVATE ${QSIM_COLD_OPTIONS})
  # Names of one test's file may be those of another's.
  set_target_properties(${name} PROPERTIES UNITY_BUILD_BATCH_SIZE 12)
  set(properties TIMEOUT ${arg_TIMEOUT})
  if(arg_ENVIRONMENT)
    list(APPEND properties ENVIRONMENT ${arg_ENVIRONMENT})
  endif()
  if(arg_LABEL)
    list(APPEND properties LABELS ${arg_LABEL})
  endif()
  gtest_discover_tests(${name} TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} PROPERTIES ${properties})
endfunction()
