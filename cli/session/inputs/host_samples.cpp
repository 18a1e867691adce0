#include "cli/session/inputs/host_samples.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/printable.h"
#include "core/base/words.h"
#include "formats/files/files.h"
#include "formats/traces/npy.h"

namespace qsim::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kPictureChannels = 3;

std::string form_text(const Tensor& tensor) {
  return std::string(dtype_name(tensor.dtype)) + " " + shape_text(tensor.shape);
}

// [N][H][W][C] as [N][C][H][W].
Tensor channels_first(const Tensor& nhwc) {
  const Shape& from = nhwc.shape;
  Tensor nchw(DType::kFloat32, {from[0], from[3], from[1], from[2]});
  const auto pixels = static_cast<std::size_t>(from[1] * from[2]);
  const auto channels = static_cast<std::size_t>(from[3]);
  const auto read = nhwc.as<float>();
  const auto written = nchw.as<float>();
  for (std::size_t i = 0; i < read.size(); ++i) {
    const std::size_t picture = i / (pixels * channels);
    const std::size_t pixel = i / channels % pixels;
    written[(picture * channels + i % channels) * pixels + pixel] = read[i];
  }
  return nchw;
}

bool is_npy_folder(const fs::path& folder, const std::vector<std::string>& names) {
  return formats::is_folder(folder) && std::ranges::any_of(names, [&](const std::string& name) {
           return formats::is_there(folder / (name + ".npy"));
         });
}

}  // namespace

std::optional<HostPicture> host_picture(const HostValue& input, const fs::path& model) {
  const HostArray& array = input.array;
  if (!array.has_shape() || array.tensor.dtype != DType::kFloat32) return std::nullopt;
  const Shape& shape = array.tensor.shape;
  if (shape.size() != 4) return std::nullopt;
  HostPicture picture;
  picture.is_nhwc = shape[1] != kPictureChannels;
  if (picture.is_nhwc && shape[3] != kPictureChannels) return std::nullopt;
  picture.shape = shape;
  picture.form.input.graph = input.name;
  picture.form.input.value.shape = picture.is_nhwc ? ImageShape{1, shape[1], shape[2], shape[3]}
                                                   : ImageShape{1, shape[2], shape[3], shape[1]};
  picture.form.input.layout =
      picture.is_nhwc ? HostInterface::Layout::kNhwc : HostInterface::Layout::kNchw;
  picture.form.sidecar = formats::load_sidecar_of(model);
  picture.form.model = model.string();
  picture.form.path = model;
  return picture;
}

Tensor picture_input(const PictureSet& pictures, const HostPicture& picture, std::int64_t first) {
  Tensor nhwc = pictures.read(first, picture.shape[0]);
  return picture.is_nhwc ? nhwc : channels_first(nhwc);
}

HostSampleSet::HostSampleSet(const std::vector<fs::path>& data,
                             const std::vector<std::string>& names)
    : data_(data), names_(names) {
  const fs::path& first = data_.front();
  if (!formats::is_there(first)) {
    throw_bad_input(first.string() + ": there is no such file or folder");
  }
  if (is_npy_folder(first, names_)) {
    for (const std::string& name : names_) {
      arrays_[name] = formats::read_host_npy(first / (name + ".npy"));
    }
    return;
  }
  if (names_.size() != 1) {
    throw_bad_input(first.string() + ": the network has the inputs " + joined(names_) +
                    "; expected a folder with NAME.npy for each");
  }
  if (first.extension() == ".npy") arrays_[names_[0]] = formats::read_host_npy(first);
}

std::map<std::string, Shape> HostSampleSet::shapes() const {
  std::map<std::string, Shape> shapes;
  for (const auto& [name, array] : arrays_) {
    Shape shape = array.shape;
    if (!shape.empty()) shape[0] = 1;
    shapes[name] = std::move(shape);
  }
  return shapes;
}

void HostSampleSet::open(const HostNetwork& network, const fs::path& model,
                         const PictureSet::Note& note) {
  for (const HostValueId id : network.inputs) {
    shapes_.push_back(network.values[id].array.tensor.shape);
  }
  if (!arrays_.empty()) return open_arrays(network);
  const HostValue& input = network.values[network.inputs[0]];
  picture_ = host_picture(input, model);
  if (!picture_) {
    throw_bad_input(data_.front().string() + ": the input '" + echoed(input.name) + "' is " +
                    form_text(input.array.tensor) +
                    ", no pictures of 3 channels; expected a .npy of samples of it");
  }
  pictures_.emplace(data_, picture_->form, note);
  if (count() > 0) return;
  throw_bad_input(data_.front().string() + ": " + std::to_string(pictures_->count()) +
                  " pictures; expected at least " + std::to_string(picture_->shape[0]) +
                  ", the batch of the network");
}

void HostSampleSet::require_fits(const HostValue& input, const Tensor& array) const {
  const Tensor& declared = input.array.tensor;
  Shape one = array.shape;
  if (!one.empty() && !declared.shape.empty()) one[0] = declared.shape[0];
  const bool has_all = one == declared.shape && (one.empty() || array.shape[0] >= one[0]);
  if (array.dtype == declared.dtype && has_all) return;
  throw_bad_input(data_.front().string() + ": '" + echoed(input.name) + "' is " + form_text(array) +
                  "; expected " + form_text(declared) +
                  ", or several of these along the first axis");
}

// A tensor of one sample stands for all.
void HostSampleSet::open_arrays(const HostNetwork& network) {
  std::size_t most = 1;
  for (const HostValueId id : network.inputs) {
    const HostValue& input = network.values[id];
    const Tensor& array = arrays_.at(input.name);
    require_fits(input, array);
    order_.push_back(&array);
    const Shape& shape = input.array.tensor.shape;
    const std::size_t samples =
        shape.empty() ? 1 : static_cast<std::size_t>(array.shape[0] / shape[0]);
    if (samples > 1 && most > 1 && samples != most) {
      throw_bad_input(data_.front().string() + ": '" + echoed(input.name) + "' has " +
                      std::to_string(samples) + " samples, another input " + std::to_string(most) +
                      "; expected as many for all");
    }
    most = std::max(most, samples);
  }
  kept_.resize(most);
  std::iota(kept_.begin(), kept_.end(), std::size_t{0});
}

std::int64_t HostSampleSet::count() const {
  if (!pictures_) return std::ssize(kept_);
  return pictures_->count() / picture_->shape[0];
}

void HostSampleSet::sample(std::int64_t wanted, std::uint64_t seed) {
  if (pictures_) return pictures_->sample(wanted * picture_->shape[0], seed);
  kept_ = drawn(kept_.size(), static_cast<std::size_t>(wanted), seed);
}

std::vector<Tensor> HostSampleSet::read(std::int64_t sample) const {
  if (pictures_) return {picture_input(*pictures_, *picture_, sample * picture_->shape[0])};
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    Tensor tensor(order_[i]->dtype, shapes_[i]);
    const std::size_t bytes = tensor.bytes.size();
    const bool has_many = order_[i]->bytes.size() >= 2 * bytes;
    const std::size_t first = has_many ? kept_[static_cast<std::size_t>(sample)] * bytes : 0;
    std::copy_n(order_[i]->bytes.begin() + static_cast<std::ptrdiff_t>(first), bytes,
                tensor.bytes.begin());
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace qsim::cli
