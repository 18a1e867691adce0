#include <cstring>
#include <iostream>

#include "tests/golden/binary/cuda/check_commands.h"
#include "tests/golden/binary/cuda/device_layer.h"
#include "tests/golden/binary/trained_network.h"

namespace qsim::golden_test {

ExitCode check_binary_network(const std::filesystem::path& folder) {
  const TrainedNetwork network = trained_network(folder);
  DeviceLayer device;
  std::int64_t words = 0;
  std::int64_t mismatches = 0;
  for (const golden::BinaryCudaPath path :
       {golden::BinaryCudaPath::kAuto, golden::BinaryCudaPath::kPortable}) {
    golden::BitTensor bits = network.input;
    for (std::size_t i = 0; i < network.layers.size(); ++i) {
      const TrainedLayer& layer = network.layers[i];
      const golden::BinaryCudaPlan plan =
          plan_binary_conv(layer.conv, &layer.stage, bits.shape, bits.bases, path);
      const std::vector<std::uint8_t> found = device.run(plan, bits);
      bits = golden::BitTensor(plan.output, plan.output_bases);
      std::memcpy(bits.words.data(), found.data(), found.size());
      words += static_cast<std::int64_t>(bits.words.size());
      if (bits == layer.expected) continue;
      ++mismatches;
      std::cout << "layer " << i + 1 << " on path " << binary_cuda_path_name(plan.path)
                << " differs\n";
    }
  }
  std::cout << words << " words of a trained network compared, " << mismatches
            << " mismatching layers\n";
  return mismatches == 0 ? ExitCode::kOk : ExitCode::kMismatch;
}

}  // namespace qsim::golden_test
