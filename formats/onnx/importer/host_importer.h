// From an ONNX file of any kind to a HostNetwork: every node as it is, with its constants. It
// checks names, types and their order; what an operator does and takes is the host's affair.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/network/host_network.h"
#include "formats/files/held_file.h"

namespace qsim::formats {

struct ModelFile;
struct ModelGraph;

inline constexpr int kMinHostOpset = 7;
inline constexpr int kMaxHostOpset = 25;

struct HostImportOptions {
  std::int64_t batch = 1;  // of a first dimension without a number
  // The shapes of inputs that are known, by their names: they stand for dimensions without a
  // number.
  std::map<std::string, Shape> shapes = {};
};

// Reads the nodes on which the outputs depend, each after those that it reads. An input of unknown
// rank, or with a dimension that has no number anywhere, has no shape. Throws Error: exit code 3
// for what is malformed, 4 for an opset or a type that is not supported.
HostNetwork import_host_network(const ModelFile& file, const HostImportOptions& options = {});

// The same, of a file that has not been read; `on_external` as in ImportOptions.
HostNetwork import_host_network(
    const std::shared_ptr<const HeldFile>& held, const HostImportOptions& options,
    const std::function<void(const std::filesystem::path&)>& on_external);

// The same of the nodes that `model`, of that file, has by now.
HostNetwork import_host_network(const ModelFile& file, const ModelGraph& model,
                                const HostImportOptions& options);

// The names of a file's inputs, but for those that have a value in the file.
std::vector<std::string> input_names(const std::shared_ptr<const HeldFile>& held);

}  // namespace qsim::formats
