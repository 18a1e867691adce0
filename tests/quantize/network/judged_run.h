// A sample network quantized, run by golden, and each of its layers compared with plain loops that
// read the very integers which the layer read.
#pragma once

#include <string>
#include <vector>

#include "core/network/quantized_network.h"
#include "quantize/quantizer.h"
#include "tests/quantize/network/plain_network.h"
#include "tests/quantize/network/sample_networks.h"

namespace qsim::quantize {

// A scheme with one type for the input and all layers.
Scheme scheme_of_type(bool is_unsigned, ScaleKind kind = ScaleKind::kFloat);

// What a test looks at.
struct JudgedRun {
  TensorQuantizations quantizations;
  QuantizedNetwork network;
  std::vector<Tensor> levels;          // by layer of the Graph
  std::vector<PlainTensor> reals;      // by tensor of the Graph
  std::vector<PlainTensor> quantized;  // by tensor of the Graph, in real numbers
};

// With statistics of one picture, and `decided`.
JudgedRun run_of(SampleNetwork& sample, const Scheme& scheme,
                 const std::map<std::size_t, LayerWeights>& decided = {});

// Signal to quantization noise of the output, in dB.
double output_sqnr(const JudgedRun& run);

std::vector<std::string> operations(const Graph& graph);

}  // namespace qsim::quantize
