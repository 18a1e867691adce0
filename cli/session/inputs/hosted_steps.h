// A network with a host, step by step: its inputs, the host's nodes, and whatever runs the parts.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "cli/host_tensors/host_layout.h"
#include "cli/session/inputs/hosted_model.h"
#include "cli/terminal/context.h"
#include "golden/host/host_executor.h"

namespace qsim::cli {

struct HostInput {
  Tensor tensor;
  std::string source = {};  // the file, for errors
};
using HostInputs = std::map<std::string, HostInput>;  // by the network's names

// The inputs of the network that `request` names: `input` is a .npy, or a folder of one NAME.npy
// for each, with _ for each / of NAME. Throws Error for files that are not there or not of these
// inputs; before that, what `judge` throws of the network.
HostInputs read_host_inputs(const NetworkRequest& request, const std::string& input,
                            const ArchConfig& config, const std::function<void()>& judge);
std::map<std::string, Shape> shapes_of(const HostInputs& inputs);

// Runs a part on its input, NHWC in the graph's input dtype. Returns the tensor of its last layer,
// or the last ofmap; nothing without data.
using RunPart = std::function<std::optional<Tensor>(std::size_t index, const Tensor& input)>;

class HostedSteps {
 public:
  // `model` must outlive it. Without inputs no host node runs, and parts get tensors without bytes.
  HostedSteps(const HostedModel& model, std::optional<HostInputs> inputs);

  // Runs all steps in order.
  void run(const RunPart& run_part);

  double host_seconds() const { return seconds_; }
  const Tensor& output(std::size_t index) const;

 private:
  Tensor input_of(const ArrayPart& part, const InputForm& form) const;

  const HostedNetwork& hosted_;
  bool has_data_;
  golden::HostRun host_;
  double seconds_ = 0;
};

}  // namespace qsim::cli
