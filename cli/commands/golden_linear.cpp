// `qsim golden linear`: a weight-only linear layer on the CPU and a GPU, its times beside float32's
// and memory's, and its values.
#include <algorithm>

#include "cli/commands/commands.h"
#include "cli/session/engines/threads_note.h"
#include "cli/session/inputs/model_source.h"
#include "cli/session/linear/linear_times.h"
#include "core/base/words.h"
#include "report/text_table.h"

namespace qsim::cli {

using report::Cell;
using report::Sheet;
using report::SheetTable;
namespace {

constexpr std::size_t kPrintedValues = 8;

// For people, numbers carry their units; for JSON they are numbers.
class Writer {
 public:
  explicit Writer(bool json) : json_(json) {}

  Cell seconds(double value) const {
    return json_ ? Cell(value) : Cell(report::seconds_text(value));
  }
  Cell number(double value, const char* format) const {
    return json_ ? Cell(value) : Cell(number_text(value, format));
  }
  Cell number(const std::optional<double>& value, const char* format) const {
    return value ? number(*value, format) : Cell(std::string("-"));
  }

  SheetTable modes(const std::vector<LinearTime>& times) const {
    SheetTable table{"modes",
                     {"mode", "K", "N", "M", "mean", "p50", "p95", "gigabytes_per_second",
                      "share_of_limit", "speedup", "max_error", "mean_error"},
                     {}};
    for (const LinearTime& time : times) {
      table.rows.push_back({time.mode, time.size.in_features, time.size.out_features, time.rows,
                            seconds(time.mean_seconds), seconds(time.p50_seconds),
                            seconds(time.p95_seconds),
                            number(1e-9 * time.bytes_per_second(), "%.2f"), time.share_of_limit(),
                            number(time.speedup, "%.2f"), number(time.max_error, "%.3g"),
                            number(time.mean_error, "%.3g")});
    }
    return table;
  }

  SheetTable tiles(const std::vector<TileTime>& times) const {
    SheetTable table{"tiles", {"panels", "rows", "p50"}, {}};
    for (const TileTime& time : times) {
      table.rows.push_back({std::int64_t{time.shape.panels}, std::int64_t{time.shape.rows},
                            seconds(time.p50_seconds)});
    }
    return table;
  }

  SheetTable pipelines(const std::vector<PipelineTime>& times) const {
    SheetTable table{"pipelines", {"stages", "p50"}, {}};
    for (const PipelineTime& time : times) {
      table.rows.push_back({std::int64_t{time.stages}, seconds(time.p50_seconds)});
    }
    return table;
  }

  SheetTable values(const golden::FloatMatrix& y) const {
    SheetTable table{"y", {"row", "channel", "value"}, {}};
    const auto count = std::min<std::size_t>(kPrintedValues, static_cast<std::size_t>(y.columns));
    for (std::size_t n = 0; n < count; ++n) {
      table.rows.push_back({std::int64_t{0}, static_cast<std::int64_t>(n),
                            number(golden::float_of(y.fp32_bits(n)), "%.9g")});
    }
    return table;
  }

