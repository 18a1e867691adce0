#include "cli/session/run/hosted_run.h"

#include <utility>

#include "cli/session/inputs/hosted_classifier.h"
#include "cli/session/inputs/hosted_steps.h"
#include "cli/session/inputs/input_source.h"
#include "cli/session/inputs/mapping_request.h"
#include "cli/session/inputs/shipped_files.h"
#include "cli/session/results/report_page_option.h"
#include "cli/session/run/host_time.h"
#include "cli/session/run/part_runner.h"
#include "cli/session/run/provenance.h"
#include "cli/session/run/run_verdict.h"
#include "cli/session/run/simulation.h"
#include "formats/files/files.h"
#include "formats/traces/npy.h"
#include "golden/host/host_costs.h"
#include "report/run_sum.h"
#include "report/text_table.h"

namespace qsim::cli {

using report::RunReport;
namespace {

constexpr std::size_t kPrintedClasses = 5;

class HostedRunner {
 public:
  HostedRunner(Context& context, const RunCommandOptions& options, const ArchConfig& config,
               GoldenSelection& golden)
      : context_(context), options_(options), given_(config), golden_(golden) {}

  ExitCode run(const Conditions& conditions) {
    const NetworkRequest request = network_of(options_);
    const std::optional<EnergyTable> energy_table = load_energy_table(options_);
    RunReport sum;
    sum.engine = options_.engine;
    std::optional<HostInputs> inputs;
    HostedModel model = timed(sum.phases.import, [&] {
      if (!options_.no_data || !options_.input.empty()) {
        inputs = read_host_inputs(request, options_.input, given_, [&] {
          static_cast<void>(load_hosted(context_, request, options_, given_, {}));
        });
      }
      return load_hosted(context_, request, options_, given_,
                         inputs ? shapes_of(*inputs) : std::map<std::string, Shape>());
    });
    refuse_with_host(request, given_,
                     {{!options_.layers.empty(), "--layers"},
                      {options_.snap, "--snap"},
                      {options_.index.has_value(), "--index"},
                      {options_.batch && !options_.input.empty(), "--batch"},
                      {!options_.trace.empty(), "--trace"},
                      {!options_.dump_layers.empty(), "--dump-layers"},
                      {!options_.mapping.empty(), "--mapping"}});
    if (options_.no_data) inputs.reset();
    const ArchConfig& config = model.config;
    sum.config = config;
    sum.host = host_report(model.hosted);
    PartRunner runner(context_, options_, config, golden_);
    std::vector<LayerMapping> mappings;
    std::vector<std::int64_t> part_cycles;
    HostedSteps steps(model, std::move(inputs));
    steps.run([&](std::size_t index, const Tensor& input) {
      context_.progress("part " + report::with_thousands(index + 1) + " of " +
                        report::with_thousands(model.hosted.parts.size()) + " on the array");
      Graph graph = std::move(model.hosted.parts[index].graph);
      graph.name = model.name;
      compiler::CompileOptions asked = compile_options(context_, request, options_, config, graph);
      PartRunner::Result ran =
          runner.run({std::move(graph), input, std::move(asked)}, energy_table, sum);
      report::add_run(sum, ran.report);
      if (const auto& timing = ran.report.total.timing) {
        part_cycles.push_back(static_cast<std::int64_t>(timing->cycles));
      }
      mappings.insert(mappings.end(), ran.mappings.begin(), ran.mappings.end());
      return std::move(ran.last);
    });
    sum.host->seconds = steps.host_seconds();
    if (config.host && part_cycles.size() == model.hosted.parts.size()) {
      add_estimate(estimate_time(model.hosted, *config.host, part_cycles), *sum.host);
    }
    if (energy_table && !model.hosted.parts.empty()) report::sum_energy(sum, *energy_table);
    note_ended_searches(context_, runner.searched());
    sum.provenance = provenance(request, model);
    sum.provenance.rtl_model =
        rtl_model_of(options_.engine, config, engine_settings(context_, options_));
    sum.prints_bounds = options_.bounds;
    write_mappings(context_, options_.write_mapping, model.name, config, mappings);
    if (!options_.no_data) {
      sum.top = best_host_classes(model, steps.output(0), kPrintedClasses);
    }
    write_report(context_, options_.report, sum, runner.timeline());
    const ExitCode code = finish_hosted_run(context_, options_, sum, outputs_of(model, steps));
    if (code == ExitCode::kOk) require_conditions(conditions, sum);
    return code;
  }

 private:
  static void add_estimate(const HostTime& time, report::HostReport& host) {
    host.estimate = time.estimate;
    for (std::size_t i = 0; i < host.nodes.size(); ++i) {
      host.nodes[i].cycles_estimated = time.node_cycles[i];
    }
  }

  report::HostReport host_report(const HostedNetwork& hosted) const {
    report::HostReport found;
    found.as = options_.as;
    found.parts = static_cast<std::int64_t>(hosted.parts.size());
    for (const ArrayPart& part : hosted.parts) {
      for (const HostValueId id : {part.input, part.output}) {
        found.crossing_bytes += golden::value_bytes(hosted.network.values[id]);
      }
    }
    for (const HostStep& step : hosted.host_steps) {
      const HostNode& node = hosted.network.nodes[step.node];
      found.nodes.push_back({node.name, node.op, step.reason,
                             golden::host_operations(hosted.network, node),
                             golden::host_bytes(hosted.network, node)});
    }
    return found;
  }

  report::Provenance provenance(const NetworkRequest& request, const HostedModel& model) const {
    Model named;  // what provenance says of the model
    named.name = model.name;
    named.path = model.path;
    named.file = model.file;
    ModelInput input;
    input.name = options_.input;
    if (!options_.input.empty()) input.path = find_input(options_.input);
    if (formats::is_folder(input.path)) input.path.clear();
    return provenance_of(context_.argv(), request, options_.seed, named, input,
                         options_.wants_hashes(context_.has_json()));
  }

  std::vector<Tensor> outputs_of(const HostedModel& model, const HostedSteps& steps) const {
    std::vector<Tensor> outputs;
    if (options_.no_data || options_.out.empty()) return outputs;
    for (std::size_t i = 0; i < model.hosted.network.outputs.size(); ++i) {
      outputs.push_back(steps.output(i));
    }
    return outputs;
  }

  Context& context_;
  const RunCommandOptions& options_;
  const ArchConfig& given_;
  GoldenSelection& golden_;
};

}  // namespace

ExitCode run_hosted(Context& context, const RunCommandOptions& options, const ArchConfig& config,
                    GoldenSelection& golden, const Conditions& conditions) {
  return HostedRunner(context, options, config, golden).run(conditions);
}

}  // namespace qsim::cli
