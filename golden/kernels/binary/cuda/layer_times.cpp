#include "golden/kernels/binary/cuda/layer_times.h"

#include "core/base/median.h"
#include "golden/device/cold_timer.h"
#include "golden/device/cuda_error.h"
#include "golden/device/device_buffer.h"
#include "golden/device/device_scope.h"

namespace qsim::golden {

BinaryCudaTime time_binary_conv(const BinaryConv& conv, const BinaryStage& stage,
                                const BitTensor& input, int device, int runs) {
  const DeviceScope scope(device);
  const BinaryCudaPlan plan =
      plan_binary_conv(conv, &stage, input.shape, input.bases, BinaryCudaPath::kAuto);
  const cuda::Stream stream;
  const cuda::DeviceBuffer packed = cuda::upload(plan.packed);
  const cuda::DeviceBuffer bits = cuda::upload(input.words);
  const cuda::DeviceBuffer output = cuda::poisoned(static_cast<std::size_t>(plan.output_bytes()));
  cuda::ColdTiming timing;
  timing.runs = runs;
  BinaryCudaTime time;
  time.path = plan.path;
  time.seconds = median(cuda::time_cold(
      stream, 1,
      [&](int) {
        enqueue_binary_conv(plan, packed.as<>(), bits.as<>(), output.as<>(), stream.get(), true);
      },
      timing));
  time.words = BitTensor(plan.output, plan.output_bases);
  cuda::check(
      cudaMemcpy(time.words.words.data(), output.as<>(), output.bytes(), cudaMemcpyDeviceToHost),
      "copying the words");
  return time;
}

}  // namespace qsim::golden
