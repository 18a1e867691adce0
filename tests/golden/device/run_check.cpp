#include "tests/golden/device/run_check.h"

#include <iostream>

#include "golden/device/devices.h"

namespace qsim::golden_test {
namespace {

constexpr int kSkipped = 77;

int run_or_skip(CLI::App& app, int argc, char** argv, const std::function<ExitCode()>& check) {
  app.require_subcommand(1);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::kUsage);
  }
  const golden::CudaStatus& status = golden::cuda_status();
  if (!status.usable()) {
    std::cout << "skipped: no GPU (" << status.reason << ")\n";
    return kSkipped;
  }
  const golden::CudaDevice& device = status.devices.front();
  std::cout << "device: " << device.name << ", compute capability " << device.major << "."
            << device.minor << std::endl;
  return static_cast<int>(check());
}

}  // namespace

int run_check(CLI::App& app, int argc, char** argv, const std::function<ExitCode()>& check) {
  try {
    return run_or_skip(app, argc, argv, check);
  } catch (const Error& error) {
    std::cerr << "error: " << error.what() << "\n";
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    std::cerr << "internal error: " << error.what() << "\n";
    return static_cast<int>(ExitCode::kInternal);
  }
}

}  // namespace qsim::golden_test
