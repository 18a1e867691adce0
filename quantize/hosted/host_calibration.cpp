#include "quantize/hosted/host_calibration.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/base/printable.h"
#include "golden/host/host_executor.h"

namespace qsim::quantize {
namespace {

using Runs = std::vector<std::unique_ptr<golden::HostRun>>;

std::unique_ptr<golden::HostRun> run_of(const HostNetwork& network, std::vector<Tensor> inputs) {
  QSIM_CHECK(inputs.size() == network.inputs.size(), "a sample has all inputs");
  auto run = std::make_unique<golden::HostRun>(network);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    run->set(network.inputs[i], std::move(inputs[i]));
  }
  for (const HostNode& node : network.nodes) run->run(node);
  return run;
}

// As many samples at once as there are threads, in order.
template <typename Work>
void for_each_chunk(std::int64_t count, golden::ThreadTeam& team, Work work) {
  const std::int64_t most = team.threads();
  for (std::int64_t first = 0; first < count; first += most) {
    work(first, static_cast<std::size_t>(std::min(most, count - first)));
  }
}

std::span<const float> numbers(const golden::HostRun& run, HostValueId id) {
  return run.get(id).as<float>();
}

void require_finite(const HostNetwork& network, HostValueId id,
                    const TensorStatistics& statistics) {
  if (statistics.not_finite == 0) return;
  throw_bad_input("tensor '" + echoed(network.values[id].name) +
                  "': " + std::to_string(statistics.not_finite) +
                  " of its numbers are not finite in calibration; expected finite numbers");
}

}  // namespace

std::vector<TensorStatistics> calibrate_host(const HostNetwork& network,
                                             const std::vector<HostValueId>& wanted,
                                             const HostSamples& samples, golden::ThreadTeam& team,
                                             const SampleProgress& on_progress) {
  using AddBatch = void (*)(std::span<const float>, TensorStatistics&);
  std::vector<TensorStatistics> statistics(network.values.size());
  std::int64_t passes = 0;
  for (const AddBatch add : {AddBatch{add_range}, AddBatch{add_values}}) {
    for_each_chunk(samples.count, team, [&](std::int64_t first, std::size_t count) {
      Runs runs(count);
      team.run(count, [&](std::size_t i) {
        runs[i] = run_of(network, samples.read(first + static_cast<std::int64_t>(i)));
      });
      team.run(wanted.size(), [&](std::size_t w) {
        TensorStatistics& own = statistics[wanted[w]];
        for (const auto& run : runs) add(numbers(*run, wanted[w]), own);
        require_finite(network, wanted[w], own);
      });
      if (on_progress) {
        on_progress((passes * samples.count + first + static_cast<std::int64_t>(count)) / 2);
      }
    });
    ++passes;
  }
  return statistics;
}

HostErrors measure_host(const HostNetwork& real, const QdqNetwork& quantized,
                        const HostSamples& samples, std::int64_t most, golden::ThreadTeam& team,
                        const SampleProgress& on_progress) {
  HostErrors errors;
  errors.tensors.resize(quantized.reals.size());
  for_each_chunk(std::min(most, samples.count), team, [&](std::int64_t first, std::size_t count) {
    Runs float_runs(count);
    Runs runs(count);
    team.run(count, [&](std::size_t i) {
      std::vector<Tensor> inputs = samples.read(first + static_cast<std::int64_t>(i));
      float_runs[i] = run_of(real, inputs);
      runs[i] = run_of(quantized.network, std::move(inputs));
    });
    team.run(quantized.reals.size(), [&](std::size_t id) {
      if (!quantized.reals[id]) return;
      for (std::size_t i = 0; i < count; ++i) {
        add_pairs(numbers(*float_runs[i], id), numbers(*runs[i], *quantized.reals[id]),
                  errors.tensors[id]);
      }
    });
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t o = 0; o < real.outputs.size(); ++o) {
        const Tensor& expected = float_runs[i]->get(real.outputs[o]);
        const Tensor& found = runs[i]->get(quantized.network.outputs[o]);
        if (first == 0 && i == 0) errors.outputs.push_back(found);
        if (expected.dtype != DType::kFloat32 || expected.shape != found.shape) continue;
        add_pairs(expected.as<float>(), found.as<float>(), errors.output);
      }
    }
    if (on_progress) on_progress(first + static_cast<std::int64_t>(count));
  });
  return errors;
}

}  // namespace qsim::quantize
