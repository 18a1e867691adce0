#include "cli/commands/golden_run_hybrid.h"

#include <algorithm>
#include <filesystem>

#include "cli/host_tensors/classes.h"
#include "cli/host_tensors/host_tail.h"
#include "cli/session/engines/threads_note.h"
#include "cli/session/inputs/model_source.h"
#include "cli/session/inputs/picture_set.h"
#include "cli/session/inputs/shipped_files.h"
#include "cli/terminal/output_folders.h"
#include "formats/files/files.h"
#include "formats/onnx/importer/real_importer.h"
#include "formats/traces/npy.h"
#include "golden/graph/real/real_executor.h"
#include "report/run_report.h"
#include "report/sheet.h"
#include "report/text_table.h"

namespace qsim::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kDefaultBatch = 16;

PictureSet load_pictures(Context& context, const GoldenRunOptions& options,
                         const PictureForm& form) {
  const ArchConfig config = load_config(options);
  const fs::path path = options.input.empty()
                            ? find_input(config.input, "config '" + config.name + "': input")
                            : find_input(options.input);
  return PictureSet({path}, form, context.notes());
}

// Which of them are classified.
struct Part {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

Part part_of(const GoldenRunOptions& options, const PictureSet& pictures) {
  const std::int64_t there = pictures.count();
  Part part{options.index.value_or(0), 0};
  part.count = options.images.value_or(std::max<std::int64_t>(there - part.first, 1));
  if (part.first <= there - part.count) return part;
  throw_bad_input(pictures.files().front().string() + ": pictures " + std::to_string(part.first) +
                  " to " + std::to_string(part.first + part.count - 1) + " are wanted; there are " +
                  std::to_string(there) + ", allowed: 0 to " + std::to_string(there - 1));
}

// Float32 NHWC of all of them. The batch changes no bit: a dynamic range is a picture's own.
Tensor run_all(Context& context, const HybridNetwork& network, const PictureSet& pictures,
               const Part& part, std::int64_t batch, golden::ThreadTeam& team, double& seconds) {
  const golden::RealExecutor executor(network.graph, golden::executor_options(network));
  ImageShape output = network.graph.output_shape();
  output.batch = part.count;
  Tensor all(DType::kFloat32, output.nhwc());
  auto to = all.bytes.begin();
  for (std::int64_t done = 0; done < part.count; done += batch) {
    const std::int64_t now = std::min(batch, part.count - done);
    const Tensor input = pictures.read(part.first + done, now, team);
    const Tensor last = timed(seconds, [&] { return executor.run(input, team); });
    to = std::copy(last.bytes.begin(), last.bytes.end(), to);
    context.progress(report::with_thousands(done + now) + " of " +
                     report::with_thousands(part.count) + " pictures");
  }
  return all;
}

std::vector<double> scores_of(const Tensor& outputs, std::int64_t picture) {
  const auto classes = static_cast<std::size_t>(outputs.shape[3]);
  const auto numbers =
      outputs.as<float>().subspan(static_cast<std::size_t>(picture) * classes, classes);
  return {numbers.begin(), numbers.end()};
}

bool has_classes(const Tensor& outputs) {
  return outputs.shape[1] == 1 && outputs.shape[2] == 1 && outputs.shape[3] > 1;
}

std::int64_t count_correct(const Tensor& outputs, const PictureSet& pictures, const Part& part) {
  std::int64_t correct = 0;
  for (std::int64_t i = 0; i < part.count; ++i) {
    const report::OutputClass best = top_classes(scores_of(outputs, i), true, {}, 1).front();
    correct += best.index == pictures.label(part.first + i) ? 1 : 0;
  }
  return correct;
}

report::SheetTable classes_table(const Tensor& outputs, const PictureForm& form, const Part& part) {
  report::SheetTable table{"classes", {"picture", "class", "name", "probability"}, {}};
  const std::vector<std::string> labels =
      form.sidecar ? form.sidecar->labels : std::vector<std::string>{};
  for (std::int64_t i = 0; i < part.count; ++i) {
    const report::OutputClass best = top_classes(scores_of(outputs, i), true, labels, 1).front();
    table.rows.push_back({part.first + i, best.index, best.label, *best.probability});
  }
  return table;
}

// The output in the model's layout, after Softmax and ArgMax if the model ends with them.
Tensor host_output(const Tensor& outputs, const HostInterface& host) {
  if (!host.flat_output && host.tail.is_empty() && host.layout == HostInterface::Layout::kNhwc)
    return outputs;
  const Shape& s = outputs.shape;
  Tensor result(DType::kFloat32, {s[0], s[3], s[1], s[2]});
  const auto channels = static_cast<std::size_t>(s[3]);
  const auto pixels = static_cast<std::size_t>(s[1] * s[2]);
  for (std::size_t i = 0; i < outputs.as<float>().size(); ++i) {
    const std::size_t pixel = i / channels % pixels;
    const std::size_t to = (i / (channels * pixels) * channels + i % channels) * pixels + pixel;
    result.as<float>()[to] = outputs.as<float>()[i];
  }
  if (host.flat_output || !host.tail.is_empty()) result.shape = {s[0], s[1] * s[2] * s[3]};
  return host.tail.is_empty() ? result : tail_of_reals(std::move(result), host.tail);
}

// What was run.
struct Run {
  std::string path;
  const HybridNetwork& network;
  const PictureSet& pictures;
  const PictureForm& form;
  Part part;
};

// For JSON, or to be printed.
report::Sheet sheet_of(const GoldenRunOptions& options, const Run& run, const Tensor& outputs,
                       double seconds, bool json) {
  const Part& part = run.part;
  report::Sheet sheet;
  sheet.schema = "qsim.golden-run/1";
  sheet.add("model", options.model.empty() ? run.path : options.model);
  sheet.add("mode", std::string(mode_name(mode_of(run.network))));
  sheet.add("input", run.pictures.files().front().string());
  sheet.add("backend", "cpu");
  sheet.add("pictures", part.count);
  sheet.add("batch", std::min(options.batch.value_or(kDefaultBatch), part.count));
  if (has_classes(outputs) && run.pictures.has_labels()) {
    const std::int64_t correct = count_correct(outputs, run.pictures, part);
    sheet.add("top1_correct", correct);
    sheet.add("top1", static_cast<double>(correct) / static_cast<double>(part.count));
  }
  sheet.add("seconds", json ? report::Cell(seconds) : report::Cell(report::seconds_text(seconds)));
  sheet.add("pictures_per_second",
            static_cast<std::int64_t>(static_cast<double>(part.count) / std::max(seconds, 1e-9)));
  if (has_classes(outputs) && part.count <= kShownPictures) {
    sheet.tables.push_back(classes_table(outputs, run.form, part));
  }
  return sheet;
}

}  // namespace

