#include "rtl/rtl_engine/rtl_model.h"

#include <algorithm>
#include <cstdio>
#include <fstream>

#include <dlfcn.h>

#include "core/error.h"
#include "core/io/files.h"
#include "rtl/rtl_engine/run_program.h"

namespace qsim {
namespace {

namespace fs = std::filesystem;

class Fnv1a {
 public:
  void add(std::string_view bytes) {
    for (const char c : bytes) step(static_cast<unsigned char>(c));
    step(0);
  }
  std::uint64_t value() const { return hash_; }

 private:
  void step(unsigned char byte) { hash_ = (hash_ ^ byte) * 0x100000001b3ull; }
  std::uint64_t hash_ = 0xcbf29ce484222325ull;
};

// A model is built for the processor at hand (-march=native); a cache may be shared by several.
std::string processor_features() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("flags", 0) == 0 || line.rfind("Features", 0) == 0) return line;
  }
  return "";
}

void add_sources(Fnv1a& hash, const fs::path& folder, const std::string& kind) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == kind) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    hash.add(file.filename().string());
    hash.add(read_text_file(file));
  }
}

void require_sources(const RtlPlaces& places) {
  if (!places.sources.empty()) return;
  throw_bad_input(
      "the RTL's sources (rtl/, or share/qsim/rtl beside the installed qsim) are not "
      "found; the rtl engine needs them");
}

void require_program(const std::string& name, const std::string& package) {
  if (!find_program(name).empty()) return;
  throw_bad_input("no Verilated model of this configuration is there yet, and '" + name +
                  "' to build it is not found; install it (Debian: apt-get install " + package +
                  ")");
}

// Of one core of about 2.6 GHz, measured from 4x4 (7 s) to 256x256 (16 s): nothing but the loops
// over the columns is unrolled.
std::string build_time_text(const ArchConfig& arch) {
  return std::to_string(8 + arch.block_channels() / 20) + " s";
}

}  // namespace

std::string rtl_model_key(const RtlParameters& parameters, const RtlModelOptions& options) {
  require_sources(options.places);
  Fnv1a hash;
  for (const std::string& text : rtl_parameter_texts(parameters)) hash.add(text);
  hash.add(options.variant);
  hash.add(options.compiler);
  hash.add(processor_features());
  const fs::path& rtl = options.places.sources;
  add_sources(hash, rtl / "src", ".sv");
  add_sources(hash, rtl / "src", ".svh");
  if (options.variant == "assert" || options.variant == "coverage") {
    add_sources(hash, rtl / "assertions", ".sv");
  }
  for (const char* file : {"build_model.sh", "rtl_engine/core_abi.h",
                           "rtl_engine/verilated_core.cpp", "rtl_engine/verilated_print.h"}) {
    hash.add(read_text_file(rtl / file));
  }
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash.value()));
  return std::to_string(parameters.array_rows) + "x" + std::to_string(parameters.array_cols) + "-" +
         options.variant + "-" + digits;
}

RtlModel::RtlModel(const fs::path& library, const RtlParameters& parameters) : library_(library) {
  const auto refuse = [&](const std::string& why) {
    throw_bad_input(library.string() + ": " + why + "; remove it to have it built again");
  };
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) refuse("cannot be loaded: " + std::string(::dlerror()));
  const auto version =
      reinterpret_cast<std::uint32_t (*)()>(::dlsym(handle, "qsim_rtl_abi_version"));
  create_ = reinterpret_cast<decltype(create_)>(::dlsym(handle, "qsim_rtl_create"));
  if (version == nullptr || create_ == nullptr) refuse("is not a Verilated model of qsim");
  if (version() != kRtlAbiVersion) refuse("is a model for another version of qsim");
  const std::string difference = rtl_parameter_difference(make_core()->parameters(), parameters);
  if (!difference.empty()) refuse("is a model of another configuration: " + difference);
}

std::unique_ptr<RtlCore> RtlModel::make_core(const RtlCoreOptions& options) const {
  return std::unique_ptr<RtlCore>(create_(&options));
}

fs::path find_or_build_rtl_model(const ArchConfig& arch, const RtlModelOptions& options) {
  validate(arch);
  const std::string file = rtl_model_key(rtl_parameters(arch), options) + ".so";
  std::vector<fs::path> folders = options.places.model_folders;
  if (!options.places.cache.empty()) folders.push_back(options.places.cache);
  for (const fs::path& folder : folders) {
    std::error_code error;
    if (fs::exists(folder / file, error)) return folder / file;
  }
  require_program("verilator", "verilator");
  require_program(options.compiler, options.compiler == "clang++" ? "clang" : options.compiler);
  if (options.places.cache.empty()) {
    throw_bad_input(
        "the rtl engine has to build a model and has no place for it; set QSIM_CACHE "
        "to a folder");
  }
  options.on_build("building the RTL model of '" + arch.name + "' (" +
                   std::to_string(arch.array_rows) + "x" + std::to_string(arch.array_cols) +
                   ") with Verilator, once, into " + options.places.cache.string() + ": about " +
                   build_time_text(arch));
  return build_rtl_model(arch, options, options.places.cache);
}

fs::path build_rtl_model(const ArchConfig& arch, const RtlModelOptions& options,
                         const fs::path& folder) {
  const RtlParameters parameters = rtl_parameters(arch);
  make_folder(folder);
  const fs::path library = folder / (rtl_model_key(parameters, options) + ".so");
  std::vector<std::string> command = {(options.places.sources / "build_model.sh").string(),
                                      "--variant",
                                      options.variant,
                                      "--cxx",
                                      options.compiler,
                                      "--output",
                                      library.string()};
  for (std::string& text : rtl_parameter_texts(parameters)) command.push_back(std::move(text));
  const ProgramOutcome outcome = run_program(command);
  std::error_code error;
  QSIM_CHECK(outcome.exit_code == 0 && fs::exists(library, error),
             "building the RTL model of '" + arch.name + "' failed (exit code " +
                 std::to_string(outcome.exit_code) + "):\n" + outcome.output);
  return library;
}

}  // namespace qsim
