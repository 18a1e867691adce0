#include "cli/session/eval/eval_network.h"

#include <algorithm>
#include <filesystem>

#include "cli/host_tensors/classes.h"
#include "cli/session/inputs/file_hash.h"
#include "cli/session/inputs/shipped_files.h"
#include "formats/onnx/importer/real_importer.h"

namespace qsim::cli {
namespace {

namespace fs = std::filesystem;

using Held = std::shared_ptr<const formats::HeldFile>;

std::int64_t classes_of(const std::string& name, const ImageShape& output) {
  if (output.height == 1 && output.width == 1 && output.channels > 1) return output.channels;
  throw_bad_input("model '" + name + "': its output is " + shape_text(output.nhwc()) +
                  "; eval needs a network that ends with a number for each class");
}

// The ONNX file that the options name, where it is a float network; else nothing.
Held float_file(const NetworkRequest& options, const ArchConfig& config) {
  if (options.model.empty() && config.model.empty()) return nullptr;  // load_model() says so
  const fs::path path = options.model.empty()
                            ? find_model(config.model, "config '" + config.name + "': model")
                            : find_model(options.model);
  if (path.extension() != ".onnx") return nullptr;
  const auto held = std::make_shared<const formats::HeldFile>(path);
  return formats::is_float_onnx(held) ? held : nullptr;
}

PictureSet load_pictures(Context& context, const EvalOptions& options, const PictureForm& form) {
  PictureSet pictures({options.data.begin(), options.data.end()}, form, context.notes());
  pictures.require_finite();
  if (options.pictures) pictures.sample(*options.pictures, options.seed);
  return pictures;
}

std::string sidecar_file(const PictureForm& form) {
  return form.sidecar ? form.sidecar->file : std::string();
}

EvalNetwork load_float_network(Context& context, const EvalOptions& options,
                               const NetworkRequest& request, const Held& held) {
  if (!options.rounding.empty()) {
    throw Error(ExitCode::kUsage, "--rounding is of quantized networks; '" + held->path().string() +
                                      "' is a float network; leave --rounding out");
  }
  Graph real = formats::import_real_onnx(held);
  const PictureForm form = picture_form(real, held->path());
  const std::string name = request.model.empty() ? held->path().string() : request.model;
  const std::string hash = model_hash(held);
  const std::int64_t classes = classes_of(name, real.output_shape());
  return {name,         hash,
          std::nullopt, std::move(real),
          "",           hash,
          classes,      sidecar_file(form),
          {},           load_pictures(context, options, form)};
}

EvalNetwork load_network(Context& context, const EvalOptions& options, const std::string& given,
                         const ArchConfig& config) {
  const NetworkRequest request = network_of(options, given);
  if (const Held held = float_file(request, config)) {
    return load_float_network(context, options, request, held);
  }
  Model model = load_model(request, config);
  const PictureForm form = picture_form(model);
  const std::string name = model.name;
  const std::string hash = model.file ? model_hash(model.file) : file_hash(model.path);
  const std::int64_t classes = classes_of(name, model.graph.output_value().shape);
  return {name, hash,    std::move(model),   std::nullopt, "",
          "",   classes, sidecar_file(form), {},           load_pictures(context, options, form)};
}

// The float network of --float, which takes the pictures as the quantized one does.
void add_float(const EvalOptions& options, EvalNetwork& network) {
  const std::string& name = options.float_model;
  if (name.empty()) return;
  const std::vector<std::string>& engines = options.engines;
  if (!engines.empty() && std::ranges::count(engines, kFloatEngine) == 0) {
    throw Error(
        ExitCode::kUsage,
        "--float is of the engine float, which --engines leaves out; add it there, or leave "
        "--float out");
  }
  if (!network.model) {
    throw Error(ExitCode::kUsage, "--float is of a quantized --model; '" + network.name +
                                      "' is a float network itself; leave --float out");
  }
  const auto held = std::make_shared<const formats::HeldFile>(find_model(name));
  network.real = formats::import_real_onnx(held);
  network.real_name = name;
  network.real_hash = model_hash(held);
  ImageShape quantized = network.model->graph.input_value().shape;
  ImageShape real = network.real->input_shape();
  quantized.batch = real.batch = 1;
  const std::int64_t classes = classes_of(name, network.real->output_shape());
  if (quantized == real && classes == network.classes) return;
  throw_bad_input("--float " + name + ": the network takes " + shape_text(real.nhwc()) +
                  " and has " + std::to_string(classes) + " classes; " + network.name + " takes " +
                  shape_text(quantized.nhwc()) + " and has " + std::to_string(network.classes));
}

bool can_have(const EvalNetwork& network, const std::string& engine) {
  return eval_engine_row(engine).is_of_float ? network.real.has_value() : network.model.has_value();
}

// Those of --engines that it can have; without any, those that it can have without more.
std::vector<std::string> engines_of(const EvalNetwork& network, const EvalOptions& options) {
  std::vector<std::string> engines;
  for (const std::string& engine : options.engines) {
    if (can_have(network, engine)) engines.push_back(engine);
  }
  if (engines.empty() && network.model) engines.emplace_back(kGoldenEngine);
  if (engines.empty() || (options.engines.empty() && network.model && network.real)) {
    engines.emplace_back(kFloatEngine);
  }
  return engines;
}

void require_engines(const EvalNetwork& network, const EvalOptions& options) {
  for (const std::string& engine : options.engines) {
    if (can_have(network, engine)) continue;
    throw Error(ExitCode::kUsage,
                network.model ? "--engines float: '" + network.name +
                                    "' is a quantized network; name the float one by --float"
                              : "--engines " + engine + ": '" + network.name +
                                    "' is a float network, whose only engine is float");
  }
}

void add_against(Context& context, const EvalOptions& options, const ArchConfig& config,
                 std::vector<EvalNetwork>& networks) {
  networks.push_back(load_network(context, options, options.against, config));
  EvalNetwork& second = networks.back();
  second.engines = engines_of(second, options);
  if (second.classes == networks.front().classes) return;
  throw_bad_input("--against " + second.name + ": the network has " +
                  std::to_string(second.classes) + " classes; " + networks.front().name + " has " +
                  std::to_string(networks.front().classes));
}

}  // namespace

std::vector<EvalNetwork> load_eval_networks(Context& context, const EvalOptions& options,
                                            const ArchConfig& config) {
  std::vector<EvalNetwork> networks;
  networks.push_back(load_network(context, options, options.model, config));
  EvalNetwork& first = networks.front();
  add_float(options, first);
  require_engines(first, options);
  first.engines = engines_of(first, options);
  if (!options.against.empty()) {
    add_against(context, options, config, networks);
  } else if (!first.pictures.has_labels() && first.engines.size() == 1) {
    throw Error(ExitCode::kUsage,
                "the pictures of --data have no labels, so one engine alone has nothing to be "
                "compared with; give labels, several --engines, or --against");
  }
  return networks;
}

}  // namespace qsim::cli