std::shared_ptr<const formats::HeldFile> hybrid_file(const GoldenRunOptions& options) {
  const ArchConfig config = load_config(options);
  if (options.model.empty() && config.model.empty()) return nullptr;  // load_model() says so
  const fs::path path = options.model.empty()
                            ? find_model(config.model, "config '" + config.name + "': model")
                            : find_model(options.model);
  if (path.extension() != ".onnx") return nullptr;
  auto held = std::make_shared<const formats::HeldFile>(path);
  return formats::is_hybrid_onnx(held) ? held : nullptr;
}

ExitCode golden_run_hybrid(Context& context, const GoldenRunOptions& options,
                           const std::shared_ptr<const formats::HeldFile>& held) {
  require_onnx_options(options, held->path().string(), "network that golden runs in float32");
  if (options.backend == "cuda") {
    throw Error(ExitCode::kUsage, "--backend cuda: '" + held->path().string() +
                                      "' has float32 parts, which golden computes on the CPU; "
                                      "leave --backend out");
  }
  const HybridNetwork network = formats::import_hybrid_onnx(held);
  const PictureForm form = picture_form(network.graph, held->path());
  const PictureSet pictures = load_pictures(context, options, form);
  const Part part = part_of(options, pictures);
  golden::ThreadTeam team(0);
  note_fewer_threads(context, 0, team.threads());
  double seconds = 0;
  const Tensor outputs =
      run_all(context, network, pictures, part,
              std::min(options.batch.value_or(kDefaultBatch), part.count), team, seconds);
  if (!options.out.empty()) {
    const fs::path folder = options.out;
    formats::remove_file(folder / kRunFile);  // of `run`: it would speak of another output.npy
    context.write_file(folder / "output.npy", output_npy(host_output(outputs, network.graph.host),
                                                         network.graph.host.tail));
  }
  const auto sheet = [&](bool json) {
    return sheet_of(options, {held->path().string(), network, pictures, form, part}, outputs,
                    seconds, json);
  };
  context.print_both(sheet);
  return ExitCode::kOk;
}

}  // namespace qsim::cli
