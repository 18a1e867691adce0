// `qsim golden bench`: how long golden takes for a batch of random pictures, and on a GPU how much
// of the device's measured peak each kernel reaches.
#include <algorithm>

#include "cli/commands/commands.h"
#include "cli/session/engines/golden_backend.h"
#include "cli/session/engines/memory_need.h"
#include "cli/session/inputs/model_source.h"
#include "core/base/limits.h"
#include "core/base/random.h"
#include "core/base/words.h"
#include "golden/graph/cpu/graph_executor.h"
#include "golden/graph/cuda/graph_executor.h"
#include "golden/graph/cuda/peak.h"
#include "report/text_table.h"

namespace qsim::cli {
namespace {

struct BenchOptions : ConfigOption, GoldenOptions {
  int runs = 21;
  std::uint64_t seed = 0;
};

void declare_bench(Declarations& declared, BenchOptions& options) {
  declare_config(declared, options);
  declare_golden(declared, options);
  declared.number("--runs", {9, kMaxRuns}, options.runs, "repetitions; times are their medians");
  declared.seed(options.seed, "seed of the random input");
}

struct Measurement {
  std::string backend;
  std::string device;
  double seconds = 0;  // the whole network, median
  // For CUDA only.
  std::vector<golden::CudaKernelTime> kernels;
  double peak_ops_per_second = 0;
  double copy_bytes_per_second = 0;
  std::int64_t device_bytes = 0;
};

Tensor random_input(const Value& value, std::uint64_t seed) {
  Random random(seed);
  Tensor tensor(value.dtype, value.shape.nhwc());
  for (std::byte& byte : tensor.bytes) byte = static_cast<std::byte>(random.next() >> 56);
  return tensor;
}

Measurement measure_cpu(const Graph& graph, const Tensor& input, int runs) {
  const golden::GraphExecutor executor(graph);
  std::vector<Tensor> outputs;
  executor.run(input, outputs);
  std::vector<double> seconds(static_cast<std::size_t>(runs));
  for (double& one : seconds) timed(one, [&] { executor.run(input, outputs); });
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  Measurement measured;
  measured.backend = "cpu";
  const golden::VectorPath path = golden::resolve(golden::VectorPath::kAuto);
  measured.device = "one thread, " + std::string(golden::vector_path_name(path));
  measured.seconds = *middle;
  return measured;
}

// Null where the CPU replaces the GPU.
std::unique_ptr<golden::CudaGraphExecutor> executor_on(const golden::CudaDevice& device,
                                                       const Graph& graph,
                                                       GoldenSelection& golden) {
  try {
    return std::make_unique<golden::CudaGraphExecutor>(
        graph, golden::CudaOptions{.device = device.index, .keep = golden::CudaKeep::kLast});
  } catch (const Error& error) {
    if (!golden.cpu_may_stand_in()) throw;
    golden.use_cpu_for(graph.name, error);
    return nullptr;
  }
}

Measurement measure(const Graph& graph, const Tensor& input, int runs, GoldenSelection& golden,
                    Context& context) {
  if (golden.backends().front() == GoldenBackend::kCpu) return measure_cpu(graph, input, runs);
  const golden::CudaDevice& device = golden_device();
  Measurement measured;
  measured.backend = "cuda";
  measured.device = device.name;
  context.progress("measuring the device's peaks");
  measured.peak_ops_per_second = golden::measure_peak_int8_ops(device.index);
  measured.copy_bytes_per_second = golden::measure_copy_bytes(device.index);
  context.progress("compiling and uploading the network");
  const auto executor = executor_on(device, graph, golden);
  if (!executor) return measure_cpu(graph, input, runs);
  executor->run(input);
  context.progress("timing");
  measured.seconds = executor->time_network(runs);
  measured.kernels = executor->time_kernels(runs);
  measured.device_bytes = executor->device_bytes();
  return measured;
}

double tops(std::int64_t macs, double seconds) {
  return 2e-12 * static_cast<double>(macs) / std::max(seconds, 1e-12);
}

// A kernel's figures; the share of a peak that is 0 is 0.
struct Rates {
  double gmacs, tops, gigabytes_per_second, share_of_peak, share_of_copy;
};

Rates rates_of(const golden::CudaKernelTime& kernel, const Measurement& measured) {
  const double bytes_per_second =
      static_cast<double>(kernel.bytes) / std::max(kernel.seconds, 1e-12);
  Rates rates;
  rates.gmacs = 1e-9 * static_cast<double>(kernel.macs);
  rates.tops = tops(kernel.macs, kernel.seconds);
  rates.gigabytes_per_second = 1e-9 * bytes_per_second;
  rates.share_of_peak = rates.tops * 1e12 / measured.peak_ops_per_second;
  rates.share_of_copy = bytes_per_second / measured.copy_bytes_per_second;
  return rates;
}

golden::CudaKernelTime sum_of(const std::vector<golden::CudaKernelTime>& kernels) {
  golden::CudaKernelTime sum{"all kernels", "", 0, 0, 0};
  for (const golden::CudaKernelTime& kernel : kernels) {
    sum.macs += kernel.macs;
    sum.bytes += kernel.bytes;
    sum.seconds += kernel.seconds;
  }
  return sum;
}

std::string kernels_text(const Measurement& measured) {
  report::TextTable table;
  table.columns = {{"layer"}, {"kernel", false, false}};
  for (const char* title : {"time", "GMAC", "TOPS", "GB/s", "of peak", "of copy"}) {
    table.columns.push_back({title, true, false});
  }
  std::vector<golden::CudaKernelTime> rows = measured.kernels;
  rows.push_back(sum_of(rows));
  for (const golden::CudaKernelTime& kernel : rows) {
    const Rates rates = rates_of(kernel, measured);
    table.rows.push_back({kernel.layer, kernel.kernel, report::seconds_text(kernel.seconds),
                          number_text(rates.gmacs, "%.3f"), number_text(rates.tops, "%.1f"),
                          number_text(rates.gigabytes_per_second, "%.0f"),
                          report::percent(rates.share_of_peak),
                          report::percent(rates.share_of_copy)});
  }
  return "\n" + report::layout(table);
}

report::SheetTable kernels_table(const Measurement& measured) {
  report::SheetTable table{"kernels",
                           {"layer", "kernel", "seconds", "macs", "bytes", "tops",
                            "gigabytes_per_second", "share_of_peak", "share_of_copy"},
                           {}};
  for (const golden::CudaKernelTime& kernel : measured.kernels) {
    const Rates rates = rates_of(kernel, measured);
    table.rows.push_back({kernel.layer, kernel.kernel, kernel.seconds, kernel.macs, kernel.bytes,
                          rates.tops, rates.gigabytes_per_second, rates.share_of_peak,
                          rates.share_of_copy});
  }
  return table;
}

std::int64_t macs_of(const Graph& graph) {
  std::int64_t macs = 0;
  for (std::size_t i = 0; i < graph.layers.size(); ++i) macs += layer_macs(graph, i);
  return macs;
}

// For people, numbers carry their units; for JSON they are numbers.
report::Sheet sheet_of(const Model& model, const Measurement& measured, const BenchOptions& options,
                       bool json) {
  const auto number = [json](double value, const std::string& text) {
    return json ? report::Cell(value) : report::Cell(text);
  };
  const std::int64_t batch = model.graph.input_value().shape.batch;
  const double rate = tops(macs_of(model.graph), measured.seconds);
  report::Sheet sheet;
  sheet.schema = "qsim.golden-bench/1";
  sheet.add("model", model.name);
  if (!options.rounding.empty()) sheet.add("rounding", options.rounding);
  sheet.add("batch", batch);
  sheet.add("backend", measured.backend);
  sheet.add("device", measured.device);
  sheet.add("runs", std::int64_t{options.runs});
  sheet.add("seconds", number(measured.seconds, report::seconds_text(measured.seconds)));
  sheet.add("pictures_per_second",
            static_cast<std::int64_t>(static_cast<double>(batch) / measured.seconds));
  sheet.add("macs", macs_of(model.graph));
  sheet.add("tops", number(rate, number_text(rate, "%.3f")));
  if (measured.kernels.empty()) return sheet;
  const double peak = measured.peak_ops_per_second * 1e-12;
  sheet.add("share_of_peak", rate / peak);
  sheet.add("peak_tops", number(peak, number_text(peak, "%.0f")));
  const double copy = measured.copy_bytes_per_second * 1e-9;
  sheet.add("copy_gigabytes_per_second", number(copy, number_text(copy, "%.0f")));
  sheet.add("device_bytes", measured.device_bytes);
  if (json) sheet.tables.push_back(kernels_table(measured));
  return sheet;
}

ExitCode golden_bench_command(Context& context, const BenchOptions& options) {
  GoldenSelection golden("--backend", options.backend, context.notes());
  const ArchConfig config = load_config(options);
  NetworkRequest request{options, options};
  request.batch.reset();
  Model model = load_model(request, config);
  set_batch(model.graph, options.batch.value_or(kGoldenBatch));
  require_memory_for(model.name, model.graph, config, need_of_golden(), {});
  const Tensor input = random_input(model.graph.input_value(), options.seed);
  const Measurement measured = measure(model.graph, input, options.runs, golden, context);
  context.print_json(report::sheet_json(sheet_of(model, measured, options, true)));
  context.print(report::sheet_text(sheet_of(model, measured, options, false)) +
                (measured.kernels.empty() ? "" : kernels_text(measured)));
  return ExitCode::kOk;
}

constexpr const char* kGoldenBenchText = R"(
It prints the median time of the network on seeded random pictures, pictures a second and TOPS (a multiply-accumulate is
two operations). On a GPU that is one replay without copies, and a table has each kernel with its shares of two peaks that
are measured in the same run: what the tensor cores sustain on random int8, and a copy within the device.

| key | meaning |
|---|---|
| `model`, `batch`, `backend`, `device`, `runs`, `seconds`, `pictures_per_second`, `macs`, `tops` | of the network |
| `share_of_peak`, `peak_tops`, `copy_gigabytes_per_second`, `device_bytes` | on a GPU |
| `kernels[]` | `layer`, `kernel`, `seconds`, `macs`, `bytes`, `tops`, `gigabytes_per_second`, `share_of_peak`, `share_of_copy` |
)";

}  // namespace

const CommandRow kGoldenBenchCommand = {
    "golden bench", "time golden on a model, kernel by kernel",
    command_of<BenchOptions, declare_bench, golden_bench_command>, kGoldenBenchText};

}  // namespace qsim::cli
