// A shared library with the two functions of a Verilated model, of a version that qsim never had.
#include <cstdint>

extern "C" std::uint32_t qsim_rtl_abi_version() { return 0xffffffffu; }
extern "C" void* qsim_rtl_create(const void*) { return nullptr; }
