#include "cli/session/eval/eval_network.h"

#include <algorithm>
#include <filesystem>

#include "cli/host_tensors/classes.h"
#include "cli/session/inputs/file_hash.h"
#include "cli/session/inputs/shipped_files.h"
#include "formats/onnx/importer/hosted_importer.h"
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
  if (model_name(options, config).empty()) return nullptr;  // load_model() says so
  const fs::path path = model_path(options, config);
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

EvalNetwork hosted_network(Context& context, const EvalOptions& options,
                           HostedClassifier classifier, bool is_float) {
  const std::string name = classifier.model.name;
  const std::string hash = model_hash(classifier.model.file);
  const PictureForm form = classifier.form;
  const ArchConfig array = classifier.model.config;
  const std::int64_t classes = classifier.classes;
  const HostedNetwork& hosted = classifier.model.hosted;
  context.note(name + ": the array runs " + std::to_string(hosted.parts.size()) +
               " parts, a host the other " + std::to_string(hosted.host_steps.size()) + " nodes");
  return {name,
          hash,
          std::nullopt,
          std::nullopt,
          "",
          is_float ? hash : "",
          classes,
          sidecar_file(form),
          {},
          load_pictures(context, options, form),
          std::move(classifier),
          array};
}

// A float network with operators that the float graph lacks.
EvalNetwork load_float_on_host(Context& context, const EvalOptions& options,
                               const NetworkRequest& request, const ArchConfig& config) {
  const auto load = [&](const std::map<std::string, Shape>& shapes) {
    return load_on_host(request, config, shapes);
  };
  return hosted_network(context, options, load_classifier(request, config, load), true);
}

EvalNetwork load_with_host(Context& context, const EvalOptions& options,
                           const NetworkRequest& request, const ArchConfig& config) {
  formats::require_hosted_form(
      std::make_shared<const formats::HeldFile>(model_path(request, config)));
  const auto load = [&](const std::map<std::string, Shape>& shapes) {
    return load_hosted(context, request, options, config, shapes);
  };
  return hosted_network(context, options, load_classifier(request, config, load), false);
}

EvalNetwork load_model_network(Context& context, const EvalOptions& options,
                               const NetworkRequest& request, const ArchConfig& config) {
  Model model = load_model(request, config);
  ArchConfig array = config;
  const bool has_program = std::ranges::any_of(options.engines, [](const std::string& engine) {
    return eval_engine_row(engine).runs_program;
  });
  if (has_program && takes_dyadic(model.kind)) {
    const auto runs = array_for(context, request, options, config, model.graph);
    if (!runs && may_have_host(model.kind, options)) {
      return load_with_host(context, options, request, config);
    }
    array = runs.value_or(config);
  }
  const PictureForm form = picture_form(model);
  const std::string name = model.name;
  const std::string hash = model.file ? model_hash(model.file) : file_hash(model.path);
  const std::int64_t classes = classes_of(name, model.graph.output_value().shape);
  return {name,
          hash,
          std::move(model),
          std::nullopt,
          "",
          "",
          classes,
          sidecar_file(form),
          {},
          load_pictures(context, options, form),
          std::nullopt,
          array};
}

// load_model() says what is wrong with no name.
ModelKind eval_kind(const NetworkRequest& request, const ArchConfig& config) {
  if (model_name(request, config).empty()) return ModelKind::kWorkload;
  return model_kind(model_path(request, config));
}

EvalNetwork load_network(Context& context, const EvalOptions& options, const std::string& given,
                         const ArchConfig& config) {
  const NetworkRequest request = network_of(options, given);
  const Held held = float_file(request, config);
  const ModelKind kind = eval_kind(request, config);
  if (!held && kind == ModelKind::kOnnx && options.as == kAsOnnxRuntime) {
    return load_with_host(context, options, request, config);
  }
  try {
    return held ? load_float_network(context, options, request, held)
                : load_model_network(context, options, request, config);
  } catch (const Error& error) {
    if (error.code() != ExitCode::kUnsupportedModel || !may_have_host(kind, options)) throw;
  }
  return held ? load_float_on_host(context, options, request, config)
              : load_with_host(context, options, request, config);
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
  if (network.hosted) {
    throw Error(ExitCode::kUsage, "--float is of networks without a host; '" + network.name +
                                      "' has one; name the float network by --against");
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

bool is_float(const EvalNetwork& network) {
  return !network.model && (!network.hosted || !network.real_hash.empty());
}

bool can_have(const EvalNetwork& network, const std::string& engine) {
  if (network.hosted) {
    return is_float(network) ? engine == kFloatEngine : !eval_engine_row(engine).is_real;
  }
  return eval_engine_row(engine).is_of_float ? network.real.has_value() : network.model.has_value();
}

// Those of --engines that it can have; without any, those that it can have without more.
std::vector<std::string> engines_of(const EvalNetwork& network, const EvalOptions& options) {
  std::vector<std::string> engines;
  for (const std::string& engine : options.engines) {
    if (can_have(network, engine)) engines.push_back(engine);
  }
  if (engines.empty() && !is_float(network)) engines.emplace_back(kGoldenEngine);
  if (engines.empty() || (options.engines.empty() && network.model && network.real)) {
    engines.emplace_back(kFloatEngine);
  }
  return engines;
}

void require_engines(const EvalNetwork& network, const EvalOptions& options) {
  for (const std::string& engine : options.engines) {
    if (can_have(network, engine)) continue;
    if (network.hosted && !is_float(network)) {
      throw Error(ExitCode::kUsage, "--engines " + engine + ": '" + network.name +
                                        "' is a quantized network with a host; its engines are "
                                        "golden and systemc");
    }
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
