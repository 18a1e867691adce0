#include "rtl/engine/rtl_model.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/printable.h"
#include "formats/files/files.h"
#include "formats/files/own_file.h"

namespace qsim::rtl {
namespace {

// Runs another program and waits for it.
struct ProgramOutcome {
  int exit_code = 0;   // 128 + number when a signal ended it
  std::string output;  // stdout and stderr together
};

[[noreturn]] void become(const std::vector<char*>& arguments, int output, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(127);  // it ended before the line above
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

std::string read_to_end(int file) {
  std::string text;
  std::array<char, 4096> piece{};
  for (;;) {
    const ssize_t count = ::read(file, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(count));
  }
}

// `command` is the program and its arguments; no shell. The program gets Ctrl-C and SIGTERM even
// where this process blocks them, and a SIGTERM when this process ends before it. Throws Error when
// no process can be started; a program that cannot be executed gives exit code 127.
ProgramOutcome run_program(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  std::array<int, 2> pipe{};
  const pid_t self = ::getpid();
  const bool piped = ::pipe2(pipe.data(), O_CLOEXEC) == 0;
  const pid_t child = piped ? ::fork() : -1;
  if (child < 0) {
    throw_bad_input(command[0] + ": cannot be started: " + std::strerror(errno));
  }
  if (child == 0) become(arguments, pipe[1], self);
  ::close(pipe[1]);
  ProgramOutcome outcome;
  outcome.output = read_to_end(pipe[0]);
  ::close(pipe[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

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
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == kind) files.push_back(entry->path());
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    hash.add(file.filename().string());
    hash.add(formats::read_text_file(file));
  }
}

void require_sources(const RtlPlaces& places) {
  if (!places.sources.empty()) return;
  throw_bad_input(
      "the RTL's sources (rtl/, or share/qsim/rtl beside the installed qsim) are not "
      "found; the rtl engine needs them");
}

std::string variant_text(const RtlModelOptions& options) {
  return options.variant == "plain" ? "" : ", variant " + options.variant;
}

void require_program(const std::string& name, const std::string& package,
                     const RtlModelOptions& options) {
  if (!find_program(name).empty()) return;
  throw_bad_input("no Verilated model of this configuration" + variant_text(options) +
                  (options.variant == "plain" ? "" : ",") + " exists yet, and '" + name +
                  "', which builds it, is not found; install it " + "(Debian: apt-get install " +
                  package + ")");
}

void require_tools(const std::string& compiler, const RtlModelOptions& options) {
  require_program("verilator", "verilator", options);
  if (compiler == "clang++") {
    require_program(compiler, "clang, or g++", options);
  } else {
    require_program(compiler, compiler, options);
  }
}

// What a build's output says when a Debian package is not installed.
struct PackageSign {
  const char* sign;
  const char* package;
};
constexpr PackageSign kPackageSigns[] = {{"zlib.h", "zlib1g-dev"},
                                         {"-lz", "zlib1g-dev"},
                                         {"-latomic", "g++"},
                                         {"'cstddef' file not found", "g++"},
                                         {"'cstdarg' file not found", "g++"},
                                         {"'cstdint' file not found", "g++"}};

std::string package_hint(const std::string& output) {
  for (const PackageSign& row : kPackageSigns) {
    if (output.find(row.sign) == std::string::npos) continue;
    return "\nis a package missing? (Debian: apt-get install " + std::string(row.package) + ")";
  }
  return "";
}

std::string own_compiler() {
  const char* value = std::getenv("QSIM_RTL_CXX");
  return value == nullptr ? "" : value;
}

// The time that one core of about 2.6 GHz takes, measured from 4x4 (7 s) to 256x256 (16 s): nothing
// but the loops over the columns is unrolled.
std::string build_time_text(const ArchConfig& arch) {
  return std::to_string(8 + arch.block_channels() / 20) + " s";
}

template <typename T>
T number_at(const std::array<char, 64>& bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// A mapped file that ends before its segments do ends the process (SIGBUS) and not dlopen(). The
// table of sections is a library's last part; the header of an ELF file of 64 bits has its place at
// byte 40, the size of a row at 58 and their number at 60.
bool is_cut_short(const fs::path& library) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(library, error);
  if (error) return false;  // dlopen() says why
  std::array<char, 64> header{};
  std::ifstream file(library, std::ios::binary);
  if (!file.read(header.data(), header.size())) return file.is_open();
  if (std::string_view(header.data(), 4) != "\177ELF") return false;
  const auto table = number_at<std::uint64_t>(header, 40);
  const auto row_bytes = number_at<std::uint16_t>(header, 58);
  const auto rows = number_at<std::uint16_t>(header, 60);
  return table == 0 || table + std::uintmax_t{row_bytes} * rows > bytes;
}

std::string key_of(const RtlParameters& parameters, const RtlModelOptions& options,
                   const std::string& compiler) {
  require_sources(options.places);
  Fnv1a hash;
  for (const std::string& text : rtl_parameter_texts(parameters)) hash.add(text);
  hash.add(options.variant);
  hash.add(compiler);
  hash.add(processor_features());
  const fs::path& rtl = options.places.sources;
  add_sources(hash, rtl / "src", ".sv");
  add_sources(hash, rtl / "src", ".svh");
  if (options.variant == "assert" || options.variant == "coverage") {
    add_sources(hash, rtl / "assertions", ".sv");
  }
  for (const char* file : {"build_model.sh", "engine/core_abi.h", "engine/verilated_core.cpp",
                           "engine/verilated_print.h"}) {
    hash.add(formats::read_text_file(rtl / file));
  }
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash.value()));
  return std::to_string(parameters.array_rows) + "x" + std::to_string(parameters.array_cols) + "-" +
         options.variant + "-" + digits;
}

// Empty when no place has the model.
fs::path find_model(const std::string& key, const RtlPlaces& places) {
  std::vector<fs::path> folders = places.model_folders;
  if (!places.cache.empty()) folders.push_back(places.cache);
  for (const fs::path& folder : folders) {
    std::error_code error;
    if (fs::exists(folder / (key + ".so"), error)) return folder / (key + ".so");
  }
  return {};
}

void announce_build(const ArchConfig& arch, const std::string& compiler,
                    const RtlModelOptions& options) {
  const bool fallen_back = options.compiler.empty() && compiler == "g++" && own_compiler().empty();
  options.on_build(
      "building the RTL model of '" + arch.name + "' (" + std::to_string(arch.array_rows) + "x" +
      std::to_string(arch.array_cols) + variant_text(options) + ") with Verilator, once, into " +
      options.places.cache.string() + ": about " + build_time_text(arch) +
      (fallen_back ? "; with g++, as clang++, whose models are faster, is not found" : ""));
}

}  // namespace

