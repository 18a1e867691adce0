// Runs the nodes of a host network one after the other, in plain loops.
#pragma once

#include <vector>

#include "core/network/host_network.h"

namespace qsim::golden {

// Finds what is known before a run: the shapes and types of values, and those that are constants
// because all that they come from is (is_folded()). Throws Error for a node that the host does not
// support.
void fold_and_shape(HostNetwork& network);
// The same of a network whose nodes' graphs it was done for before.
void shape_again(HostNetwork& network);

// The values of a run, one for each of HostNetwork::values.
class HostRun {
 public:
  // `network` must outlive the run.
  explicit HostRun(const HostNetwork& network);

  // Sets a value; its dtype and, where that is known, its shape must be the network's.
  void set(HostValueId id, Tensor tensor);
  // The same of a value that stays where it is, and must outlive the run.
  void lend(HostValueId id, const HostArray& array);
  const Tensor& get(HostValueId id) const;
  // Runs one node, unless it is folded; its inputs must be there.
  void run(const HostNode& node);

 private:
  const HostArray& array(HostValueId id) const;

  const HostNetwork& network_;
  std::vector<HostArray> values_;  // constants stay in the network
  std::vector<const HostArray*> lent_;
};

// The outputs of a whole run, in the order of HostNetwork::outputs. `inputs` are as
// HostNetwork::inputs.
std::vector<Tensor> run_host_network(const HostNetwork& network, std::vector<Tensor> inputs);

}  // namespace qsim::golden
