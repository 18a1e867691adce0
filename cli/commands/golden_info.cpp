// `qsim golden info`: what golden can run on here. Exit code 0 also where there is no GPU.
#include "cli/build_info.h"
#include "cli/commands/commands.h"
#include "cli/session/inputs/model_source.h"
#include "golden/device/devices.h"
#include "golden/graph/cpu/graph_executor.h"
#include "golden/graph/cuda/graph_executor.h"

namespace qsim::cli {
namespace {

constexpr std::int64_t kMib = std::int64_t{1} << 20;

// Which kernels CudaPath::kAuto prefers on a device.
std::string path_of(const golden::CudaDevice& device) {
  if (device.major < 8) return "none: below 8.0";
  const bool hopper = device.major == 9 && device.minor == 0;
  const golden::CudaPath path = hopper ? golden::CudaPath::kHopper : golden::CudaPath::kPortable;
  return std::string(golden::cuda_path_name(path));
}

report::SheetTable devices_table(const std::vector<golden::CudaDevice>& devices) {
  report::SheetTable table{
      "devices",
      {"name", "index", "capability", "multiprocessors", "memory_mib", "l2_mib", "kernels"},
      {}};
  for (const golden::CudaDevice& device : devices) {
    table.rows.push_back({device.name, std::int64_t{device.index},
                          std::to_string(device.major) + "." + std::to_string(device.minor),
                          std::int64_t{device.multiprocessors}, device.memory_bytes / kMib,
                          device.l2_bytes / kMib, path_of(device)});
  }
  return table;
}

ExitCode golden_info_command(Context& context, const ConfigOption& options) {
  check_unused_config(options);
  const golden::CudaStatus& cuda = golden::cuda_status();
  const golden::VectorPath vectors = golden::resolve(golden::VectorPath::kAuto);
  report::Sheet sheet;
  sheet.schema = "qsim.golden-info/1";
  sheet.add("version", std::string(build_version()));
  sheet.add("cpu_vectors", std::string(golden::vector_path_name(vectors)));
  sheet.add("cuda_built", cuda.built);
  sheet.add("cuda_runtime", cuda.runtime_version);
  sheet.add("cuda_driver", cuda.driver_version);
  sheet.add("cuda_usable", cuda.usable());
  if (!cuda.usable()) sheet.add("cuda_reason", cuda.reason);
  sheet.tables.push_back(devices_table(cuda.devices));
  context.print(sheet);
  return ExitCode::kOk;
}

constexpr const char* kGoldenInfoText = R"(
Its keys: `version`, `cpu_vectors`, `cuda_built`, `cuda_runtime`, `cuda_driver`, `cuda_usable`, `cuda_reason` (why no
device is used; the exit code is 0 all the same), and `devices[]`: `name`, `index`, `capability`, `multiprocessors`,
`memory_mib`, `l2_mib`, `kernels` (`hopper`: compute capability 9.0, `portable`: from 8.0 on).
)";

}  // namespace

const CommandRow kGoldenInfoCommand = {
    "golden info", "show what golden can run on: GPUs, vector instructions",
    command_of<ConfigOption, declare_config, golden_info_command>, kGoldenInfoText};

}  // namespace qsim::cli
