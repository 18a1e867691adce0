#include "cli/session/inputs/named_layer.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/nearest_name.h"
#include "core/base/printable.h"

namespace qsim::cli {
namespace {

[[noreturn]] void unknown_layer(const std::string& name, const std::string& option,
                                const std::string& model, const Graph& graph,
                                const Program* program) {
  std::vector<std::string_view> names;
  std::string list;
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const std::string& own = graph.layers[i].name;
    names.push_back(own);
    list += (list.empty() ? "" : ", ") + echoed(own);
    if (program == nullptr) continue;
    const std::string& runs_in = program->layers[program_layer_of(i, *program)].name;
    if (runs_in != own) list += " (in " + echoed(runs_in) + ")";
  }
  const std::string nearest(nearest_name(name, names));
  const std::string hint = nearest.empty() ? "." : "; did you mean '" + echoed(nearest) + "'?";
  throw_bad_input(option + " '" + echoed(name) + "' is not a layer of '" + echoed(model) + "'" +
                  hint + " Its layers: " + list);
}

}  // namespace

std::size_t layer_named(const std::string& name, const std::string& option,
                        const std::string& model, const Graph& graph, const Program* program) {
  const auto found = std::find_if(graph.layers.begin(), graph.layers.end(),
                                  [&](const Layer& layer) { return layer.name == name; });
  if (found == graph.layers.end()) unknown_layer(name, option, model, graph, program);
  return static_cast<std::size_t>(found - graph.layers.begin());
}

std::size_t program_layer_of(std::size_t graph_layer, const Program& program) {
  // The ofmap of a program layer is the output of the last graph layer that runs in it.
  const auto runs_in =
      std::find_if(program.layers.begin(), program.layers.end(), [&](const ProgramLayer& layer) {
        return layer.graph_layer >= static_cast<std::int32_t>(graph_layer);
      });
  // A Flatten at the end comes after the last ofmap.
  if (runs_in == program.layers.end()) return program.layers.size() - 1;
  return static_cast<std::size_t>(runs_in - program.layers.begin());
}

std::string hint_on_brackets(const std::string& pattern) {
  if (pattern.find('[') == std::string::npos) return "";
  return "; [...] matches one of the characters in it, and \\[ a bracket of a name";
}

}  // namespace qsim::cli
