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

void keep_run(Context& context, const RunCommandOptions& options, const report::RunReport& report,
              const OutputForm& output, const std::optional<Tensor>& last) {
  if (options.out.empty()) return;
  const std::filesystem::path folder = options.out;
  // run.json says that the other files are complete and of the same run. So an old one is removed
  // first, and the new one is written last.
  for (const char* file : {"run.json", "output.npy", "output_q.npy"})
    formats::remove_file(folder / file);
  context.write_file(folder / "config.yaml", formats::arch_config_yaml(report.config));
  context.write_file(folder / "layers.csv", report::layers_csv(report));
  if (last) {
    context.write_file(folder / "output.npy",
                       output_npy(output_to_host(*last, output, true), output.host.tail));
    context.write_file(folder / "output_q.npy",
                       formats::npy_bytes(output_to_host(*last, output, false)));
  }
  context.write_file(folder / "run.json", report::run_json(report));
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
