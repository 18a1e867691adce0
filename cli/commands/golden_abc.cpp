// `qsim golden abc`: what weights lose as sums of binary bases, a binary convolution of files, and
// its times beside float and int8.
#include <cstdio>
#include <optional>

#include "cli/commands/commands.h"
#include "cli/session/abc/abc_layers.h"
#include "cli/session/abc/abc_times.h"
#include "cli/session/abc/activation_blocks.h"
#include "cli/session/engines/golden_backend.h"
#include "cli/session/inputs/model_source.h"
#include "cli/terminal/output_folders.h"
#include "cli/terminal/usage_error.h"
#include "core/base/limits.h"
#include "core/base/words.h"
#include "formats/traces/npy.h"
#include "golden/kernels/binary/float_conv.h"
#include "golden/kernels/binary/optimised_conv.h"
#include "golden/kernels/binary/threshold_fit.h"
#include "report/text_table.h"

namespace qsim::cli {

using report::Cell;
using report::Sheet;
using report::SheetTable;
namespace {

// 3x3, 64 to 64 channels: what --sizes times without --weights.
constexpr golden::WeightShape kTimedShape = {64, 3, 3, 64};

struct AbcOptions : ConfigOption, NetworkOptions {
  std::string weights;  // a .npy or .onnx file; "": the model's layers
  std::string layer;    // of the weights; "": all
  std::string input;    // a .npy; "": none
  std::string out;      // a folder; "" for none
  int bases = 3;
  int activation_bases = 3;
  std::string alphas = "channel";
  std::string thresholds = "even";
  bool fit_activations = false;
  int stride = 1;
  int pad = 0;
  Words sizes;
  int runs = 21;
  std::string backend = "auto";
  std::uint64_t seed = 0;
};

void check_abc(const AbcOptions& options) {
  const bool has_weights = !options.weights.empty();
  if (has_weights && !options.model.empty()) {
    usage_error("--weights and --model both name weights; leave one of them out");
  }
  if (!options.input.empty() && !has_weights) {
    usage_error("--input of golden abc needs the layer that it goes through; add --weights");
  }
  if (!options.layer.empty() && !has_weights) {
    usage_error("--layer of golden abc chooses among float weights; add --weights FILE.onnx");
  }
  if (!options.input.empty() && options.layer.empty() && options.weights.ends_with(".onnx")) {
    usage_error("--input of golden abc goes through one layer of the network; add --layer");
  }
  if (!options.out.empty() && options.input.empty()) {
    usage_error("--out of golden abc writes the convolution of --input; add --input");
  }
}

void declare_abc_files(Declarations& declared, AbcOptions& options) {
  declare_model(declared, options.model,
                "the network whose weights are made binary: an ONNX file, a workload YAML, a "
                "SCALE-Sim topology, a layer-trace folder, or a shipped name");
  declared
      .text("--weights", options.weights,
            "instead of a quantized network, float weights: of an ONNX file that is not "
            "quantized, or of one layer as a .npy of float32 [out_channels, channels, kernel_h, "
            "kernel_w]",
            "FILE")
      .read(Reads::kNetworkInstead, "the weights");
  declared.text("--layer", options.layer, "of --weights, this layer alone", "NAME");
  declared
      .text("--input", options.input,
            "convolve this with --weights: a .npy of float32 [batch, channels, height, width]",
            "FILE")
      .read(Reads::kInput, "the input");
  declared.output_folder(
      "--out", options.out, is_golden_file,
      "write output.npy, float32 [batch, out_channels, height, width], to this folder");
}

// --sizes and what goes with it; --stride and --pad serve --input too.
void declare_abc_times(Declarations& declared, AbcOptions& options) {
  constexpr std::int64_t kMostStep = 1024;
  declared.number("--stride", {1, kMostStep}, options.stride, "of --input and --sizes");
  declared.number("--pad", {0, kMostStep}, options.pad, "on each side, of --weights");
  declared.list("--sizes", options.sizes,
                "also time the layer on square pictures of these sizes, beside float and int8, "
                "with commas between them",
                {"8", "16", "32", "64", "128", "256", "512"});
  declared.number("--runs", {9, kMaxRuns}, options.runs,
                  "repetitions of --sizes; times are their medians");
  declared.number("--batch", {1, 1024}, options.batch, "pictures of --sizes at a time").shows("1");
  declare_backend(declared, options.backend, "what --sizes times: the CPU or a GPU");
  declared.seed(options.seed,
                "seed of the random layer of --sizes, and of the blocks of --fit-activations");
}

void declare_abc(Declarations& declared, AbcOptions& options) {
  declare_config(declared, options);
  declare_abc_files(declared, options);
  declared.number("--bases", {1, golden::kMostBases}, options.bases, "bases of the weights");
  declared.number("--activation-bases", {1, golden::kMostBases}, options.activation_bases,
                  "bases of the activations");
  declared.word("--alphas", options.alphas, {"layer", "channel"},
                "which weights share their alphas");
  declared.word("--thresholds", options.thresholds, {"even", "fitted"},
                "of the weights: even, from -1 to 1 standard deviations, or fitted to the least "
                "squared error");
  declared.flag("--fit-activations", options.fit_activations,
                "also fit v and beta of 1 to 8 bases to random blocks of --input, or of normal "
                "numbers after ReLU");
  declare_abc_times(declared, options);
  declared.check([&] { check_abc(options); });
}

golden::AlphaGroup group_of(const AbcOptions& options) {
  return options.alphas == "layer" ? golden::AlphaGroup::kLayer : golden::AlphaGroup::kChannel;
}

golden::BinarizedWeights binarized(const AbcLayer& layer, int bases, const AbcOptions& options) {
  const std::vector<double> u =
      options.thresholds == "fitted" ? golden::fit_u(layer.weights, bases) : golden::even_u(bases);
  return golden::binarize(layer.weights, layer.shape, u, group_of(options));
}

Window window_of(const golden::WeightShape& shape, std::int64_t stride, std::int64_t pad) {
  Window window;
  window.kernel_h = shape.kernel_h;
  window.kernel_w = shape.kernel_w;
  window.stride_h = window.stride_w = stride;
  window.pad_top = window.pad_left = window.pad_bottom = window.pad_right = pad;
  return window;
}

// 0 where `whole` is 0: nothing is lost.
double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

std::vector<AbcLayer> layers_of(const AbcOptions& options, std::string& name) {
  if (!options.weights.empty()) {
    check_unused_config(options);
    name = options.weights;
    return read_abc_weights(options.weights, options.layer);
  }
  const Model model = load_model(NetworkRequest{options, options}, load_config(options));
  name = model.name;
  return abc_layers(model.graph, model.name);
}

// The squared error over the squared distance from the mean, for 1 to kMostBases bases.
SheetTable errors_table(Context& context, const AbcOptions& options,
                        const std::vector<AbcLayer>& layers) {
  SheetTable table{"errors", {"layer", "weights"}, {}};
  for (int m = 1; m <= golden::kMostBases; ++m) table.columns.push_back("m" + std::to_string(m));
  for (const AbcLayer& layer : layers) {
    std::vector<Cell> row = {layer.name, static_cast<std::int64_t>(layer.weights.size())};
    for (int m = 1; m <= golden::kMostBases; ++m) {
      const golden::BinarizedWeights found = binarized(layer, m, options);
      row.push_back(share(found.squared_error, found.squared_deviation));
      context.progress(layer.name + ", " + std::to_string(m) + " bases");
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

double squared_difference(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += difference * difference;
  }
  return sum;
}

double squared_sum(std::span<const float> values) {
  return squared_difference(values, std::vector<float>(values.size()));
}

// Nine digits give a float32 again.
std::string numbers_text(std::span<const float> values) {
  std::string text;
  for (const float value : values) {
    text += (text.empty() ? "" : " ") + number_text(static_cast<double>(value), "%.9g");
  }
  return text;
}

// The squared error over the samples' squares, v and beta, for 1 to kMostBases bases.
SheetTable activations_table(Context& context, std::span<const float> samples) {
  SheetTable table{"activations", {"bases", "error", "v", "beta"}, {}};
  const double squares = squared_sum(samples);
  for (int bases = 1; bases <= golden::kMostBases; ++bases) {
    context.progress("fitting " + std::to_string(bases) + " bases of activations");
    const golden::ActivationFit fit = golden::fit_activations(samples, bases);
    table.rows.push_back({std::int64_t{bases}, share(fit.squared_error, squares),
                          numbers_text(fit.v), numbers_text(fit.beta)});
  }
  return table;
}

// The layer with --bases and --activation-bases on --input, compared with the float layer.
void convolve(Context& context, const AbcOptions& options, const AbcLayer& layer,
              const AbcInput& input, Sheet& sheet) {
  const golden::ActivationFit fit = golden::fit_activations(input.values, options.activation_bases);
  golden::BinaryConv conv;
  conv.weights = binarized(layer, options.bases, options).weights;
  conv.beta = fit.beta;
  conv.window = window_of(layer.shape, options.stride, options.pad);
  const golden::BitTensor bits = golden::pack_activations(input.values, input.shape, fit.v);
  const std::vector<float> y = golden::OptimisedBinaryConv(conv, {.threads = 0}).run(bits);
  const std::vector<float> exact =
      golden::float_conv(layer.weights, layer.shape, conv.window, input.values, input.shape);
  sheet.add("activation_error", share(fit.squared_error, squared_sum(input.values)));
  sheet.add("output_error", share(squared_difference(y, exact), squared_sum(exact)));
  if (options.out.empty()) return;
  const Tensor output = abc_output(y, golden::output_shape(conv, bits));
  context.write_file(std::filesystem::path(options.out) / "output.npy", formats::npy_bytes(output));
}

AbcTiming timing_of(const AbcOptions& options, const std::vector<AbcLayer>& layers) {
  const bool from_file = !options.weights.empty();
  AbcTiming timing;
  timing.weights = from_file ? layers.front().shape : kTimedShape;
  timing.window = window_of(timing.weights, options.stride, from_file ? options.pad : 1);
  timing.batch = options.batch.value_or(1);
  timing.bases = options.bases;
  timing.activation_bases = options.activation_bases;
  timing.runs = options.runs;
  timing.seed = options.seed;
  return timing;
}

// For people times carry their unit; for JSON they are numbers.
Cell seconds_cell(double seconds, bool json) {
  return json ? Cell(seconds) : Cell(report::seconds_text(seconds));
}

void add_cpu_times(Context& context, const Words& sizes, const AbcTiming& timing, Sheet& sheet,
                   Sheet& json) {
  SheetTable table{
      "times",
      {"size", "binary_seconds", "float_seconds", "int8_seconds", "of_float", "of_int8"},
      {}};
  SheetTable numbers = table;
  for (const std::string& size : sizes) {
    context.progress("timing " + size + "x" + size);
    const AbcTimes row = time_abc_layer(timing, std::stoll(size));
    for (const bool is_json : {false, true}) {
      (is_json ? numbers : table)
          .rows.push_back({row.size, seconds_cell(row.binary_seconds, is_json),
                           seconds_cell(row.float_seconds, is_json),
                           seconds_cell(row.int8_seconds, is_json),
                           share(row.binary_seconds, row.float_seconds),
                           share(row.binary_seconds, row.int8_seconds)});
    }
  }
  sheet.tables.push_back(std::move(table));
  json.tables.push_back(std::move(numbers));
}

// Whether every layer had the CPU's words.
bool add_gpu_times(Context& context, const Words& sizes, const AbcTiming& timing, Sheet& sheet,
                   Sheet& json) {
  const golden::CudaDevice& device = golden_device();
  SheetTable table{"gpu_times",
                   {"size", "kernels", "binary_seconds", "int8_seconds", "of_int8", "equals_cpu"},
                   {}};
  SheetTable numbers = table;
  bool equal = true;
  for (const std::string& size : sizes) {
    context.progress("timing " + size + "x" + size + " on " + device.name);
    const AbcGpuTimes row = time_abc_layer_on_gpu(timing, std::stoll(size), device.index);
    equal = equal && row.equal;
    for (const bool is_json : {false, true}) {
      (is_json ? numbers : table)
          .rows.push_back({row.size, row.kernels, seconds_cell(row.binary_seconds, is_json),
                           seconds_cell(row.int8_seconds, is_json),
                           share(row.binary_seconds, row.int8_seconds), row.equal});
    }
  }
  sheet.tables.push_back(std::move(table));
  json.tables.push_back(std::move(numbers));
  return equal;
}

bool add_times(Context& context, const AbcOptions& options, const std::vector<AbcLayer>& layers,
               Sheet& sheet, Sheet& json) {
  if (options.sizes.empty()) return true;
  const AbcTiming timing = timing_of(options, layers);
  const GoldenSelection golden("--backend", options.backend, context.notes());
  if (golden.backends().front() == GoldenBackend::kCuda) {
    return add_gpu_times(context, options.sizes, timing, sheet, json);
  }
  add_cpu_times(context, options.sizes, timing, sheet, json);
  return true;
}

ExitCode golden_abc_command(Context& context, const AbcOptions& options) {
  make_output_folder(context, options.out);
  std::string name;
  const std::vector<AbcLayer> layers = layers_of(options, name);
  const auto path = golden::resolve(golden::PopcountPath::kAuto);
  Sheet sheet;
  sheet.schema = "qsim.golden-abc/1";
  sheet.add("model", name);
  sheet.add("alphas", options.alphas);
  sheet.add("thresholds", options.thresholds);
  sheet.add("bases", std::int64_t{options.bases});
  sheet.add("activation_bases", std::int64_t{options.activation_bases});
  sheet.add("popcount_path", std::string(golden::popcount_path_name(path)));
  sheet.tables.push_back(errors_table(context, options, layers));
  std::optional<AbcInput> input;
  if (!options.input.empty()) {
    input = read_abc_input(options.input);
    convolve(context, options, layers.front(), *input, sheet);
  }
  if (options.fit_activations) {
    sheet.tables.push_back(activations_table(
        context, input ? random_blocks(*input, options.seed) : normal_blocks(options.seed)));
  }
  Sheet json = sheet;
  const bool equal = add_times(context, options, layers, sheet, json);
  context.print_json(report::sheet_json(json));
  context.print(report::sheet_text(sheet));
  return equal ? ExitCode::kOk : ExitCode::kMismatch;
}

constexpr const char* kGoldenAbcText = R"(
[Binary convolution](kernels.md#binary-convolution) defines bases, alphas and thresholds. Int8 weights are taken as numbers: a
scale changes no relative error. Times of the CPU are of one thread and one picture.

| key | meaning |
|---|---|
| `model`, `alphas`, `thresholds`, `bases`, `activation_bases`, `popcount_path` | what was asked |
| `errors[]` | `layer`, `weights`, `m1`, `m2`, `m3`, `m4`, `m5`, `m6`, `m7`, `m8`: squared error over squared distance from the mean, with 1 to 8 bases |
| `activation_error`, `output_error` | of `--input`: squared error over squares |
| `activations[]` | of `--fit-activations`: `bases`, `error`, `v`, `beta` (texts of numbers) |
| `times[]` | of `--sizes`: `size`, `binary_seconds`, `float_seconds`, `int8_seconds`, and the binary layer's share `of_float`, `of_int8` |
| `gpu_times[]` | on a GPU: `size`, `kernels`, `binary_seconds`, `int8_seconds`, `of_int8`, `equals_cpu` |
)";

}  // namespace

const CommandRow kGoldenAbcCommand = {
    "golden abc", "say what weights lose as sums of binary bases, and time a binary convolution",
    command_of<AbcOptions, declare_abc, golden_abc_command>, kGoldenAbcText};

}  // namespace qsim::cli
