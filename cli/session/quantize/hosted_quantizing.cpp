#include "cli/session/quantize/hosted_quantizing.h"

#include <algorithm>
#include <set>

#include "cli/session/inputs/host_samples.h"
#include "cli/session/inputs/hosted_model.h"
#include "cli/session/quantize/hosted_result.h"
#include "cli/session/quantize/quantize_files.h"
#include "cli/session/quantize/scheme.h"
#include "cli/terminal/usage_error.h"
#include "formats/files/files.h"
#include "formats/files/memory.h"
#include "formats/onnx/exporter/host_exporter.h"
#include "formats/onnx/importer/host_importer.h"
#include "formats/onnx/importer/real_importer.h"
#include "golden/host/host_costs.h"
#include "golden/host/host_executor.h"
#include "quantize/hosted/host_folding.h"
#include "quantize/hosted/host_opset.h"
#include "report/text_table.h"

namespace qsim::cli {

using report::with_thousands;
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostMeasured = 32;  // samples of both networks side by side
constexpr const char* kNextConfig = "pe16x16_dyadic";

// The configuration of the next command.
std::string config_of(const QuantizeOptions& options) {
  return options.config_given ? options.config : kNextConfig;
}

// Options of networks that a Graph holds. `refusal` begins with the file.
void refuse_options(const QuantizeOptions& options, const Error& refusal) {
  const auto refuse = [&](bool is_given, const char* option) {
    if (!is_given) return;
    usage_error(std::string(option) +
                " is of networks that the array runs alone; leave it out, or take a network "
                "without what the array lacks: " +
                refusal.what());
  };
  refuse(options.form_given && options.form == "qoperator", "--form qoperator");
  refuse(options.weight_rounding != "nearest", "--weight-rounding");
  refuse(options.bias_correction, "--bias-correction");
  refuse(options.equalize, "--equalize");
  refuse(!options.mixed_precision.empty(), "--mixed-precision");
  refuse(!options.scales.empty(), "--scales");
  refuse(!options.report.empty(), "--report");
}

class HostedQuantizing {
 public:
  HostedQuantizing(Context& context, const QuantizeOptions& options, const Error& refusal)
      : context_(context),
        own_(options),
        refusal_(refusal),
        team_(static_cast<int>(own_.threads)),
        data_(own_.calibrate.begin(), own_.calibrate.end()) {}

  HostedResult run() {
    phase("import", [&] { import(); });
    phase("calibrate", [&] { calibrate(); });
    phase("quantize", [&] { quantize_network(); });
    phase("measure", [&] { measure(); });
    phase("write", [&] {
      result_.bytes = formats::onnx_bytes(result_.quantized.network, result_.errors.outputs);
    });
    return std::move(result_);
  }

 private:
  template <typename Work>
  void phase(const char* name, Work work) {
    double taken = 0;
    timed(taken, work);
    result_.seconds.emplace_back(name, taken);
  }

  void import() {
    const auto held = std::make_shared<const formats::HeldFile>(own_.model);
    HostNetwork network = read_network(held);
    if (!formats::is_float_onnx(held)) throw Error(refusal_);
    refuse_options(own_, refusal_);
    golden::fold_and_shape(network);
    for (const HostValueId id : network.inputs) {
      if (network.values[id].array.has_shape()) continue;
      throw_bad_input(own_.model + ": input '" + network.values[id].name +
                      "' has dimensions without a number; expected samples as .npy, which have "
                      "them");
    }
    network = quantize::at_opset_13(quantize::folded_network(std::move(network)));
    golden::fold_and_shape(network);
    result_.network = std::move(network);
    result_.plan = quantize::plan_quantization(result_.network);
    if (result_.plan.groups.empty()) {
      throw_unsupported(own_.model +
                        ": nothing to quantize: no convolution, product, sum or "
                        "average pool of float32 tensors");
    }
    result_.scheme =
        scheme_of_options(own_, quantize::layers_of_plan(result_.network, result_.plan));
    samples_->open(result_.network, own_.model, context_.notes());
    require_files(context_, own_);
    if (samples_->count() > own_.pictures) samples_->sample(own_.pictures, own_.seed);
    result_.samples = samples_->count();
    formats::require_memory(bytes_of_runs(), own_.model);
  }

  // Of both networks, side by side in each thread; constants are there once.
  std::int64_t bytes_of_runs() const {
    std::int64_t constants = 0;
    std::int64_t others = 0;
    for (const HostValue& value : result_.network.values) {
      (value.array.has_values() ? constants : others) += golden::value_bytes(value);
    }
    return 2 * (constants + team_.threads() * others);
  }

