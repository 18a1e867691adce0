// Binary convolution on a GPU, bit for bit as golden/kernels/binary computes it on a CPU. A plan is
// made on the host, once for a layer and a shape of its input; what is enqueued allocates nothing,
// waits for nothing and keeps no state, so that CUDA graphs can capture it. In a build without nvcc
// plans are made too, and enqueueing throws Error.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "golden/kernels/binary/binary_conv.h"
#include "golden/kernels/binary/cuda/conv_args.h"

namespace qsim::golden {

// Kernels of a binary convolution: kHopper multiplies with wgmma (compute capability 9.0),
// kPortable with mma.sync (8.0 and later). kAuto takes kHopper where the current device and the
// layer can.
enum class BinaryCudaPath : std::uint8_t { kAuto, kHopper, kPortable };

// "auto", "hopper", "portable"
std::string_view binary_cuda_path_name(BinaryCudaPath path);

// Whether the current device has wgmma; false in a build without nvcc and without a device.
bool has_wgmma();

// How many the current device has; without nvcc or without a device, as many as an H200.
int multiprocessors();

struct BinaryCudaPlan {
  BinaryCudaPath path = BinaryCudaPath::kPortable;  // never kAuto
  ImageShape output;                                // of y, or of the stage's words
  int output_bases = 0;                             // 0: y, as floats
  // Weights, alphas and tables for the kernel. The caller copies them to the device, at an address
  // that is a multiple of 16.
  std::vector<std::uint8_t> packed;
  cuda::BinaryConvArgs args;  // without addresses
  cuda::BinaryTile tile = cuda::BinaryTile::kPortable;
  std::int64_t shared_bytes = 0;  // of a block of threads

  // Bytes of the output: floats, or words of 8 bytes.
  std::int64_t output_bytes() const;
};

// Plans `conv` for inputs of this shape with `input_bases` bases; with a stage its output is words,
// without one floats. kHopper is refused with Error where the layer does not fit: the weights of 64
// channels in the shared memory of a block, and 5 times the products of a dot below 2^22. Throws
// Error as output_shape and stage_shape do, and for more than 2^31 - 64 output pixels or 2^31 - 1
// bytes of a picture.
BinaryCudaPlan plan_binary_conv(const BinaryConv& conv, const BinaryStage* stage,
                                const ImageShape& input, int input_bases, BinaryCudaPath path);

// Throws Error where an address is not a multiple of what kernels copy at once: `packed` of 16;
// `bits` of 16, or of 8 where a base of a pixel has an odd number of words; `output` of its
// element.
void require_addresses(const BinaryCudaPlan& plan, const void* packed, const void* bits,
                       const void* output);

// Enqueues the layer on `stream` (a cudaStream_t of the current device). `packed` is the device's
// copy of plan.packed, `bits` the words of the input as BitTensor has them, and `output` has
// plan.output_bytes(). All are device addresses. `constant_weights` promises that no work which the
// stream has before the call writes `packed`: the kernel then reads it while the one before still
// runs. Throws Error as require_addresses does, and when the launch is refused.
void enqueue_binary_conv(const BinaryCudaPlan& plan, const void* packed, const void* bits,
                         void* output, void* stream, bool constant_weights);

// Channels as kernels that pack and unpack count them; throws Error for more than 2^31 - 1.
std::int32_t device_channels(const ImageShape& shape);

// quantize_and_pack by ThresholdQuantizer: `x` [batch][height][width][channels] floats, `bits` as
// BitTensor has them with one base for each of `v`. Device addresses. Throws Error for a number of
// bases that BitTensor refuses, and as device_channels does.
void enqueue_binary_pack(const float* x, const ImageShape& shape, std::span<const float> v,
                         std::uint64_t* bits, void* stream);
// The same by SignQuantizer, one base.
void enqueue_binary_pack_signs(const float* x, const ImageShape& shape, std::uint64_t* bits,
                               void* stream);
// Base `base` of `bases` as +1.0 and -1.0.
void enqueue_binary_unpack(const std::uint64_t* bits, const ImageShape& shape, int bases, int base,
                           float* x, void* stream);

}  // namespace qsim::golden
