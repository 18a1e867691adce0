#include "cli/session/inputs/picture_series.h"

#include <algorithm>

#include "cli/host_tensors/preprocess.h"
#include "cli/session/inputs/shipped_files.h"
#include "formats/pictures/cifar.h"
#include "formats/traces/npy.h"

namespace qsim::cli {

PictureSeries::PictureSeries(const NetworkRequest& request, const SeriesChoice& choice,
                             const ArchConfig& config, const Model& model)
    : file_(find_input_file(request, choice.input, config, model)),
      model_(model),
      one_(one_picture(input_form(model.graph))),
      first_(choice.index.value_or(0)) {
  const std::int64_t there = available();
  const std::int64_t wanted = choice.images.value_or(std::max<std::int64_t>(there - first_, 1));
  if (first_ > there - wanted) {
    const std::string what =
        file_.name.empty() ? "model '" + model.name + "'" : file_.path.string();
    throw_bad_input(what + ": pictures " + std::to_string(first_) + " to " +
                    std::to_string(first_ + wanted - 1) + " are wanted; there are " +
                    std::to_string(there) + ", allowed: 0 to " + std::to_string(there - 1));
  }
  count_ = wanted;
}

std::string PictureSeries::name() const {
  return file_.name.empty() ? std::string(model_kind_name(model_.kind)) : file_.name;
}

// How many pictures there are; reads those that lie in one tensor.
std::int64_t PictureSeries::available() {
  switch (file_.kind) {
    case InputKind::kCifar:
      require_preprocessing(file_, model_);
      return formats::cifar_count(file_.path);
    case InputKind::kPicture:
      require_preprocessing(file_, model_);
      return 1;
    case InputKind::kNpy:
      all_ = pictures_from_host(formats::read_npy(file_.path), one_, file_.path.string());
      return all_.shape[0];
    case InputKind::kOwn:
      all_ = *model_.own_input;
      return all_.shape[0];
  }
  return 0;
}

std::optional<int> PictureSeries::read(std::int64_t i, std::span<std::byte> to) const {
  const std::int64_t number = first_ + i;
  if (!all_.bytes.empty()) {
    QSIM_CHECK(all_.bytes.size() == to.size() * static_cast<std::size_t>(all_.shape[0]),
               "a picture fills its place");
    const auto from = all_.bytes.begin() + static_cast<std::ptrdiff_t>(to.size()) * number;
    std::copy_n(from, to.size(), to.begin());
    return std::nullopt;
  }
  formats::CifarRecord record;
  if (labelled()) {
    record = formats::read_cifar(file_.path, number);
  } else {
    record.image = formats::read_image(file_.path);
  }
  const Tensor picture = preprocess(record.image, *model_.sidecar, one_);
  QSIM_CHECK(picture.bytes.size() == to.size(), "a picture fills its place");
  std::copy(picture.bytes.begin(), picture.bytes.end(), to.begin());
  if (!labelled()) return std::nullopt;
  return record.label;
}

Model load_model_for_series(NetworkRequest request, const SeriesChoice& choice,
                            const ArchConfig& config) {
  const std::string& name = request.model.empty() ? config.model : request.model;
  const std::string kind =
      request.model.empty() ? "config '" + config.name + "': model" : std::string("model");
  request.batch.reset();
  const bool own_input =
      choice.input.empty() && model_kind(find_model(name, kind)) == ModelKind::kWorkload;
  if (own_input) request.batch = choice.images;
  return load_model(request, config);
}

}  // namespace qsim::cli
