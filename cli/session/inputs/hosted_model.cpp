#include "cli/session/inputs/hosted_model.h"

#include <algorithm>
#include <charconv>

#include "cli/session/inputs/remedies.h"
#include "cli/session/inputs/shipped_files.h"
#include "cli/terminal/usage_error.h"
#include "compiler/compile.h"
#include "core/base/limits.h"
#include "core/base/printable.h"
#include "core/base/words.h"
#include "formats/onnx/importer/hosted_importer.h"
#include "golden/host/host_executor.h"
#include "golden/host/levels_function.h"

namespace qsim::cli {

void declare_host(Declarations& declared, HostOptions& options) {
  declared.begin_group(kNetworkGroup);
  declared.flag("--no-host", options.no_host,
                "refuse an ONNX file of which the array cannot run all");
  declared.flag("--strict", options.strict,
                "refuse an ONNX file whose scales the configuration's requantizer does not have");
  declared.word("--as", options.as, {"integer", kAsOnnxRuntime},
                "how nodes run that ONNX Runtime runs in float32 although the file quantizes what "
                "is around them: as integers on the array, or in float32 on the host");
  declared.end_group();
  declared.check([&] {
    if (options.no_host && options.as == kAsOnnxRuntime) {
      usage_error("--as onnxruntime runs operators on the host; leave --no-host out");
    }
    if (options.no_host && !options.shapes.empty()) {
      usage_error("--shape is of networks with a host; leave --no-host out");
    }
  });
}

void declare_shapes(Declarations& declared, ShapeOptions& options) {
  declared.begin_group(kNetworkGroup);
  declared
      .repeated("--shape", options.shapes,
                "the shape of an ONNX file's input that leaves sizes open, such as x=1x3x640x640")
      .called("NAME=SIZES");
  declared.end_group();
  declared.check([&] { static_cast<void>(asked_shapes(options)); });
}

namespace {

[[noreturn]] void refuse_shape(const std::string& given) {
  usage_error("--shape '" + echoed(given) + "'; expected NAME=SIZES, such as x=1x3x640x640");
}

Shape shape_of_text(const std::string& given, std::string_view text) {
  Shape shape;
  while (true) {
    std::int64_t size = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc() || size < 1 || size > kMaxTensorElems) refuse_shape(given);
    shape.push_back(size);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) return shape;
    if (text.front() != 'x') refuse_shape(given);
    text.remove_prefix(1);
  }
}

}  // namespace

std::map<std::string, Shape> asked_shapes(const ShapeOptions& options) {
  std::map<std::string, Shape> shapes;
  for (const std::string& given : options.shapes) {
    const std::size_t at = given.rfind('=');
    if (at == std::string::npos || at == 0) refuse_shape(given);
    const Shape shape = shape_of_text(given, std::string_view(given).substr(at + 1));
    if (!shapes.emplace(given.substr(0, at), shape).second) {
      usage_error("--shape names '" + echoed(given.substr(0, at)) + "' twice");
    }
  }
  return shapes;
}

