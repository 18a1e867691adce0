# CUDA is optional: without nvcc the CUDA parts are left out, and one line says so.
set(QSIM_HAVE_CUDA OFF)
if(QSIM_CUDA AND QSIM_CUDA_KERNELS)
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    # 80 leaves its PTX too, for later GPUs; PTX of 90 besides would take a fifth of the time.
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES "80;90a-real")
    endif()
    # wgmma exists for 90a alone; plain 90 would run on the same devices, without it.
    if("${CMAKE_CUDA_ARCHITECTURES}" MATCHES "(^|;)90(-real)?(;|$)")
      message(FATAL_ERROR "CMAKE_CUDA_ARCHITECTURES has 90; compute capability 9.0 needs 90a-real")
    endif()
    enable_language(CUDA)
    # CMake 3.25 does not know nvcc 13's flag for C++20.
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA_STANDARD 20)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    find_package(CUDAToolkit REQUIRED)
    set(QSIM_HAVE_CUDA ON)
  endif()
endif()
if(NOT QSIM_HAVE_CUDA)
  message(STATUS "qsim: nvcc not used; the CUDA parts are left out")
endif()

# The kernels of a library compile without a warning. A spilled register is one: a slow kernel that
# nobody would notice.
function(qsim_check_kernels name)
  target_compile_options(${name} PRIVATE
    "$<$<COMPILE_LANGUAGE:CUDA>:-Werror;all-warnings;-Xcompiler;-Wall,-Wextra;-Xptxas;-warn-spills,-Werror;--compress-mode=size>")
endfunction()
