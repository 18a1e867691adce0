#include "tests/golden/binary/cuda/device_layer.h"

#include <algorithm>

#include "golden/device/cuda_error.h"

namespace qsim::golden_test {
namespace {

using golden::cuda::check;
using golden::cuda::Stream;

constexpr std::size_t kGuard = 64;
constexpr std::uint8_t kPoison = 0xA5;

}  // namespace

void Arena::grow(std::size_t bytes) {
  if (buffer_.bytes() < bytes) buffer_ = golden::cuda::DeviceBuffer(2 * bytes);
}

void* Arena::poisoned(std::size_t bytes, const Stream& stream) {
  grow(bytes + kGuard);
  check(cudaMemsetAsync(buffer_.as<>(), kPoison, bytes + kGuard, stream.get()), "filling memory");
  return buffer_.as<>();
}

void* Arena::upload(const void* data, std::size_t bytes, const Stream& stream) {
  grow(bytes);
  check(cudaMemcpyAsync(buffer_.as<>(), data, bytes, cudaMemcpyHostToDevice, stream.get()),
        "copying to the device");
  return buffer_.as<>();
}

std::vector<std::uint8_t> Arena::download(std::size_t bytes, const Stream& stream) const {
  std::vector<std::uint8_t> found(bytes + kGuard);
  check(cudaMemcpyAsync(found.data(), buffer_.as<>(), found.size(), cudaMemcpyDeviceToHost,
                        stream.get()),
        "copying from the device");
  stream.synchronize("a binary convolution");
  if (std::any_of(found.begin() + static_cast<std::ptrdiff_t>(bytes), found.end(),
                  [](std::uint8_t byte) { return byte != kPoison; })) {
    throw InternalError("a kernel wrote beyond its output");
  }
  found.resize(bytes);
  return found;
}

// A kernel packs the signs of the tables' bits.
const void* DeviceLayer::tables(const std::vector<std::uint8_t>& tables, TablesFrom from) {
  constexpr std::size_t kMostOfAKernel = 32768;
  if (from == TablesFrom::kHost || tables.size() > kMostOfAKernel) {
    const void* packed = packed_.upload(tables.data(), tables.size(), stream_);
    stream_.synchronize("a copy of tables");
    return packed;
  }
  const ImageShape words = {1, 1, static_cast<std::int64_t>((tables.size() + 7) / 8), 64};
  std::vector<float> signs(static_cast<std::size_t>(element_count(words.nhwc())), -1.0F);
  for (std::size_t bit = 0; bit < tables.size() * 8; ++bit) {
    if ((tables[bit / 8] >> bit % 8 & 1) != 0) signs[bit] = 1.0F;
  }
  const auto* x =
      static_cast<const float*>(signs_.upload(signs.data(), signs.size() * sizeof(float), stream_));
  auto* packed = static_cast<std::uint64_t*>(
      packed_.poisoned(static_cast<std::size_t>(words.width) * 8, stream_));
  stream_.synchronize("a copy of signs");
  golden::enqueue_binary_pack_signs(x, words, packed, stream_.get());
  return packed;
}

std::vector<std::uint8_t> DeviceLayer::run(const golden::BinaryCudaPlan& plan,
                                           const golden::BitTensor& input, TablesFrom from) {
  const auto bytes = static_cast<std::size_t>(plan.output_bytes());
  const void* bits = input_.upload(input.words.data(), input.words.size() * 8, stream_);
  void* output = output_.poisoned(bytes, stream_);
  const void* packed = tables(plan.packed, from);  // last, so that its kernel is the one before
  golden::enqueue_binary_conv(plan, packed, bits, output, stream_.get(), from == TablesFrom::kHost);
  return output_.download(bytes, stream_);
}

std::vector<std::uint8_t> DeviceLayer::pack(const std::vector<float>& x, const ImageShape& shape,
                                            const std::vector<float>& v) {
  const std::size_t bytes = golden::require_bits(shape, static_cast<int>(v.size())) * 8;
  const auto* values =
      static_cast<const float*>(input_.upload(x.data(), x.size() * sizeof(float), stream_));
  golden::enqueue_binary_pack(values, shape, v,
                              static_cast<std::uint64_t*>(output_.poisoned(bytes, stream_)),
                              stream_.get());
  return output_.download(bytes, stream_);
}

std::vector<std::uint8_t> DeviceLayer::pack_signs(const std::vector<float>& x,
                                                  const ImageShape& shape) {
  const std::size_t bytes = golden::require_bits(shape, 1) * 8;
  const auto* values =
      static_cast<const float*>(input_.upload(x.data(), x.size() * sizeof(float), stream_));
  golden::enqueue_binary_pack_signs(
      values, shape, static_cast<std::uint64_t*>(output_.poisoned(bytes, stream_)), stream_.get());
  return output_.download(bytes, stream_);
}

std::vector<std::uint8_t> DeviceLayer::unpack(const golden::BitTensor& bits, int base) {
  const std::size_t bytes =
      static_cast<std::size_t>(element_count(bits.shape.nhwc())) * sizeof(float);
  const auto* words = static_cast<const std::uint64_t*>(
      input_.upload(bits.words.data(), bits.words.size() * 8, stream_));
  golden::enqueue_binary_unpack(words, bits.shape, bits.bases, base,
                                static_cast<float*>(output_.poisoned(bytes, stream_)),
                                stream_.get());
  return output_.download(bytes, stream_);
}

}  // namespace qsim::golden_test
