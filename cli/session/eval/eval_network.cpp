#include "cli/session/eval/eval_network.h"

#include <filesystem>

#include "cli/host_tensors/classes.h"
#include "cli/session/inputs/file_hash.h"
#include "cli/terminal/output_files.h"

namespace qsim {
namespace {

std::vector<std::filesystem::path> data_paths(const Options& options) {
  std::vector<std::filesystem::path> paths(options.eval.data.begin(), options.eval.data.end());
  for (const std::filesystem::path& path : paths) {
    require_not_written(options, path, "the pictures");
  }
  return paths;
}

std::int64_t classes_of(const Model& model) {
  const OutputForm form = output_form(model.graph);
  if (has_classes(form)) return form.value.shape.channels;
  throw_bad_input("model '" + model.name + "': its output is " +
                  shape_text(form.value.shape.nhwc()) +
                  "; eval needs a network that ends with a number for each class");
}

EvalNetwork load_network(Context& context, const Options& options, const ArchConfig& config) {
  Options one = options;
  one.batch.reset();  // the engines choose it
  Model model = load_model(one, config);
  const std::int64_t classes = classes_of(model);
  PictureSet pictures(data_paths(options), picture_form(model),
                      [&context](const std::string& line) { context.note(line); });
  if (options.eval.pictures) pictures.sample(*options.eval.pictures, options.seed);
  std::string name = model.name;
  std::string hash = model.file ? file_hash(*model.file) : file_hash(model.path);
  return {std::move(name), std::move(hash), std::move(model), classes, std::move(pictures)};
}

}  // namespace

std::vector<EvalNetwork> load_eval_networks(Context& context, const ArchConfig& config) {
  const Options& options = context.options();
  std::vector<EvalNetwork> networks;
  networks.push_back(load_network(context, options, config));
  const EvalNetwork& first = networks.front();
  if (!options.eval.against.empty()) {
    Options against = options;
    against.model = options.eval.against;
    networks.push_back(load_network(context, against, config));
    if (networks[1].classes != networks[0].classes) {
      throw_bad_input("--against " + networks[1].name + ": the network has " +
                      std::to_string(networks[1].classes) + " classes; " + networks[0].name +
                      " has " + std::to_string(networks[0].classes));
    }
  } else if (!first.pictures.has_labels() && engines_of(first, options).size() == 1) {
    throw Error(ExitCode::kUsage,
                "the pictures of --data have no labels, so one engine alone has nothing to be "
                "compared with; give labels, several --engines, or --against");
  }
  return networks;
}

std::vector<std::string> engines_of(const EvalNetwork& /*network*/, const Options& options) {
  if (!options.eval.engines.empty()) return options.eval.engines;
  return {"golden"};
}

}  // namespace qsim
