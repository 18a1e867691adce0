#include "cli/session/inputs/hosted_steps.h"

#include <algorithm>
#include <utility>

#include "cli/host_tensors/host_layout.h"
#include "cli/session/inputs/host_samples.h"
#include "cli/session/inputs/input_source.h"
#include "cli/session/inputs/shipped_files.h"
#include "cli/terminal/context.h"
#include "core/base/words.h"
#include "core/network/graph_shapes.h"
#include "formats/files/files.h"
#include "formats/files/memory.h"
#include "formats/onnx/importer/host_importer.h"
#include "formats/traces/npy.h"
#include "golden/host/host_costs.h"

namespace qsim::cli {

namespace {

// As the network's one input, if its sidecar says how.
Tensor read_picture(const std::filesystem::path& model, const std::filesystem::path& path) {
  const HostNetwork network =
      formats::import_host_network(std::make_shared<const formats::HeldFile>(model), {}, {});
  const auto picture = host_picture(network.values[network.inputs[0]], model);
  if (!picture || !picture->form.sidecar || picture->shape[0] != 1) {
    throw_bad_input(path.string() +
                    ": is no .npy; expected one with the input as the file declares it, since the "
                    "network does not say how a picture becomes it");
  }
  return picture_input(PictureSet({path}, picture->form, {}), *picture, 0);
}

HostInput read_input_file(const std::filesystem::path& path) {
  return {formats::read_host_npy(path), path.string()};
}

HostInputs read_inputs(const NetworkRequest& request, const std::string& input,
                       const ArchConfig& config) {
  if (input.empty()) {
    throw Error(ExitCode::kUsage,
                "the network needs an --input: a .npy, or a folder with NAME.npy for each of its "
                "inputs");
  }
  const std::filesystem::path model =
      find_model(request.model.empty() ? config.model : request.model);
  const std::vector<std::string> names =
      formats::input_names(std::make_shared<const formats::HeldFile>(model));
  const std::filesystem::path path = find_input(input);
  HostInputs tensors;
  if (formats::is_folder(path)) {
    for (const std::string& name : names) tensors[name] = read_input_file(path / npy_name(name));
    return tensors;
  }
  if (names.size() != 1) {
    throw_bad_input(path.string() + ": one tensor; the network has the inputs " + joined(names) +
                    "; expected a folder with NAME.npy for each");
  }
  tensors[names[0]] = path.extension() == ".npy"
                          ? read_input_file(path)
                          : HostInput{read_picture(model, path), path.string()};
  return tensors;
}

}  // namespace

HostInputs read_host_inputs(const NetworkRequest& request, const std::string& input,
                            const ArchConfig& config, const std::function<void()>& judge) {
  try {
    return read_inputs(request, input, config);
  } catch (const Error&) {
    judge();
    throw;
  }
}

std::map<std::string, Shape> shapes_of(const HostInputs& inputs) {
  std::map<std::string, Shape> shapes;
  for (const auto& [name, input] : inputs) shapes[name] = input.tensor.shape;
  return shapes;
}

HostedSteps::HostedSteps(const HostedModel& model, std::optional<HostInputs> inputs)
    : hosted_(model.hosted), has_data_(inputs.has_value()), host_(model.hosted.network) {
  if (!inputs) return;
  formats::require_memory(golden::run_bytes(hosted_.network), model.name + ", on the host");
  for (const HostValueId id : hosted_.network.inputs) {
    HostInput& input = inputs->at(hosted_.network.values[id].name);
    try {
      host_.set(id, std::move(input.tensor));
    } catch (const Error& error) {
      throw Error(error.code(), input.source + ": " + error.what());
    }
  }
}

void HostedSteps::run(const RunPart& run_part) {
  const HostNetwork& network = hosted_.network;
  for (const HostedNetwork::Step& step : hosted_.steps) {
    if (!step.is_array) {
      if (!has_data_) continue;
      timed(seconds_, [&] { host_.run(network.nodes[hosted_.host_steps[step.index].node]); });
      continue;
    }
    const ArrayPart& part = hosted_.parts[step.index];
    const InputForm form = input_form(part.graph);
    const OutputForm output = output_form(part.graph);
    const Tensor input =
        has_data_ ? input_of(part, form) : shape_alone(form.value.dtype, form.value.shape.nhwc());
    const std::optional<Tensor> last = run_part(step.index, input);
    if (!last) continue;
    Tensor levels = output_to_host(*last, output, false);
    levels.shape = network.values[part.output].array.tensor.shape;
    host_.set(part.output, std::move(levels));
  }
}

// Of more axes than pictures and vectors have, the graph takes those before the last as rows, or
// lines as pictures of height 1.
Tensor HostedSteps::input_of(const ArrayPart& part, const InputForm& form) const {
  Tensor levels = host_.get(part.input);
  const ImageShape& shape = form.value.shape;
  if (levels.shape.size() != 2 && levels.shape.size() != 4) {
    levels.shape = {shape.batch, shape.channels, shape.height, shape.width};
  }
  return input_from_host(levels, form, hosted_.network.values[part.input].name);
}

const Tensor& HostedSteps::output(std::size_t index) const {
  return host_.get(hosted_.network.outputs[index]);
}

}  // namespace qsim::cli
