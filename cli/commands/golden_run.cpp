// `qsim golden run`: classifies many pictures with golden alone, in the accelerator's exact
// arithmetic, and counts how many of those with a label it gets right.
#include <algorithm>

#include "cli/commands/commands.h"
#include "cli/commands/golden_run_hosted.h"
#include "cli/commands/golden_run_hybrid.h"
#include "cli/host_tensors/classes.h"
#include "cli/host_tensors/host_tail.h"
#include "cli/session/engines/golden_backend.h"
#include "cli/session/engines/memory_need.h"
#include "cli/session/inputs/picture_series.h"
#include "cli/terminal/output_folders.h"
#include "core/base/checked_math.h"
#include "core/base/limits.h"
#include "formats/files/files.h"
#include "formats/traces/npy.h"
#include "report/run_report.h"
#include "report/text_table.h"

namespace qsim::cli {

using report::Cell;
namespace {

constexpr std::int64_t kCifarClasses = 10;

void declare_golden_run(Declarations& declared, GoldenRunOptions& options) {
  declare_config(declared, options);
  declare_golden(declared, options);
  declare_set(declared, options);
  declare_host(declared, options);
  declared
      .text("--input", options.input,
            "a CIFAR-10 binary batch (.bin), a .npy of one or more pictures in the model's own "
            "layout, an image, or a shipped name (default: the config's, or the workload's or "
            "trace's own)")
      .read(Reads::kInput, "the input");
  declared.number("--index", {0, kMaxIndex}, options.index,
                  "which picture is the first, from 0 (default: 0)");
  declared.number("--images", {1, kMaxImages}, options.images,
                  "number of pictures (default: all; for a workload, the batch of its file)");
  declared.output_folder("--out", options.out, is_golden_file,
                         "write output.npy, the output for every picture, to this folder");
}

struct Classification {
  Tensor outputs;           // the last layer's, of every picture
  std::vector<int> labels;  // one a picture, or none
  double seconds = 0;       // in run(), so with copies to and from a GPU, without reading pictures
};

void append(const Tensor& from, std::int64_t pictures, std::int64_t done, Tensor& to) {
  const std::size_t one = to.bytes.size() / static_cast<std::size_t>(to.shape[0]);
  const auto bytes = one * static_cast<std::size_t>(pictures);
  std::copy_n(from.bytes.begin(), bytes,
              to.bytes.begin() + static_cast<std::ptrdiff_t>(one) * done);
}

// The outputs of all pictures; with --out again in the model's layout and as the bytes of a file.
std::int64_t series_bytes(const Graph& graph, const PictureSeries& series, bool keeps_output) {
  const std::int64_t output =
      element_count(graph.output_value().shape.nhwc()) / graph.input_value().shape.batch;
  const std::int64_t out_bytes = !keeps_output ? 0 : graph.host.float_output ? 8 : 2;
  return checked_mul(series.count(), checked_mul(output, 1 + out_bytes));
}

// The last batch keeps what the one before it left in places without a picture.
Classification classify(Context& context, const Graph& graph, const PictureSeries& series,
                        GoldenSelection& golden) {
  const std::unique_ptr<GoldenRunner> runner = golden.runner(graph, GoldenKeep::kLastLayer);
  const std::int64_t batch = graph.input_value().shape.batch;
  Value last = graph.output_value();
  last.shape.batch = series.count();
  Classification result;
  result.outputs = Tensor(last.dtype, last.shape.nhwc());
  Tensor input(graph.input_value().dtype, graph.input_value().shape.nhwc());
  const std::size_t picture_bytes = input.bytes.size() / static_cast<std::size_t>(batch);
  std::vector<Tensor> outputs;
  // A GPU's first run loads the kernels' code.
  if (runner->backend() == GoldenBackend::kCuda) runner->run(input, outputs);
  for (std::int64_t done = 0; done < series.count(); done += batch) {
    const std::int64_t pictures = std::min(batch, series.count() - done);
    for (std::int64_t i = 0; i < pictures; ++i) {
      const std::size_t place = static_cast<std::size_t>(i) * picture_bytes;
      const std::optional<int> label =
          series.read(done + i, std::span(input.bytes).subspan(place, picture_bytes));
      if (label) result.labels.push_back(*label);
    }
    timed(result.seconds, [&] { runner->run(input, outputs); });
    append(outputs.back(), pictures, done, result.outputs);
    context.progress(report::with_thousands(done + pictures) + " of " +
                     report::with_thousands(series.count()) + " pictures");
  }
  return result;
}

std::int64_t count_correct(const Classification& result, const OutputForm& form) {
  std::int64_t correct = 0;
  for (std::size_t i = 0; i < result.labels.size(); ++i) {
    const auto picture = static_cast<std::int64_t>(i);
    const report::OutputClass best = best_classes(result.outputs, form, picture, {}, 1).front();
    correct += best.index == result.labels[i] ? 1 : 0;
  }
  return correct;
}

// One row a picture; for people and scripts that have a few of them. output.npy has them all.
report::SheetTable classes_table(const Classification& result, const OutputForm& form,
                                 const Model& model, std::int64_t first) {
  const bool has_scale = form.value.scale.has_value();
  report::SheetTable table{
      "classes", {"picture", "class", "name", has_scale ? "probability" : "value"}, {}};
  const std::vector<std::string> labels =
      model.sidecar ? model.sidecar->labels : std::vector<std::string>{};
  for (std::int64_t i = 0; i < result.outputs.shape[0]; ++i) {
    const report::OutputClass best = best_classes(result.outputs, form, i, labels, 1).front();
    const Cell sure =
        has_scale ? Cell(*best.probability) : Cell(static_cast<std::int64_t>(best.score));
    table.rows.push_back({first + i, best.index, best.label, sure});
  }
  return table;
}

void keep_output(Context& context, const std::filesystem::path& folder, const OutputForm& form,
                 const Classification& result) {
  if (folder.empty()) return;
  const Tensor output = output_to_host(result.outputs, form, true);
  formats::remove_file(folder / kRunFile);  // of `run`: it would speak of another output.npy
  context.write_file(folder / "output.npy", output_npy(output, form.host.tail));
}

// For people the time carries its unit; for JSON it is a number.
report::Sheet sheet_of(const Model& model, const std::string& rounding, const PictureSeries& series,
                       const Classification& result, const std::string& backend, std::int64_t batch,
                       bool json) {
  const OutputForm form = output_form(model.graph);
  const double rate = static_cast<double>(series.count()) / std::max(result.seconds, 1e-9);
  report::Sheet sheet;
  sheet.schema = "qsim.golden-run/1";
  sheet.add("model", model.name);
  if (!rounding.empty()) sheet.add("rounding", rounding);
  sheet.add("input", series.name());
  sheet.add("backend", backend);
  sheet.add("pictures", series.count());
  sheet.add("batch", batch);
  if (has_classes(form) && !result.labels.empty() && form.value.shape.channels == kCifarClasses) {
    const std::int64_t correct = count_correct(result, form);
    sheet.add("top1_correct", correct);
    sheet.add("top1", static_cast<double>(correct) / static_cast<double>(series.count()));
  }
  sheet.add("seconds", json ? Cell(result.seconds) : Cell(report::seconds_text(result.seconds)));
  sheet.add("pictures_per_second", static_cast<std::int64_t>(rate));
  if (has_classes(form) && series.count() <= kShownPictures) {
    sheet.tables.push_back(classes_table(result, form, model, series.first()));
  }
  return sheet;
}

ExitCode run_graph(Context& context, const GoldenRunOptions& options, const ArchConfig& config) {
  if (const auto hybrid = hybrid_file(options)) return golden_run_hybrid(context, options, hybrid);
  GoldenSelection golden("--backend", options.backend, context.notes());
  const NetworkRequest request{options, options};
  Model model = load_model_for_series(request, options, config);
  const PictureSeries series(request, options, config, model);
  const std::int64_t batch = std::min(options.batch.value_or(kGoldenBatch), series.count());
  set_batch(model.graph, batch);
  require_memory_for(model.name, model.graph, config, need_of_golden(), {},
                     series_bytes(model.graph, series, !options.out.empty()));
  const Classification result = classify(context, model.graph, series, golden);
  keep_output(context, options.out, output_form(model.graph), result);
  const auto sheet = [&](bool json) {
    return sheet_of(model, options.rounding, series, result, golden.name(), batch, json);
  };
  context.print_both(sheet);
  return ExitCode::kOk;
}

ExitCode golden_run_command(Context& context, const GoldenRunOptions& options) {
  make_output_folder(context, options.out);
  const ArchConfig config = load_config(options);
  const NetworkRequest request{options, options};
  const bool may = !model_name(request, config).empty() &&
                   may_have_host(model_kind(model_path(request, config)), options);
  if (may && options.as == kAsOnnxRuntime) return golden_run_hosted(context, options, config);
  try {
    return run_graph(context, options, config);
  } catch (const Error& error) {
    if (error.code() != ExitCode::kUnsupportedModel || !may) throw;
  }
  return golden_run_hosted(context, options, config);
}

constexpr const char* kGoldenRunText = R"(
It computes with the accelerator's exact arithmetic. `seconds` and `pictures_per_second` count the network, and on a GPU
the copies to it and back, without reading and preparing pictures. The best class is the first with the largest value.

| key | meaning |
|---|---|
| `model`, `input`, `backend`, `pictures`, `batch`, `seconds`, `pictures_per_second` | `input` is a file, `workload` or `layer trace` |
| `as`, `parts`, `host_nodes` | of a network with a [host](host.md) |
| `top1_correct`, `top1` | of pictures with labels and a network of ten classes |
| `classes[]` | up to 20 pictures: `picture`, `class`, `name`, `probability`, or `value` where the output has no scale |
)";

}  // namespace

const CommandRow kGoldenRunCommand = {
    "golden run", "classify many pictures with golden and count the correct ones",
    command_of<GoldenRunOptions, declare_golden_run, golden_run_command>, kGoldenRunText};

}  // namespace qsim::cli