namespace {

// Those of `shapes`, and those that the options ask for.
std::map<std::string, Shape> with_asked(const std::shared_ptr<const formats::HeldFile>& file,
                                        const ShapeOptions& options,
                                        std::map<std::string, Shape> shapes) {
  std::map<std::string, Shape> asked = asked_shapes(options);
  const std::vector<std::string> names =
      asked.empty() ? std::vector<std::string>() : formats::input_names(file);
  for (auto& [name, shape] : asked) {
    if (std::ranges::find(names, name) == names.end()) {
      usage_error("--shape: the network has no input '" + echoed(name) + "'; it has " +
                  joined(names));
    }
    shapes.try_emplace(name, std::move(shape));
  }
  return shapes;
}

std::string refusal_of(const Graph& graph, const ArchConfig& config) {
  compiler::CompileOptions asked;
  asked.remedies = remedies_without_snap();
  const compiler::Refusals refusals = compiler::refusals_of(graph, config, asked);
  return refusals.empty() ? std::string() : refusals.front().reason;
}

ModelKind kind_of(const NetworkRequest& request, const ArchConfig& config) {
  return model_kind(model_path(request, config));
}

void require_onnx(const NetworkRequest& request, const ArchConfig& config, const char* option) {
  if (kind_of(request, config) == ModelKind::kOnnx) return;
  usage_error(std::string(option) + " is of ONNX files; '" + echoed(model_name(request, config)) +
              "' is not an ONNX file");
}

bool is_of_whole_network(const NetworkRequest& request) {
  return request.layers.empty() && request.layer.empty() && !request.snap;
}

std::optional<ArchConfig> dyadic_of(const ArchConfig& config) {
  if (config.requantizer == RequantizerKind::kDyadic) return std::nullopt;
  ArchConfig wider = config;
  wider.requantizer = RequantizerKind::kDyadic;
  return wider;
}

void note_dyadic(Context& context, const NetworkRequest& request, const ArchConfig& config) {
  context.note(model_name(request, config) +
               ": has scales that are not powers of two; the array is " + config.name +
               " with requantizer: dyadic (--strict refuses instead)");
}

HostedModel model_file(const NetworkRequest& request, const ArchConfig& config) {
  HostedModel model;
  model.name = model_name(request, config);
  model.path = model_path(request, config);
  model.file = std::make_shared<const formats::HeldFile>(model.path);
  model.config = config;
  return model;
}

// Throws Error (exit code 2) for a shape that an input of the file cannot have.
void require_shapes(const HostNetwork& network, const std::map<std::string, Shape>& asked) {
  for (const HostValueId id : network.inputs) {
    const HostValue& input = network.values[id];
    const auto found = asked.find(input.name);
    if (found == asked.end() ||
        (input.array.has_shape() && input.array.tensor.shape == found->second)) {
      continue;
    }
    usage_error("--shape: '" + echoed(input.name) + "' cannot be " + shape_text(found->second) +
                (input.array.has_shape() ? "; the file has " + shape_text(input.array.tensor.shape)
                                         : "; the file has another number of sizes"));
  }
}

// Throws Error (exit code 2) for a number of pictures that no input of the file takes.
void require_batch(const HostNetwork& network, std::optional<std::int64_t> batch) {
  if (!batch) return;
  const bool is_taken = std::ranges::any_of(network.inputs, [&](HostValueId id) {
    const HostArray& input = network.values[id].array;
    return !input.has_shape() || (!input.tensor.shape.empty() && input.tensor.shape[0] == *batch);
  });
  if (!is_taken)
    usage_error("--batch " + std::to_string(*batch) + ": the file fixes another batch");
}

HostedModel import_model(const NetworkRequest& request, const HostOptions& options,
                         const ArchConfig& config, const std::map<std::string, Shape>& shapes,
                         bool& wants_dyadic) {
  HostedModel model = model_file(request, config);
  formats::HostedOptions how;
  how.import.rounding = asked_rounding(request);
  how.host.batch = request.batch.value_or(1);
  how.host.shapes = with_asked(model.file, options, shapes);
  how.as_onnxruntime = options.as == kAsOnnxRuntime;
  how.fold_and_shape = golden::fold_and_shape;
  how.levels_function = golden::levels_function;
  const std::optional<ArchConfig> wider = dyadic_of(config);
  how.refusal = [&](const Graph& graph) {
    const std::string reason = refusal_of(graph, config);
    if (!reason.empty() && wider && refusal_of(graph, *wider).empty()) wants_dyadic = true;
    return reason;
  };
  model.hosted = formats::import_hosted(model.file, how);
  require_shapes(model.hosted.network, asked_shapes(options));
  require_batch(model.hosted.network, request.batch);
  return model;
}

}  // namespace

const std::string& model_name(const NetworkRequest& request, const ArchConfig& config) {
  return request.model.empty() ? config.model : request.model;
}

std::filesystem::path model_path(const NetworkRequest& request, const ArchConfig& config) {
  return request.model.empty() ? find_model(config.model, "config '" + config.name + "': model")
                               : find_model(request.model);
}

bool gives_shapes(const NetworkRequest& request, const ArchConfig& config,
                  const ShapeOptions& options) {
  if (options.shapes.empty()) return false;
  require_onnx(request, config, "--shape");
  if (request.batch) usage_error("--shape has the batch; leave --batch out");
  if (request.snap) usage_error("--snap is of networks without a host; leave --shape out");
  return true;
}

bool may_have_host(ModelKind kind, const HostOptions& options) {
  return kind == ModelKind::kOnnx && !options.no_host;
}

bool takes_dyadic(ModelKind kind) {
  return kind == ModelKind::kOnnx || kind == ModelKind::kWorkload;
}

ExitCode run_as_it_can(Context& context, const NetworkRequest& request, const HostOptions& options,
                       const ArchConfig& config,
                       const std::function<ExitCode(const ArchConfig&)>& run,
                       const std::function<ExitCode()>& run_hosted) {
  const auto with_host = [&] {
    formats::require_hosted_form(
        std::make_shared<const formats::HeldFile>(model_path(request, config)));
    return run_hosted();
  };
  if (gives_shapes(request, config, options)) return with_host();
  if (options.as == kAsOnnxRuntime) {
    require_onnx(request, config, "--as");
    return with_host();
  }
  try {
    return run(config);
  } catch (const Error& error) {
    if (error.code() != ExitCode::kUnsupportedModel || request.snap) throw;
    const ModelKind kind = kind_of(request, config);
    if (!takes_dyadic(kind)) throw;
    const std::optional<ArchConfig> wider = options.strict ? std::nullopt : dyadic_of(config);
    if (wider) {
      try {
        const ExitCode code = run(*wider);
        note_dyadic(context, request, config);
        return code;
      } catch (const Error& again) {
        if (again.code() != ExitCode::kUnsupportedModel) throw;
      }
    }
    if (!may_have_host(kind, options) || !is_of_whole_network(request)) throw;
  }
  return with_host();
}

