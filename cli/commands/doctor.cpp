// `qsim doctor`: what this executable is made of, and whether it finds what it needs. Exit code 3
// when it does not.
#include <cstdlib>

#include <sysc/kernel/sc_ver.h>
#include <unistd.h>

#include "cli/build_info.h"
#include "cli/commands/commands.h"
#include "cli/session/engines/engines.h"
#include "cli/session/engines/golden_backend.h"
#include "cli/session/inputs/model_source.h"
#include "cli/session/inputs/shipped_files.h"
#include "cli/session/results/report_page_option.h"
#include "core/base/words.h"
#include "golden/graph/cpu/graph_executor.h"

namespace qsim::cli {

using report::Sheet;
namespace {

// Tried, not asked: permissions do not tell about read-only or full disks.
bool can_write_here() {
  std::string name = ".qsim-doctor-XXXXXX";
  const int file = ::mkstemp(name.data());
  if (file < 0) return false;
  ::close(file);
  return ::unlink(name.c_str()) == 0;
}

// A row: what was looked for, whether it is fine, and what was found.
struct Check {
  std::string name;
  bool fine;
  std::string found;
};

Check shipped_check(const std::string& name, const std::vector<std::string>& found) {
  return {name, !found.empty(), found.empty() ? "none found" : joined(found)};
}

// A wrong value would end every command that asks it; a GPU that is not there ends none.
Check golden_check() {
  try {
    const std::string name = golden_variable();
    if (std::getenv("QSIM_GOLDEN") == nullptr) return {"QSIM_GOLDEN", true, "not set, so auto"};
    const golden::CudaStatus& cuda = golden::cuda_status();
    const bool missing = name == "cuda" && !cuda.usable();
    return {"QSIM_GOLDEN", true, missing ? "cuda; the CPU is used: " + cuda.reason : name};
  } catch (const Error& error) {
    return {"QSIM_GOLDEN", false, error.what()};
  }
}

std::vector<Check> checks() {
  std::string roots;
  for (const auto& root : shipped_roots()) roots += (roots.empty() ? "" : ", ") + root.string();
  const bool writable = can_write_here();
  return {{"shipped_files", !roots.empty(), roots.empty() ? "none found" : roots},
          shipped_check("configs", shipped_configs()),
          shipped_check("models", shipped_models()),
          shipped_check("pictures", shipped_inputs()),
          shipped_check("energy_tables", shipped_energy_tables()),
          golden_check(),
          {"current_folder", writable, writable ? "can be written" : "cannot be written"}};
}

std::string program_text(const std::string& name, const std::string& without,
                         const std::string& package) {
  const std::string path = rtl::find_program(name).string();
  if (!path.empty()) return path;
  return "not found; without it " + without + " (Debian: apt-get install " + package + ")";
}

std::string device_text(const golden::CudaDevice& device) {
  return device.name + " (compute capability " + std::to_string(device.major) + "." +
         std::to_string(device.minor) + ")";
}

// What `--engine rtl` works with. Nothing else needs it, so it fails no check.
void add_rtl(Sheet& sheet) {
  const rtl::RtlPlaces places = rtl::standard_rtl_places();
  sheet.add("rtl_sources", places.sources.empty() ? "not found" : places.sources.string());
  sheet.add("rtl_models",
            places.cache.empty() ? "no place; set QSIM_CACHE" : places.cache.string());
  sheet.add("verilator", program_text("verilator", "no RTL model is built on demand", "verilator"));
  sheet.add("clang++",
            program_text("clang++", "RTL models are built with g++, and are slower", "clang"));
}

// What `--report` needs, and nothing else.
void add_chart_library(Sheet& sheet) {
  const std::filesystem::path path = chart_library_path();
  std::error_code error;
  const bool found = std::filesystem::exists(path, error);
  sheet.add("chart_library",
            found ? path.string() : "not found; without it --report writes no page (./dev build)");
}

void add_versions(Sheet& sheet) {
  sheet.add("version", std::string(build_version()));
  sheet.add("commit", std::string(build_commit()));
  sheet.add("build_type", std::string(build_type()));
#ifdef __clang__
  sheet.add("compiler", std::string(__VERSION__));
#else
  sheet.add("compiler", std::string("g++ ") + __VERSION__);
#endif
  sheet.add("systemc", std::string(SC_VERSION));
  sheet.add("protobuf", std::string(protobuf_version()));
  const golden::VectorPath path = golden::resolve(golden::VectorPath::kAuto);
  sheet.add("golden_vector_path", std::string(golden::vector_path_name(path)));
  sheet.add("systemc_vector_path", systemc_vector_path());
  sheet.add("engines", joined(engine_names()));
  const golden::CudaStatus& cuda = golden::cuda_status();
  sheet.add("golden", std::string(cuda.usable() ? "cpu, cuda" : "cpu"));
  add_rtl(sheet);
  add_chart_library(sheet);
  sheet.add("cuda_device",
            cuda.usable() ? device_text(golden_device()) : "not used: " + cuda.reason);
}

ExitCode doctor_command(Context& context, const ConfigOption& options) {
  check_unused_config(options);
  Sheet sheet;
  sheet.schema = "qsim.doctor/1";
  add_versions(sheet);
  report::SheetTable table{"checks", {"check", "fine", "found"}, {}};
  bool all_fine = true;
  for (const Check& check : checks()) {
    table.rows.push_back({check.name, check.fine, check.found});
    all_fine = all_fine && check.fine;
  }
  sheet.add("fine", all_fine);
  sheet.tables.push_back(std::move(table));
  context.print(sheet);
  return all_fine ? ExitCode::kOk : ExitCode::kBadInput;
}

constexpr const char* kDoctorText = R"(
It ends with exit code 3 if a check fails. Its keys: `version`, `commit`, `build_type`, `compiler`, `systemc`, `protobuf`,
`golden_vector_path`, `systemc_vector_path`, `engines`, `golden`, `rtl_sources`, `rtl_models`, `verilator`, `clang++`,
`chart_library`, `cuda_device`, `fine`, and `checks[]`: `check`, `fine`, `found`.
)";

}  // namespace

const CommandRow kDoctorCommand = {
    "doctor", "show what this qsim is and whether it finds what it needs",
    command_of<ConfigOption, declare_config, doctor_command>, kDoctorText};

}  // namespace qsim::cli
