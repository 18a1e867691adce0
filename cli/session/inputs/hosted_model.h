// An ONNX file of which the array runs parts and a host the rest.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/session/inputs/model_source.h"
#include "core/network/hosted_network.h"

namespace qsim::cli {

// --shape, for commands that need no input.
struct ShapeOptions {
  Words shapes;  // NAME=1x3x224x224, of inputs whose shapes the file leaves open
};

// How much a host does of an ONNX file.
struct HostOptions : ShapeOptions {
  bool no_host = false;  // refuse what the array cannot do
  bool strict = false;   // refuse scales that the configuration's requantizer does not have
  std::string as = "integer";
};
inline constexpr const char* kAsOnnxRuntime = "onnxruntime";
void declare_host(Declarations& declared, HostOptions& options);
void declare_shapes(Declarations& declared, ShapeOptions& options);
// The shapes by the inputs' names. Throws Error (exit code 2) for a text that names no shape.
std::map<std::string, Shape> asked_shapes(const ShapeOptions& options);
// Whether there are any. Throws Error (exit code 2) where the network has no use for them.
bool gives_shapes(const NetworkRequest& request, const ArchConfig& config,
                  const ShapeOptions& options);

struct HostedModel {
  std::string name;  // as the user gave it
  std::filesystem::path path;
  std::shared_ptr<const formats::HeldFile> file;
  HostedNetwork hosted;
  ArchConfig config;  // of the array
};

// What the options or the configuration name.
const std::string& model_name(const NetworkRequest& request, const ArchConfig& config);
// Its file. Throws Error where there is none.
std::filesystem::path model_path(const NetworkRequest& request, const ArchConfig& config);
// Whether a host may run what the array does not have of a network of that kind, and whether
// requantizer: dyadic may be taken for it.
bool may_have_host(ModelKind kind, const HostOptions& options);
bool takes_dyadic(ModelKind kind);

// Calls run(config). Where that refuses an ONNX file or a workload (exit code 4), calls it with
// requantizer: dyadic, unless the options are strict, and notes that; and where that refuses it
// too, for an ONNX file run_hosted(), unless they say no host. Throws Error (exit code 2) for
// options of ONNX files.
ExitCode run_as_it_can(Context& context, const NetworkRequest& request, const HostOptions& options,
                       const ArchConfig& config,
                       const std::function<ExitCode(const ArchConfig&)>& run,
                       const std::function<ExitCode()>& run_hosted);

// An option that networks with a host do not have: whether it is given, and its name.
using GivenOption = std::pair<bool, const char*>;
// Throws Error (exit code 2) for one that is given.
void refuse_with_host(const NetworkRequest& request, const ArchConfig& config,
                      const std::vector<GivenOption>& options);

// `shapes` of inputs, by their names, where the file leaves dimensions open. Where `config` has
// requantizer: shift and a part needs more, the array has requantizer: dyadic, and `context` notes
// that; strict options refuse it (exit code 4). Throws Error for what the host refuses too.
HostedModel load_hosted(Context& context, const NetworkRequest& request, const HostOptions& options,
                        const ArchConfig& config, const std::map<std::string, Shape>& shapes);

// What `run` would do of a quantized file on `config`: where the array runs it whole, a network of
// one part and no nodes. `config` has requantizer: dyadic. Throws Error for what the host refuses
// too.
HostedNetwork host_share(const std::filesystem::path& file, const ArchConfig& config);

// The same of any ONNX file, a float network too, with every node on the host.
HostedModel load_on_host(const NetworkRequest& request, const ArchConfig& config,
                         const std::map<std::string, Shape>& shapes);

// `config`, or where that refuses `graph` the same with requantizer: dyadic, of which `context`
// gets a note; nothing where that refuses it too, or where the options are strict.
std::optional<ArchConfig> array_for(Context& context, const NetworkRequest& request,
                                    const HostOptions& options, const ArchConfig& config,
                                    const Graph& graph);

// Whether the array, with requantizer: dyadic where it must, runs the graph.
bool runs_alone(const Graph& graph, const ArchConfig& config);

// Whether `run` takes the file with a host: whether the array does not run it alone, but parts of
// it. Throws Error for a file that cannot be read.
bool wants_host(const NetworkRequest& request, const ArchConfig& config);

// The parts for one array, as they are for it: nothing is noted, and no other requantizer taken.
HostedModel load_parts_of(const NetworkRequest& request, const ArchConfig& config,
                          const ShapeOptions& shapes);

// For a command of networks that the array runs alone: calls work(). Where that refuses a network
// that wants_host(), throws one Error in its place that names the commands which take it.
ExitCode run_alone(const NetworkRequest& request, const ArchConfig& config,
                   const std::string& command, const std::function<ExitCode()>& work);

}  // namespace qsim::cli
