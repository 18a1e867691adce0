#include "cli/session/named_layer.h"

#include <algorithm>

#include "core/error.h"
#include "core/nearest_name.h"
#include "core/printable.h"

namespace qsim {
namespace {

[[noreturn]] void unknown_layer(const std::string& name, const std::string& option,
                                const std::string& model, const Graph& graph) {
  std::vector<std::string_view> names;
  std::string list;
  for (const Layer& layer : graph.layers) {
    names.push_back(layer.name);
    list += (list.empty() ? "" : ", ") + echoed(layer.name);
  }
  const std::string nearest(nearest_name(name, names));
  const std::string hint = nearest.empty() ? "." : "; did you mean '" + echoed(nearest) + "'?";
  throw_bad_input(option + " '" + echoed(name) + "' is not a layer of '" + echoed(model) + "'" +
                  hint + " Its layers: " + list);
}

}  // namespace

std::size_t layer_named(const std::string& name, const std::string& option,
                        const std::string& model, const Graph& graph) {
  const auto found = std::find_if(graph.layers.begin(), graph.layers.end(),
                                  [&](const Layer& layer) { return layer.name == name; });
  if (found == graph.layers.end()) unknown_layer(name, option, model, graph);
  return static_cast<std::size_t>(found - graph.layers.begin());
}

std::size_t program_layer_of(std::size_t graph_layer, const Program& program) {
  // The ofmap of a program layer is the output of the last graph layer that runs in it.
  const auto runs_in =
      std::find_if(program.layers.begin(), program.layers.end(), [&](const ProgramLayer& layer) {
        return layer.graph_layer >= static_cast<std::int32_t>(graph_layer);
      });
  QSIM_CHECK(runs_in != program.layers.end(),
             "graph layer " + std::to_string(graph_layer) + " runs in no program layer");
  return static_cast<std::size_t>(runs_in - program.layers.begin());
}

}  // namespace qsim
