#include "tests/golden/binary/trained_network.h"

#include <cstring>
#include <filesystem>

#include "formats/traces/npy.h"

namespace qsim::golden_test {

using namespace formats;
namespace {

// As LAYERS of models/train/abc_network.py.
struct LayerSizes {
  std::int64_t inputs;
  std::int64_t outputs;
  bool pool;
};
constexpr LayerSizes kLayers[] = {{16, 32, false}, {32, 32, true},  {32, 48, false},
                                  {48, 48, true},  {48, 64, false}, {64, 64, false},
                                  {64, 64, true},  {64, 64, false}};

// A file's numbers, which layers take one after the other.
template <typename T>
class Numbers {
 public:
  Numbers(const std::string& prefix, const std::string& file, std::string_view descr) {
    const NpyType allowed[] = {{descr, descr, sizeof(T)}};
    const NpyArray array = read_npy_array(prefix + "." + file + ".npy", allowed);
    values_.resize(array.bytes.size() / sizeof(T));
    std::memcpy(values_.data(), array.bytes.data(), array.bytes.size());
  }

  std::vector<T> take(std::size_t count) {
    QSIM_CHECK(taken_ + count <= values_.size(), "the file ends early");
    const auto from = values_.begin() + static_cast<std::ptrdiff_t>(taken_);
    taken_ += count;
    return {from, from + static_cast<std::ptrdiff_t>(count)};
  }
  bool is_empty() const { return taken_ == values_.size(); }

 private:
  std::vector<T> values_;
  std::size_t taken_ = 0;
};

golden::BitTensor take_bits(Numbers<std::uint64_t>& numbers, const ImageShape& shape, int bases) {
  golden::BitTensor bits(shape, bases);
  bits.words = numbers.take(bits.words.size());
  return bits;
}

}  // namespace

TrainedNetwork trained_network(int bases, const std::filesystem::path& folder) {
  const std::string prefix = (folder / ("abc" + std::to_string(bases))).string();
  const auto count = static_cast<std::size_t>(bases);
  Numbers<std::uint64_t> words(prefix, "words", "<u8");
  Numbers<float> floats(prefix, "floats", "<f4");
  Numbers<std::uint64_t> bits(prefix, "bits", "<u8");
  ImageShape shape = {2, 32, 32, kLayers[0].inputs};
  TrainedNetwork network;
  network.input = take_bits(bits, shape, bases);
  for (const LayerSizes& sizes : kLayers) {
    const auto outputs = static_cast<std::size_t>(sizes.outputs);
    TrainedLayer layer;
    layer.conv.window = {
        .kernel_h = 3, .kernel_w = 3, .pad_top = 1, .pad_left = 1, .pad_bottom = 1, .pad_right = 1};
    layer.conv.weights.shape = {sizes.outputs, 3, 3, sizes.inputs};
    layer.conv.weights.bases = bases;
    layer.conv.weights.words =
        words.take(outputs * count * 9 * static_cast<std::size_t>(golden::bit_words(sizes.inputs)));
    layer.conv.weights.alpha = floats.take(count * outputs);
    layer.conv.beta = floats.take(count);
    layer.stage.gain = floats.take(outputs);
    layer.stage.shift = floats.take(outputs);
    layer.stage.v = floats.take(count);
    if (sizes.pool) {
      layer.stage.pool = golden::BinaryPool{2, 2};
      shape.height /= 2;
      shape.width /= 2;
    }
    shape.channels = sizes.outputs;
    layer.expected = take_bits(bits, shape, bases);
    network.layers.push_back(std::move(layer));
  }
  QSIM_CHECK(words.is_empty() && floats.is_empty() && bits.is_empty(), "numbers are left");
  return network;
}

}  // namespace qsim::golden_test