void refuse_with_host(const NetworkRequest& request, const ArchConfig& config,
                      const std::vector<GivenOption>& options) {
  for (const auto& [is_given, option] : options) {
    if (!is_given) continue;
    usage_error(std::string(option) + " is of networks that the array runs alone; of '" +
                echoed(model_name(request, config)) +
                "' it runs parts (`qsim inspect` shows them)");
  }
}

HostedModel load_hosted(Context& context, const NetworkRequest& request, const HostOptions& options,
                        const ArchConfig& config, const std::map<std::string, Shape>& shapes) {
  bool wants_dyadic = false;
  HostedModel model = import_model(request, options, config, shapes, wants_dyadic);
  if (!wants_dyadic) return model;
  if (options.strict) {
    throw_unsupported(model.path.string() + ": has scales that are not powers of two; '" +
                      config.name + "' has requantizer: shift; leave --strict out, or take " +
                      "requantizer: dyadic");
  }
  note_dyadic(context, request, config);
  return import_model(request, options, *dyadic_of(config), shapes, wants_dyadic);
}

HostedNetwork host_share(const std::filesystem::path& file, const ArchConfig& config) {
  const auto held = std::make_shared<const formats::HeldFile>(file);
  try {
    ArrayPart whole;
    whole.graph = formats::import_onnx(held);
    if (refusal_of(whole.graph, config).empty()) {
      HostedNetwork alone;
      alone.parts.push_back(std::move(whole));
      return alone;
    }
  } catch (const Error& error) {
    if (error.code() != ExitCode::kUnsupportedModel) throw;
  }
  formats::HostedOptions how;
  how.fold_and_shape = golden::fold_and_shape;
  how.levels_function = golden::levels_function;
  how.refusal = [&](const Graph& graph) { return refusal_of(graph, config); };
  return formats::import_hosted(held, how);
}

HostedModel load_on_host(const NetworkRequest& request, const ArchConfig& config,
                         const std::map<std::string, Shape>& shapes) {
  HostedModel model = model_file(request, config);
  formats::HostedOptions how;
  how.host.shapes = shapes;
  how.fold_and_shape = golden::fold_and_shape;
  model.hosted = formats::import_on_host(model.file, how);
  return model;
}

std::optional<ArchConfig> array_for(Context& context, const NetworkRequest& request,
                                    const HostOptions& options, const ArchConfig& config,
                                    const Graph& graph) {
  if (refusal_of(graph, config).empty()) return config;
  const std::optional<ArchConfig> wider = options.strict ? std::nullopt : dyadic_of(config);
  if (!wider || !refusal_of(graph, *wider).empty()) return std::nullopt;
  note_dyadic(context, request, config);
  return wider;
}

bool runs_alone(const Graph& graph, const ArchConfig& config) {
  const std::optional<ArchConfig> wider = dyadic_of(config);
  return refusal_of(graph, config).empty() || (wider && refusal_of(graph, *wider).empty());
}

bool wants_host(const NetworkRequest& request, const ArchConfig& config) {
  if (request.snap || model_name(request, config).empty()) return false;
  if (kind_of(request, config) != ModelKind::kOnnx) return false;
  const ArchConfig wider = dyadic_of(config).value_or(config);
  try {
    if (runs_alone(load_model(request, config).graph, config)) return false;
  } catch (const Error& error) {
    if (error.code() != ExitCode::kUnsupportedModel) throw;
  }
  try {
    return !load_parts_of(request, wider, {}).hosted.parts.empty();
  } catch (const Error& error) {
    if (error.code() != ExitCode::kUnsupportedModel) throw;
    return false;
  }
}

HostedModel load_parts_of(const NetworkRequest& request, const ArchConfig& config,
                          const ShapeOptions& shapes) {
  bool ignored = false;
  return import_model(request, {shapes}, config, {}, ignored);
}

ExitCode run_alone(const NetworkRequest& request, const ArchConfig& config,
                   const std::string& command, const std::function<ExitCode()>& work) {
  try {
    return work();
  } catch (const Error& error) {
    if (error.code() != ExitCode::kUnsupportedModel || !wants_host(request, config)) throw;
  }
  throw_unsupported(
      model_path(request, config).string() +
      ": the array runs parts of it, a host the rest; `qsim " + command +
      "` takes networks that the array runs alone; `qsim run`, `verify`, `eval`, "
      "`golden run`, `profile` and `explain` take this one, and `qsim inspect` shows the parts");
}

}  // namespace qsim::cli
