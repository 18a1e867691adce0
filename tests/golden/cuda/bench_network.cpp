#include <algorithm>
#include <cstdio>

#include "formats/workload/workload.h"
#include "tests/golden/cuda/check_commands.h"

namespace qsim::golden_test {

using namespace formats;

ExitCode bench_network(const BenchOptions& options) {
  const Workload workload = load_workload(options.workload, options.batch);
  golden::CudaGraphExecutor cuda(workload.graph,
                                 {.path = options.path, .keep = golden::CudaKeep::kLast});
  cuda.run(workload.input);
  const double seconds = cuda.time_network(options.runs);
  std::int64_t macs = 0;
  for (std::size_t i = 0; i < workload.graph.layers.size(); ++i) {
    macs += layer_macs(workload.graph, i);
  }
  std::printf("%s, batch %lld: %.4f ms, %.0f images/s, %.1f TOPS, %.1f MB on the device\n",
              workload.graph.name.c_str(), static_cast<long long>(options.batch), seconds * 1e3,
              static_cast<double>(options.batch) / seconds,
              2e-12 * static_cast<double>(macs) / seconds,
              1e-6 * static_cast<double>(cuda.device_bytes()));
  std::printf("%-32s %-28s %10s %9s %9s\n", "layers", "kernel", "us", "TOPS", "GB/s");
  double sum = 0;
  for (const golden::CudaKernelTime& time : cuda.time_kernels(std::min(options.runs, 11))) {
    sum += time.seconds;
    std::printf("%-32s %-28s %10.2f %9.1f %9.1f\n", time.layer.c_str(), time.kernel.c_str(),
                time.seconds * 1e6, 2e-12 * static_cast<double>(time.macs) / time.seconds,
                1e-9 * static_cast<double>(time.bytes) / time.seconds);
  }
  std::printf("%-61s %10.2f\n", "sum", sum * 1e6);
  return ExitCode::kOk;
}

}  // namespace qsim::golden_test
