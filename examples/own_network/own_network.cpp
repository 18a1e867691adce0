// A network built by hand: convolution 3x3, ReLU and max-pool in one, then a fully connected layer,
// with random weights. It is compiled, run by both engines, and compared with the golden library.
// Exit code 0 when every byte agrees.
#include <iostream>

#include "compiler/compile.h"
#include "core/base/random.h"
#include "golden/graph/cpu/graph_executor.h"
#include "report/analysis/cycle_accounting.h"
#include "report/tensor_comparison.h"
#include "sim/interpreter/program_interpreter.h"
#include "sim/systemc/systemc_engine.h"

namespace {

using namespace qsim;  // NOLINT(google-build-using-namespace): an example of the public names
using namespace qsim::compiler;
using namespace qsim::report;
using namespace qsim::sim;

Tensor random_int8(Shape shape, Random& random) {
  Tensor tensor(DType::kInt8, std::move(shape));
  for (std::int8_t& value : tensor.as<std::int8_t>()) {
    value = static_cast<std::int8_t>(random.uniform(-127, 127));
  }
  return tensor;
}

// A picture of 20 x 20 pixels and 8 channels, int8 with zero_point 0. A psum of k products of
// uniform int8 values is about sqrt(k) * 73 * 73; the shift brings that back to 8 bits.
Graph make_network(Random& random) {
  Graph graph;
  graph.name = "own_network";
  graph.input_value().shape = {.batch = 1, .height = 20, .width = 20, .channels = 8};

  Value features;
  features.shape = {.batch = 1, .height = 20, .width = 20, .channels = 24};
  Conv2d conv;
  conv.window = {
      .kernel_h = 3, .kernel_w = 3, .pad_top = 1, .pad_left = 1, .pad_bottom = 1, .pad_right = 1};
  conv.weights = random_int8({24, 3, 3, 8}, random);
  conv.bias = Tensor(DType::kInt32, {24});
  conv.requantization.shifts = {10};
  append(graph, "conv", conv, features);
  append(graph, "relu", Relu{}, features);

  Value pooled = features;
  pooled.shape.height = 10;
  pooled.shape.width = 10;
  const Window two_by_two{.kernel_h = 2, .kernel_w = 2, .stride_h = 2, .stride_w = 2};
  append(graph, "pool", MaxPool{two_by_two}, pooled);

  Value vector;
  vector.shape.channels = 10 * 10 * 24;
  append(graph, "flatten", Flatten{Flatten::Order::kHwc}, vector);

  Value scores;
  scores.shape.channels = 10;
  FullyConnected fc;
  fc.weights = random_int8({10, 10 * 10 * 24}, random);
  fc.bias = Tensor(DType::kInt32, {10});
  fc.requantization.shifts = {13};
  append(graph, "scores", fc, scores);
  validate(graph);
  return graph;
}

// Runs `engine` and says how its bytes compare with the golden's; false when they differ.
bool agrees(Engine& engine, const Program& program, const Tensor& input,
            const std::vector<Tensor>& golden) {
  const RunResult result = engine.run(program, input, RunOptions{});
  const Comparison comparison = compare_ofmaps(program, golden, result);
  std::cout << engine.name() << ": " << comparison.values() << " values, "
            << comparison.mismatches() << " mismatches\n";
  if (comparison.first) std::cout << "  " << divergence_text(*comparison.first) << "\n";
  if (engine.has_time()) {
    const RunAccount account = qsim::report::account(program, result.times);
    std::cout << "  " << account.total_cycles << " cycles, utilization "
              << utilization(account.macs, account.total_cycles, program.arch) << "\n";
  }
  return comparison.mismatches() == 0;
}

}  // namespace

int main() {
  Random random(1);
  const Graph graph = make_network(random);
  const Tensor input = random_int8(graph.input_value().shape.nhwc(), random);
  const Program program = compile(graph, ArchConfig{});
  std::cout << graph.name << ": " << graph.layers.size() << " graph layers became "
            << program.layers.size() << " program layers, " << program.command_count()
            << " commands\n";

  const std::vector<Tensor> golden = golden::run_graph(graph, input);
  const auto interpreter = make_program_interpreter();
  const auto systemc = make_systemc_engine();
  const bool same =
      agrees(*interpreter, program, input, golden) && agrees(*systemc, program, input, golden);
  return same ? 0 : 1;
}