 private:
  bool json_;
};

void add_times(const Writer& writer, const std::vector<LinearMeasurement>& measured, Sheet& sheet) {
  const LinearMeasurement& last = measured.back();
  sheet.add("transpose_seconds", writer.seconds(last.transpose_seconds));
  sheet.add("pack_seconds", writer.seconds(last.pack_seconds));
  std::vector<LinearTime> times;
  for (const LinearMeasurement& one : measured) {
    times.insert(times.end(), one.modes.begin(), one.modes.end());
  }
  sheet.add("read_gigabytes_per_second",
            writer.number(1e-9 * times.back().read_bytes_per_second, "%.2f"));
  sheet.tables.push_back(writer.modes(times));
}

void add_sweeps(const Writer& writer, const LinearMeasurement& last, Sheet& sheet) {
  const auto faster = [](const auto& a, const auto& b) { return a.p50_seconds < b.p50_seconds; };
  if (!last.tiles.empty()) {
    const auto best = std::min_element(last.tiles.begin(), last.tiles.end(), faster);
    sheet.add("best_tile",
              std::to_string(best->shape.panels) + "x" + std::to_string(best->shape.rows));
    sheet.tables.push_back(writer.tiles(last.tiles));
  }
  if (!last.pipelines.empty()) {
    const auto best = std::min_element(last.pipelines.begin(), last.pipelines.end(), faster);
    sheet.add("best_stages", std::int64_t{best->stages});
    sheet.tables.push_back(writer.pipelines(last.pipelines));
  }
}

Sheet sheet_of(const LinearOptions& options, const LinearSource& source,
               const std::vector<LinearMeasurement>& measured, int threads, bool json) {
  const Writer writer(json);
  const LinearMeasurement& last = measured.back();
  Sheet sheet;
  sheet.schema = "qsim.golden-linear/1";
  sheet.add("dtype", std::string(golden::float_type_name(source.x.type)));
  sheet.add("y_dtype", std::string(golden::float_type_name(last.y.type)));
  sheet.add("activations", options.activations);
  sheet.add("bits", std::int64_t{source.weights.bits});
  sheet.add("group", source.weights.group_size);
  sheet.add("bias", !source.bias.empty());
  sheet.add("threads", std::int64_t{threads});
  sheet.add("vector", options.vector);
  sheet.add("cold", options.bench);
  sheet.add("quantize_seconds", writer.seconds(last.quantize_seconds));
  if (!options.profile) add_times(writer, measured, sheet);
  add_sweeps(writer, last, sheet);
  if (options.print == "1") sheet.tables.push_back(writer.values(last.y));
  return sheet;
}

void check_activations(const LinearOptions& options) {
  if (options.activation_scale && options.activations == "float") {
    throw Error(ExitCode::kUsage,
                "--activation-scale is of int8 activations; give --activations int8");
  }
  golden::Int8Activations activations;
  activations.scale = options.activation_scale;
  if (options.activations == "float") return;
  golden::check_int8_activations(std::stoll(options.group), std::stoi(options.bits), activations);
}

void check_profile(const LinearOptions& options) {
  if (!options.profile || options.modes.size() == 1) return;
  throw Error(ExitCode::kUsage, "--profile runs one mode; give --mode with one");
}

ExitCode golden_linear_command(Context& context, const LinearOptions& options) {
  check_unused_config(options);
  check_profile(options);
  check_activations(options);
  const std::vector<LinearSize> sizes = linear_sizes(options);
  golden::ThreadTeam team(static_cast<int>(options.threads));
  note_fewer_threads(context, options.threads, team.threads());
  std::vector<LinearMeasurement> measured;
  LinearSource source;
  for (const LinearSize& wanted : sizes) {
    context.progress("timing " + std::to_string(wanted.in_features) + " x " +
                     std::to_string(wanted.out_features));
    source = load_linear(options, wanted);
    const LinearSize size{source.weights.in_features, source.weights.out_features};
    measured.push_back(measure_linear(options, source, size, team));
  }
  if (!options.out.empty()) {
    write_matrix(context, options.out, measured.back().y);
  }
  context.print_json(report::sheet_json(sheet_of(options, source, measured, team.threads(), true)));
  context.print(report::sheet_text(sheet_of(options, source, measured, team.threads(), false)));
  return ExitCode::kOk;
}

constexpr const char* kGoldenLinearText = R"(
It computes y = x W^T + b: the [layer that adds exactly](kernels.md#linear-layers). `cpu_fp32` has the weights before they were quantized;
`cpu_int8` and `gpu_int8` give the same bits. The limit of `share_of_limit` is the fastest reading of as many bytes in the
same run. A GPU is timed by a CUDA graph with cold caches.

| key | meaning |
|---|---|
| `dtype`, `y_dtype`, `activations`, `bits`, `group`, `bias`, `threads`, `vector`, `cold` | what was asked; `cold`: of `--bench` |
| `read_gigabytes_per_second`, `quantize_seconds`, `transpose_seconds`, `pack_seconds` | the limit; preparing the weights, once |
| `modes[]` | `mode`, `K`, `N`, `M`, `mean`, `p50`, `p95`, `gigabytes_per_second`, `share_of_limit`, `speedup`, `max_error`, `mean_error`; the last three against `cpu_fp32` |
| `best_tile`, `tiles[]`, `best_stages`, `pipelines[]` | of `--sweep`: `panels`, `rows`, `p50`; `stages`, `p50` |
| `y[]` | of `--print`: `row`, `channel`, `value` |
)";

}  // namespace

const CommandRow kGoldenLinearCommand = {
    "golden linear", "compute and time a linear layer with integer weights",
    command_of<LinearOptions, declare_linear, golden_linear_command>, kGoldenLinearText};

}  // namespace qsim::cli
