// Where everything is in DRAM: the input and the layers' ofmaps, then weights and parameters. The
// ofmaps that a concatenation joins are next to each other, in a region that is its own. Tensors
// that are not needed at the same time may share bytes (ADR 0015, docs/adr/machine.md).
#pragma once

#include <vector>

#include "compiler/lowering/compile_options.h"
#include "compiler/lowering/mapping.h"

namespace qsim::compiler {

// One layer with everything that lowering decided about it.
struct PlannedLayer {
  const FusedLayer* layer = nullptr;
  LayerGeometry geometry;
  Mapping mapping;
  DramTensor ifmap;
  std::vector<DramTensor> more_ifmaps;  // FusedLayer's more_inputs
  DramTensor ofmap;
  std::int64_t weights_address = 0;
  std::int64_t weights_bytes = 0;
  std::int64_t params_address = 0;
  std::int64_t table_address = 0;
  // Bytes from one column block's parameters to the next; those of all for each count of windows.
  std::int64_t param_stride = 0;

  std::int64_t params_bytes() const {
    return param_stride * geometry.param_blocks() * geometry.column_blocks;
  }
};

struct MemoryPlan {
  HostInput input;
  std::int64_t writable_bytes = 0;  // of the input and all ofmaps
  std::int64_t separate_bytes = 0;  // the same with a region of its own for each
  std::int64_t live_bytes = 0;      // most that one layer needs: no plan takes fewer
  bool shares_regions = false;
  std::vector<PlannedLayer> layers;
};

// Of one layer in DRAM: whole folds, whatever part of the last ones is used.
std::int64_t packed_weight_bytes(const LayerGeometry& geometry, const ArchConfig& arch);

// Throws Error (exit code 4) when the program needs more than the 4 GiB that commands address, or
// when a layer does not fit the accelerator; (exit code 3) when a given mapping does not fit its
// layer, or names no layer.
MemoryPlan plan_memory(const std::vector<FusedLayer>& layers, const ArchConfig& arch,
                       const CompileOptions& options = {});

}  // namespace qsim::compiler