  // With the shapes that the samples give, where the file leaves them open.
  HostNetwork read_network(const std::shared_ptr<const formats::HeldFile>& held) {
    result_.float_bytes = held->bytes();
    std::set<fs::path> counted;  // many tensors may lie in one file
    const auto on_external = [&](const fs::path& file) {
      if (counted.insert(file).second) result_.float_bytes += formats::file_bytes(file);
    };
    HostNetwork network = formats::import_host_network(held, {}, on_external);
    std::vector<std::string> names;
    bool is_open = false;
    for (const HostValueId id : network.inputs) {
      names.push_back(network.values[id].name);
      is_open = is_open || !network.values[id].array.has_shape();
    }
    samples_.emplace(data_, names);
    if (!is_open || samples_->shapes().empty()) return network;
    formats::HostImportOptions with_shapes;
    with_shapes.shapes = samples_->shapes();
    return formats::import_host_network(held, with_shapes, on_external);
  }

  quantize::HostSamples samples() const {
    return {result_.samples, [&](std::int64_t sample) { return samples_->read(sample); }};
  }

  quantize::SampleProgress progress(const char* what, std::int64_t all) {
    return [this, what, all](std::int64_t done) {
      context_.progress(std::string(what) + ": " + with_thousands(done) + " of " +
                        with_thousands(all) + " pictures");
    };
  }

  void calibrate() {
    std::vector<HostValueId> wanted;
    for (const quantize::HostPlan::Group& group : result_.plan.groups) {
      wanted.insert(wanted.end(), group.roots.begin(), group.roots.end());
    }
    result_.statistics = quantize::calibrate_host(result_.network, wanted, samples(), team_,
                                                  progress("calibrating", result_.samples));
    for (const HostValueId id : wanted) {
      const quantize::TensorStatistics& own = result_.statistics[id];
      const auto& inputs = result_.network.inputs;
      if (own.min < own.max || std::ranges::find(inputs, id) == inputs.end()) continue;
      throw_bad_input("the calibration pictures have one value alone, " + std::to_string(own.min) +
                      " after preprocessing; expected pictures");
    }
  }

  void quantize_network() {
    result_.groups = quantize::quantize_groups(result_.network, result_.plan, result_.statistics,
                                               result_.scheme);
    result_.quantized =
        quantize::qdq_network(result_.network, result_.plan, result_.groups, result_.scheme);
  }

  void measure() {
    quantize::QdqNetwork shaped = result_.quantized;
    golden::fold_and_shape(shaped.network);
    result_.measured = std::min(kMostMeasured, result_.samples);
    result_.errors = quantize::measure_host(result_.network, shaped, samples(), result_.measured,
                                            team_, progress("measuring", result_.measured));
  }

  Context& context_;
  const QuantizeOptions& own_;
  const Error& refusal_;
  golden::ThreadTeam team_;
  std::vector<fs::path> data_;
  std::optional<HostSampleSet> samples_;
  HostedResult result_;
};

// What the next command takes as its input.
std::string input_word(const QuantizeOptions& options, const HostNetwork& network) {
  if (network.inputs.size() > 1) return "FOLDER";
  const auto picture = host_picture(network.values[network.inputs[0]], options.model);
  const bool takes_pictures = picture && picture->form.sidecar && picture->shape[0] == 1;
  return takes_pictures ? "PICTURE" : "INPUT.npy";
}

}  // namespace

std::string next_command(const QuantizeOptions& options, const std::string& input) {
  return "next: qsim run --config " + config_of(options) + " --model " + options.out + " --input " +
         input + "\n";
}

ExitCode quantize_hosted(Context& context, const QuantizeOptions& options, const Error& refusal) {
  const std::string name = config_of(options);
  ArchConfig config = load_config(context, {name, options.config_given});
  config.requantizer = RequantizerKind::kDyadic;  // as `run` takes it where it must
  HostedResult result = HostedQuantizing(context, options, refusal).run();
  const auto file = context.begin_file(options.out, formats::FileReplacement::Writer::kOwn);
  file->write(result.bytes);
  result.share = host_share(file->temporary(), config);
  const std::string note = host_note(result, name);
  if (!note.empty()) context.note(note);
  context.keep_file(*file);
  write_sidecar(context, options);
  context.print_both([&](bool json) { return hosted_sheet(result, options, json); });
  context.print("\n" + next_command(options, input_word(options, result.network)));
  return ExitCode::kOk;
}

}  // namespace qsim::cli
