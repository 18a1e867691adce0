// From a quantized ONNX file to a HostedNetwork: what the array can run in parts, and the rest for
// a host.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/network/hosted_network.h"
#include "formats/onnx/importer/host_importer.h"
#include "formats/onnx/importer/onnx_importer.h"

namespace qsim::formats {

// What nodes make of each byte that an element of `source` may have, as far as the levels `result`:
// [256]; nothing where that depends on more than the element (golden/host/levels_function.h).
using LevelsFunction = std::function<std::optional<Tensor>(
    const HostNetwork&, const std::vector<const HostNode*>& nodes, HostValueId source,
    HostValueId result)>;

struct HostedOptions {
  ImportOptions import = {};
  HostImportOptions host = {};
  // Operators that ONNX Runtime runs in float32 (FloatNode) are the host's.
  bool as_onnxruntime = false;
  // Why the array cannot run a graph that has been imported; "" where it can.
  std::function<std::string(const Graph&)> refusal = [](const Graph&) { return std::string(); };
  LevelsFunction levels_function = {};  // for tables of several nodes; empty: none is made
  // Sets what is known of the network's values before a run (golden/host/host_executor.h).
  std::function<void(HostNetwork&)> fold_and_shape;
};

// Throws Error (exit code 4) for a file of another form: a float network, and those that golden
// alone runs.
void require_hosted_form(const std::shared_ptr<const HeldFile>& held);

// Throws Error as import_onnx does, but for operators and shapes that the array does not have;
// those of the host alone are refused where fold_and_shape refuses them.
HostedNetwork import_hosted(const std::shared_ptr<const HeldFile>& held,
                            const HostedOptions& options);

// Any file, a float network too, with every node on the host. Of the options, those of the host and
// fold_and_shape count. Throws Error as fold_and_shape does, and for malformed files.
HostedNetwork import_on_host(const std::shared_ptr<const HeldFile>& held,
                             const HostedOptions& options);

}  // namespace qsim::formats
