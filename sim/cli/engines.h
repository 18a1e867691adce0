// The engines and golden backends by name: the one list of them.
#pragma once

#include <memory>
#include <string>

#include "core/engine.h"

namespace qsim {

// "systemc" or "interpreter". `random_order` is for the interpreter alone.
std::unique_ptr<Engine> make_engine(const std::string& name, bool random_order = false);

// The golden backend that QSIM_GOLDEN (cpu, cuda, auto) asks for, as far as this build has it;
// `fallback_note` then says what is missing. Throws Error (exit code 2) for any other value.
std::string golden_backend(std::string& fallback_note);

}  // namespace qsim
