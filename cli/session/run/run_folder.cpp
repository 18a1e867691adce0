#include "cli/session/run/run_folder.h"

#include "cli/host_tensors/host_tail.h"
#include "formats/files/files.h"
#include "formats/settings/arch_config_file.h"
#include "formats/traces/layer_trace.h"
#include "formats/traces/npy.h"
#include "report/json_printer.h"
#include "report/layers_csv.h"

namespace qsim::cli {

void make_output_folders(Context& context, const RunCommandOptions& options) {
  for (const auto& folder : {options.out, options.dump_layers}) make_output_folder(context, folder);
}

namespace {

// run.json says that the other files are complete and of the same run. So an old one is removed
// first, and the new one is written last.
template <typename WriteOutputs>
void keep(Context& context, const RunCommandOptions& options, const report::RunReport& report,
          WriteOutputs write_outputs) {
  if (options.out.empty()) return;
  const std::filesystem::path folder = options.out;
  formats::remove_file(folder / kRunFile);
  formats::remove_other_files(folder, is_output_file, {});
  context.write_file(folder / "config.yaml", formats::arch_config_yaml(report.config));
  context.write_file(folder / "layers.csv", report::layers_csv(report));
  write_outputs(folder);
  context.write_file(folder / kRunFile, report::run_json(report));
}

}  // namespace

void keep_run(Context& context, const RunCommandOptions& options, const report::RunReport& report,
              const OutputForm& output, const std::optional<Tensor>& last) {
  keep(context, options, report, [&](const std::filesystem::path& folder) {
    if (!last) return;
    context.write_file(folder / "output.npy",
                       output_npy(output_to_host(*last, output, true), output.host.tail));
    context.write_file(folder / "output_q.npy",
                       formats::npy_bytes(output_to_host(*last, output, false)));
  });
}

void keep_hosted_run(Context& context, const RunCommandOptions& options,
                     const report::RunReport& report, const std::vector<Tensor>& outputs) {
  keep(context, options, report, [&](const std::filesystem::path& folder) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      context.write_file(folder / host_output_name(i), formats::npy_bytes(outputs[i]));
    }
  });
}

void require_dump_fits(const RunCommandOptions& options, const Graph& graph) {
  const std::string& folder = options.dump_layers;
  if (!folder.empty()) formats::require_layer_trace_fits(folder, graph);
}

void dump_layers(Context& context, const RunCommandOptions& options, const Graph& graph,
                 const Tensor& input, const std::vector<Tensor>& tensors) {
  const std::string& folder = options.dump_layers;
  if (folder.empty()) return;
  context.progress("writing the layer trace");
  formats::write_layer_trace(
      folder, graph, input, tensors,
      [&](const auto& path, std::string_view content) { context.write_file(path, content); });
}

}  // namespace qsim::cli
