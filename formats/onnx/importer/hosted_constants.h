// Constants of a file as the importer takes them, once the host's network has been folded.
#pragma once

#include <set>
#include <string>

#include "core/network/host_network.h"
#include "formats/onnx/importer/model_graph.h"

namespace qsim::formats {

// Constants of types that a host has wider (float16, int4) become constants of these types, but for
// zero_points, which say to what levels a QuantizeLinear saturates. Returns their names.
std::set<std::string, std::less<>> widen_constants(ModelGraph& model, const HostNetwork& network);

// Constants that nodes compute become constants of the model, but for float32 numbers that come
// from integers: of those the importer wants the integers.
void name_constants(ModelGraph& model, const HostNetwork& network);

}  // namespace qsim::formats
