// The Graph of the quantizer is the one that the importer makes of the file which the exporter
// writes of it, in both forms, field by field.
#include <gtest/gtest.h>

#include "formats/onnx/exporter/onnx_exporter.h"
#include "formats/onnx/importer/onnx_importer.h"
#include "tests/exporter/graph_difference.h"
#include "tests/importer/model_builder.h"
#include "tests/quantize/network/judged_run.h"

namespace qsim::quantize {

using namespace formats;
namespace {

// What differs after export and import, in either form.
std::string difference(const TestFolder& folder, const QuantizedNetwork& network) {
  for (const OnnxForm form : {OnnxForm::kQOperator, OnnxForm::kQdq}) {
    write_text(folder / "model.onnx", onnx_bytes(network, form));
    const std::string found = graph_difference(network.graph, import_onnx(folder / "model.onnx"));
    if (!found.empty()) return (form == OnnxForm::kQdq ? "qdq: " : "qoperator: ") + found;
  }
  return "";
}

Scheme scheme_of_seed(std::uint64_t seed) {
  Scheme scheme = scheme_of_type(seed % 2 == 0, static_cast<ScaleKind>(seed % 3));
  const int bits[] = {8, 8, 6, 4};
  scheme.all.activations.bits = bits[seed / 2 % 4];
  scheme.all.weights.levels.bits = bits[seed / 3 % 4];
  scheme.all.weights.per_channel = seed % 7 != 0;
  scheme.all.symmetry = static_cast<Symmetry>(seed / 5 % 3);
  if (seed % 11 == 0) {
    scheme.all.weights.levels.is_unsigned = true;
    scheme.all.weights.symmetry = Symmetry::kAffine;
  }
  return scheme;
}

TEST(Reimport, GivesTheGraphsOfRandomNetworks) {
  const TestFolder folder;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SampleNetwork net = random_network(seed);
    const JudgedRun run = run_of(net, scheme_of_seed(seed));
    ASSERT_EQ(difference(folder, run.network), "") << "seed " << seed;
  }
}

}  // namespace
}  // namespace qsim::quantize