std::string rtl_compiler(const RtlParameters& parameters, const RtlModelOptions& options) {
  if (!options.compiler.empty()) return options.compiler;
  if (const std::string own = own_compiler(); !own.empty()) return own;
  const bool can_build = !find_program("verilator").empty();
  for (const char* compiler : {"clang++", "g++"}) {
    if (can_build && !find_program(compiler).empty()) return compiler;
    if (!find_model(key_of(parameters, options, compiler), options.places).empty()) return compiler;
  }
  return "clang++";
}

std::string rtl_model_key(const RtlParameters& parameters, const RtlModelOptions& options) {
  return key_of(parameters, options, rtl_compiler(parameters, options));
}

RtlModel::RtlModel(const fs::path& given, const RtlParameters& parameters) : library_(given) {
  const fs::path library = formats::require_own(given);
  const auto refuse = [&](const std::string& why) {
    throw_bad_input(library_.string() + ": " + why + "; remove it, and qsim builds it again");
  };
  if (is_cut_short(library)) refuse("is cut short");
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
  const RtlParameters parameters = rtl_parameters(arch);
  RtlModelOptions chosen = options;
  chosen.compiler = rtl_compiler(parameters, options);
  const fs::path found = find_model(rtl_model_key(parameters, chosen), options.places);
  if (!found.empty()) return found;
  require_tools(chosen.compiler, options);
  if (options.places.cache.empty()) {
    throw_bad_input(
        "the rtl engine has to build a model and has no folder for it; set QSIM_CACHE to a folder");
  }
  formats::make_own_folder(options.places.cache);
  announce_build(arch, chosen.compiler, options);
  return build_rtl_model(arch, chosen, options.places.cache);
}

fs::path build_rtl_model(const ArchConfig& arch, const RtlModelOptions& options,
                         const fs::path& folder) {
  const RtlParameters parameters = rtl_parameters(arch);
  formats::make_folder(folder);
  const std::string compiler = rtl_compiler(parameters, options);
  const fs::path library = folder / (key_of(parameters, options, compiler) + ".so");
  std::vector<std::string> command = {(options.places.sources / "build_model.sh").string(),
                                      "--variant",
                                      options.variant,
                                      "--cxx",
                                      compiler,
                                      "--output",
                                      library.string()};
  for (std::string& text : rtl_parameter_texts(parameters)) command.push_back(std::move(text));
  const ProgramOutcome outcome = run_program(command);
  std::error_code error;
  if (outcome.exit_code == 0 && fs::exists(library, error)) {
    formats::sync_file(library);  // the script has renamed it into place
    return library;
  }
  const std::string message = "building the RTL model of '" + echoed(arch.name) + "'" +
                              variant_text(options) + (options.variant == "plain" ? "" : ",") +
                              " with Verilator and " + compiler + " failed (exit code " +
                              std::to_string(outcome.exit_code) + "):";
  throw Error(ExitCode::kBadInput, message, outcome.output + package_hint(outcome.output));
}

}  // namespace qsim::rtl
