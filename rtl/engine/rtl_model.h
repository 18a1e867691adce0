// Verilated models as shared libraries: which one a configuration needs, where it is, building it
// when it is nowhere (rtl/build_model.sh), and loading it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "rtl/engine/rtl_parameters.h"
#include "rtl/engine/rtl_places.h"

namespace qsim::rtl {

struct RtlModelOptions {
  RtlPlaces places = standard_rtl_places();
  std::string variant = "plain";  // plain, assert, trace, coverage
  std::string compiler;           // "": rtl_compiler()'s choice
  // Called before a build, with a line for people: what is built, and about how long it takes.
  std::function<void(const std::string&)> on_build = [](const std::string&) {};
};

// The compiler of a model: the options' own, else what QSIM_RTL_CXX names, else clang++; and g++,
// whose models are slower, where clang++ is not there to build the model and has not built it
// already.
std::string rtl_compiler(const RtlParameters& parameters, const RtlModelOptions& options);

// "16x16-plain-0123456789abcdef": the name of the model's files. The digits are a hash (FNV-1a, 64
// bits) of the parameters, the variant, the compiler, this processor's features, and the contents
// of the RTL, the adapter and the build script. Throws Error when the sources are not found.
std::string rtl_model_key(const RtlParameters& parameters, const RtlModelOptions& options);

// A library that is loaded; it stays so until the process ends. Makes any number of cores.
class RtlModel {
 public:
  // Throws Error (exit code 3) when the library is not there, is not the caller's alone
  // (formats/files/own_file.h), is cut short, is not a model, or was built with other parameters.
  RtlModel(const std::filesystem::path& library, const RtlParameters& parameters);

  std::unique_ptr<RtlCore> make_core(const RtlCoreOptions& options = {}) const;
  const std::filesystem::path& library() const { return library_; }

 private:
  std::filesystem::path library_;
  RtlCore* (*create_)(const RtlCoreOptions*) = nullptr;
};

// The library of a configuration: the first that the places have, else built into the cache. Throws
// Error when it is nowhere and cannot be built, saying what is missing (Verilator, the compiler, a
// place for the cache).
std::filesystem::path find_or_build_rtl_model(const ArchConfig& arch,
                                              const RtlModelOptions& options);

// Builds it into `folder` without looking for it; returns the library. Throws Error (exit code 3)
// when Verilator or the compiler fails, with the end of the log, where the whole log is, and the
// package that is missing where the log tells.
std::filesystem::path build_rtl_model(const ArchConfig& arch, const RtlModelOptions& options,
                                      const std::filesystem::path& folder);

}  // namespace qsim::rtl
