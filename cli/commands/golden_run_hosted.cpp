#include "cli/commands/golden_run_hosted.h"

#include <memory>
#include <utility>

#include "cli/session/engines/golden_backend.h"
#include "cli/session/inputs/hosted_classifier.h"
#include "cli/session/inputs/hosted_steps.h"
#include "cli/terminal/output_folders.h"
#include "cli/terminal/usage_error.h"
#include "formats/files/files.h"
#include "formats/onnx/importer/hosted_importer.h"
#include "formats/onnx/importer/real_importer.h"
#include "formats/traces/npy.h"
#include "report/run_report.h"
#include "report/sheet.h"
#include "report/text_table.h"

namespace qsim::cli {
namespace {

class HostedGoldenRun {
 public:
  HostedGoldenRun(Context& context, const GoldenRunOptions& options, const ArchConfig& config)
      : context_(context),
        options_(options),
        config_(config),
        request_{options, options},
        is_float_(formats::is_float_onnx(held())) {
    if (!is_float_) formats::require_hosted_form(held());
    for (const auto& [is_given, option] : {GivenOption{options.index.has_value(), "--index"},
                                           {options.images.has_value(), "--images"},
                                           {options.batch.has_value(), "--batch"}}) {
      if (!is_given) continue;
      usage_error(std::string(option) + " is of networks without a host; '" +
                  model_name(request_, config) + "' has one; leave it out");
    }
  }

  ExitCode run() {
    HostInputs inputs =
        read_host_inputs(request_, options_.input, config_, [&] { static_cast<void>(load({})); });
    const HostedModel model = load(shapes_of(inputs));
    GoldenSelection golden("--backend", options_.backend, context_.notes());
    HostedSteps steps(model, std::move(inputs));
    double seconds = 0;
    timed(seconds, [&] {
      steps.run([&](std::size_t part, const Tensor& input) {
        const Graph& graph = model.hosted.parts[part].graph;
        std::vector<Tensor> last = golden.runner(graph, GoldenKeep::kLastLayer)->run(input);
        return std::optional(std::move(last.back()));
      });
    });
    keep_outputs(model, steps);
    context_.print_both([&](bool json) {
      report::Sheet sheet = sheet_of(model, golden, seconds, json);
      add_classes(sheet, model, steps.output(0));
      return sheet;
    });
    return ExitCode::kOk;
  }

 private:
  std::shared_ptr<const formats::HeldFile> held() const {
    return std::make_shared<const formats::HeldFile>(model_path(request_, config_));
  }

  HostedModel load(const std::map<std::string, Shape>& shapes) const {
    return is_float_ ? load_on_host(request_, config_, shapes)
                     : load_hosted(context_, request_, options_, config_, shapes);
  }

  void keep_outputs(const HostedModel& model, const HostedSteps& steps) const {
    if (options_.out.empty()) return;
    const std::filesystem::path folder = options_.out;
    formats::remove_file(folder / kRunFile);  // of `run`: it would speak of another output.npy
    formats::remove_other_files(folder, is_output_file, {});
    for (std::size_t i = 0; i < model.hosted.network.outputs.size(); ++i) {
      context_.write_file(folder / host_output_name(i), formats::npy_bytes(steps.output(i)));
    }
  }

  report::Sheet sheet_of(const HostedModel& model, const GoldenSelection& golden, double seconds,
                         bool json) const {
    report::Sheet sheet;
    sheet.schema = "qsim.golden-run/1";
    sheet.add("model", model.name);
    if (!options_.rounding.empty()) sheet.add("rounding", options_.rounding);
    sheet.add("input", options_.input);
    sheet.add("backend", model.hosted.parts.empty() ? std::string("cpu") : golden.name());
    if (!is_float_) sheet.add("as", options_.as);
    sheet.add("parts", std::ssize(model.hosted.parts));
    sheet.add("host_nodes", std::ssize(model.hosted.host_steps));
    sheet.add("seconds",
              json ? report::Cell(seconds) : report::Cell(report::seconds_text(seconds)));
    return sheet;
  }

  static void add_classes(report::Sheet& sheet, const HostedModel& model, const Tensor& output) {
    const std::vector<report::OutputClass> best = best_host_classes(model, output, 1);
    if (best.empty()) return;
    const report::OutputClass& first = best.front();
    const bool is_real = first.probability.has_value();
    sheet.tables.push_back(
        {"classes", {"picture", "class", "name", is_real ? "probability" : "value"}, {}});
    sheet.tables.back().rows.push_back(
        {std::int64_t{0}, first.index, first.label,
         is_real ? report::Cell(*first.probability)
                 : report::Cell(static_cast<std::int64_t>(first.score))});
  }

  Context& context_;
  const GoldenRunOptions& options_;
  const ArchConfig& config_;
  NetworkRequest request_;
  bool is_float_;
};

}  // namespace

ExitCode golden_run_hosted(Context& context, const GoldenRunOptions& options,
                           const ArchConfig& config) {
  return HostedGoldenRun(context, options, config).run();
}

}  // namespace qsim::cli
