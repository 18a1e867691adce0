// What ONNX Runtime's default session changes in a graph before it runs it, where that changes
// numbers (docs/reference/onnx.md#what-the-default-session-rewrites). The importer follows
// it, so that its bytes are those of the session.
#pragma once

#include <vector>

#include "formats/onnx/importer/model_graph.h"

namespace qsim::formats {

// `nodes`: those of nodes_in_order(). Nodes that change are copies in model.made_nodes; nodes that
// fall away are in neither list then.
//   - Q, DQ, Q, DQ, each tensor read once: the inner two fall away, and the outer two get the scale
//     and zero_point of the range that both pairs have.
//   - Pad of zeros before MaxPool: its amounts become pads of the MaxPool, which are absent.
//   - Clip before QuantizeLinear that cuts off at most 2^-23 of what the levels have: falls away.
void rewrite_as_session(ModelGraph& model, std::vector<ModelNode>& nodes);

}  // namespace qsim::formats
