// Binary convolution on a GPU in a build without nvcc: plans are made, and enqueueing says why not.
#include "golden/device/devices.h"
#include "golden/kernels/binary/cuda/binary_cuda.h"
#include "golden/kernels/binary/cuda/binary_tensors.h"
#include "golden/kernels/binary/cuda/layer_times.h"

namespace qsim::golden {
namespace {
[[noreturn]] void refuse() { throw_bad_input("CUDA: " + cuda_status().reason); }
}  // namespace

bool has_wgmma() { return false; }
int multiprocessors() { return 132; }
void enqueue_binary_conv(const BinaryCudaPlan&, const void*, const void*, void*, void*, bool) {
  refuse();
}
void enqueue_binary_pack(const float*, const ImageShape&, std::span<const float>, std::uint64_t*,
                         void*) {
  refuse();
}
void enqueue_binary_pack_signs(const float*, const ImageShape&, std::uint64_t*, void*) { refuse(); }
void enqueue_binary_unpack(const std::uint64_t*, const ImageShape&, int, int, float*, void*) {
  refuse();
}
void enqueue_binary_tensors(const BinaryTensorConv&, void*) { refuse(); }
void enqueue_binary_pack_tensor(const float*, const BitStrides&, const ImageShape&,
                                const BinaryThresholds&, int, bool, std::uint64_t*, void*) {
  refuse();
}
BinaryCudaTime time_binary_conv(const BinaryConv&, const BinaryStage&, const BitTensor&, int, int) {
  refuse();
}

}  // namespace qsim::golden
