#include <cstring>
#include <iostream>

#include "tests/golden/binary/cuda/check_commands.h"
#include "tests/golden/binary/cuda/device_layer.h"
#include "tests/golden/binary/trained_network.h"

namespace qsim::golden_test {

namespace {

struct Compared {
  std::int64_t words = 0;
  std::int64_t mismatching_layers = 0;
};

void check(const TrainedNetwork& network, DeviceLayer& device, Compared& compared) {
  for (const golden::BinaryCudaPath path :
       {golden::BinaryCudaPath::kAuto, golden::BinaryCudaPath::kPortable}) {
    golden::BitTensor bits = network.input;
    for (std::size_t i = 0; i < network.layers.size(); ++i) {
      const TrainedLayer& layer = network.layers[i];
      const golden::BinaryCudaPlan plan =
          plan_binary_conv(layer.conv, &layer.stage, bits.shape, bits.bases, path);
      const std::vector<std::uint8_t> found = device.run(plan, bits, TablesFrom::kHost);
      bits = golden::BitTensor(plan.output, plan.output_bases);
      std::memcpy(bits.words.data(), found.data(), found.size());
      compared.words += static_cast<std::int64_t>(bits.words.size());
      if (bits == layer.expected) continue;
      ++compared.mismatching_layers;
      std::cout << "layer " << i + 1 << " of " << layer.conv.weights.bases << " bases on path "
                << binary_cuda_path_name(plan.path) << " differs\n";
    }
  }
}

}  // namespace

ExitCode check_binary_network(const std::filesystem::path& folder) {
  DeviceLayer device;
  Compared compared;
  for (const int bases : kTrainedBases) check(trained_network(bases, folder), device, compared);
  std::cout << compared.words << " words of trained networks compared, "
            << compared.mismatching_layers << " mismatching layers\n";
  return compared.mismatching_layers == 0 ? ExitCode::kOk : ExitCode::kMismatch;
}

}  // namespace qsim::golden_test
