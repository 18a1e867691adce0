#include "cli/session/inputs/picture_set.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cli/host_tensors/classes.h"
#include "cli/host_tensors/preprocess.h"
#include "cli/session/inputs/class_folders.h"
#include "core/base/limits.h"
#include "core/base/random.h"
#include "formats/files/files.h"
#include "formats/files/held_file.h"
#include "formats/pictures/cifar.h"
#include "formats/pictures/picture_folder.h"
#include "formats/traces/npy.h"
#include "golden/common/thread_team.h"

namespace qsim::cli {
namespace {

namespace fs = std::filesystem;

// A pipe gives its bytes once, and a device may have no end: pictures are read as often as wanted.
void require_file(const fs::path& path) { static_cast<void>(formats::HeldFile(path)); }

void require_different(const std::vector<fs::path>& batches) {
  for (std::size_t i = 0; i < batches.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      std::error_code ignored;
      if (!fs::equivalent(batches[i], batches[j], ignored)) continue;
      throw_bad_input(batches[i].string() + ": is the same file as " + batches[j].string() +
                      "; its pictures would count twice; give it once");
    }
  }
}

std::vector<int> labels_beside(const fs::path& npy, std::int64_t pictures) {
  const fs::path path = labels_path(npy);
  if (!formats::is_there(path)) return {};
  require_file(path);
  const Tensor labels = formats::read_npy(path);
  if (labels.dtype != DType::kInt32 || labels.shape != Shape{pictures}) {
    throw_bad_input(path.string() + ": is " + std::string(dtype_name(labels.dtype)) + " " +
                    shape_text(labels.shape) + "; expected int32 " + shape_text({pictures}) +
                    ", a label for each picture of " + npy.string());
  }
  const std::span<const std::int32_t> values = labels.as<std::int32_t>();
  return {values.begin(), values.end()};
}

void require_count(const fs::path& first, std::int64_t pictures) {
  if (pictures <= kMaxImages) return;
  throw_bad_input(first.string() + ": " + std::to_string(pictures) + " pictures; the most are " +
                  std::to_string(kMaxImages));
}

// `to` has as many numbers as the picture has bytes.
template <typename Table, typename Number>
void map_pixels(const formats::Image& image, const Table& table, std::span<Number> to) {
  QSIM_CHECK(image.rgb.size() == to.size(), "a fitted picture");
  for (std::size_t i = 0; i < to.size(); i += 3) {
    for (std::size_t c = 0; c < 3; ++c) to[i + c] = table[c][image.rgb[i + c]];
  }
}

}  // namespace

std::vector<std::size_t> drawn(std::size_t count, std::size_t wanted, std::uint64_t seed) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random random(seed);
  for (std::size_t i = 0; i < wanted; ++i) {
    const std::int64_t other =
        random.uniform(static_cast<std::int64_t>(i), static_cast<std::int64_t>(count) - 1);
    std::swap(order[i], order[static_cast<std::size_t>(other)]);
  }
  order.resize(wanted);
  std::sort(order.begin(), order.end());
  return order;
}

fs::path labels_path(const fs::path& npy) { return fs::path(npy).replace_extension(".labels.npy"); }

PictureForm picture_form(const Model& model) {
  PictureForm form{input_form(model.graph), model.sidecar, model.name, model.path};
  const OutputForm output = output_form(model.graph);
  if (has_classes(output)) form.classes = output.value.shape.channels;
  return form;
}

PictureForm picture_form(const Graph& graph, const fs::path& path) {
  PictureForm form;
  form.input.graph = graph.name;
  form.input.value.shape = graph.input_shape();
  form.input.layout = graph.host.layout;
  form.sidecar = formats::load_sidecar_of(path);
  form.model = path.string();
  form.path = path;
  const ImageShape& output = graph.output_shape();
  const bool is_vector = output.height == 1 && output.width == 1 && output.channels > 1;
  if (is_vector) form.classes = output.channels;
  return form;
}

PictureSet::PictureSet(const std::vector<fs::path>& data, PictureForm form, const Note& note)
    : form_(std::move(form)) {
  QSIM_CHECK(!data.empty(), "there is a path");
  form_.input = one_picture(form_.input);
  if (form_.sidecar) class_names_ = form_.sidecar->labels;
  const fs::path& first = data.front();
  if (!formats::is_there(first))
    throw_bad_input(first.string() + ": there is no such file or folder");
  root_ = first.parent_path();
  const bool all_batches = std::all_of(data.begin(), data.end(), formats::is_batch_name);
  if (data.size() > 1 && !all_batches) {
    throw_bad_input(first.string() + " and " + data[1].string() +
                    ": of several paths each must be a CIFAR-10 batch (.bin)");
  }
  for (const fs::path& path : data) {
    if (!formats::is_folder(path)) require_file(path);
  }
  if (formats::is_folder(first)) {
    add_folder(first, note);
  } else if (all_batches) {
    add_batches(data);
  } else if (first.extension() == ".npy") {
    add_npy(first);
  } else {
    add_pictures({first});
  }
  require_count(first, count());
  require_form();
  require_labels();
}

void PictureSet::add_batches(const std::vector<fs::path>& batches) {
  kind_ = Kind::kCifar;
  has_labels_ = true;
  require_different(batches);
  std::int64_t pictures = 0;
  for (const fs::path& batch : batches) pictures += formats::cifar_count(batch);
  require_count(batches.front(), pictures);
  for (const fs::path& batch : batches) {
    files_.push_back(batch);
    std::int64_t index = 0;
    for (const int label : formats::cifar_labels(batch)) {
      places_.push_back({files_.size() - 1, index++, label});
    }
  }
}

void PictureSet::add_folder(const fs::path& folder, const Note& note) {
  root_ = folder;
  formats::PictureFolder found = formats::scan_picture_folder(folder);
  if (!found.batches.empty()) return add_batches(found.batches);
  add_pictures(std::move(found.pictures));
  if (!found.classes.empty()) add_class_folders(found.classes, found.classes_of, note);
}

void PictureSet::add_pictures(std::vector<fs::path> pictures) {
  files_ = std::move(pictures);
  for (std::size_t i = 0; i < files_.size(); ++i) places_.push_back({i, 0, -1});
}

void PictureSet::add_class_folders(const std::vector<std::string>& names,
                                   const std::vector<std::size_t>& classes_of, const Note& note) {
  kind_ = Kind::kClassFolders;
  has_labels_ = true;
  const std::vector<int> classes =
      classes_of_folders(names, class_names_, form_.classes, root_, note);
  for (std::size_t i = 0; i < places_.size(); ++i) places_[i].label = classes[classes_of[i]];
  if (class_names_.empty()) class_names_ = names;
}

void PictureSet::add_npy(const fs::path& path) {
  kind_ = Kind::kNpy;
  files_ = {path};
  all_ = real_pictures_from_host(formats::read_npy(path), form_.input, path.string());
  const std::vector<int> labels = labels_beside(path, all_.shape.front());
  has_labels_ = !labels.empty();
  for (std::int64_t i = 0; i < all_.shape.front(); ++i) {
    places_.push_back({0, i, has_labels_ ? labels[static_cast<std::size_t>(i)] : -1});
  }
}

void PictureSet::require_form() const {
  if (kind_ == Kind::kNpy || form_.sidecar) return;
  fs::path expected = form_.path;
  expected.replace_extension(".yaml");
  throw_bad_input(files_.front().string() + ": model '" + form_.model +
                  "' does not say how a picture becomes its input; expected " + expected.string() +
                  " beside it, or a .npy of float32");
}

void PictureSet::require_finite() const {
  if (kind_ != Kind::kNpy) return;
  const std::span<const float> values = all_.as<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    throw_bad_input(files_.front().string() + ": element " + std::to_string(i % picture_elems()) +
                    " of picture " + std::to_string(i / picture_elems()) +
                    " is not a finite number (counted in NHWC order)");
  }
}

void PictureSet::require_labels() const {
  if (!has_labels_ || form_.classes == 0) return;
  for (std::int64_t i = 0; i < count(); ++i) {
    if (label(i) >= 0 && label(i) < form_.classes) continue;
    throw_bad_input(name(i) + ": label " + std::to_string(label(i)) + "; model '" + form_.model +
                    "' has classes 0 to " + std::to_string(form_.classes - 1));
  }
}

std::string PictureSet::name(std::int64_t i) const {
  const Place& place = places_[static_cast<std::size_t>(i)];
  const std::string file = files_[place.file].lexically_relative(root_).string();
  const bool has_many = kind_ == Kind::kCifar || kind_ == Kind::kNpy;
  return has_many ? file + "[" + std::to_string(place.index) + "]" : file;
}

std::string_view PictureSet::kind() const {
  switch (kind_) {
    case Kind::kCifar:
      return "cifar10";
    case Kind::kClassFolders:
      return "class_folders";
    case Kind::kNpy:
      return "npy";
    case Kind::kPictures:
      break;
  }
  return "pictures";
}

std::vector<fs::path> PictureSet::files() const {
  std::vector<fs::path> used;
  for (const Place& place : places_) {
    if (used.empty() || used.back() != files_[place.file]) used.push_back(files_[place.file]);
  }
  return used;
}

void PictureSet::sample(std::int64_t wanted, std::uint64_t seed) {
  QSIM_CHECK(wanted >= 1, "a sample has a picture");
  if (wanted > count()) {
    throw_bad_input((root_.empty() || files_.size() == 1 ? files_.front() : root_).string() + ": " +
                    std::to_string(wanted) + " pictures are wanted; there are " +
                    std::to_string(count()));
  }
  std::vector<Place> kept;
  for (const std::size_t i : drawn(places_.size(), static_cast<std::size_t>(wanted), seed)) {
    kept.push_back(places_[i]);
  }
  places_ = std::move(kept);
}

std::size_t PictureSet::picture_elems() const {
  return static_cast<std::size_t>(element_count(form_.input.value.shape.nhwc()));
}

formats::Image PictureSet::fitted(const Place& place) const {
  const fs::path& file = files_[place.file];
  formats::Image image = kind_ == Kind::kCifar ? formats::read_cifar(file, place.index).image
                                               : formats::read_image(file);
  return fitted_picture(std::move(image), *form_.sidecar, form_.input);
}

Tensor PictureSet::read(std::int64_t first, std::int64_t pictures) const {
  golden::ThreadTeam alone(1);
  return read(first, pictures, alone);
}

Tensor PictureSet::read(std::int64_t first, std::int64_t pictures, golden::ThreadTeam& team) const {
  QSIM_CHECK(first >= 0 && pictures >= 1 && first <= count() - pictures, "pictures that are there");
  ImageShape shape = form_.input.value.shape;
  shape.batch = pictures;
  Tensor batch(DType::kFloat32, shape.nhwc());
  const std::size_t elems = picture_elems();
  if (kind_ == Kind::kNpy) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(pictures); ++i) {
      const auto from =
          all_.as<float>().subspan(static_cast<std::size_t>(place(first, i).index) * elems, elems);
      std::copy(from.begin(), from.end(), batch.as<float>().subspan(i * elems).begin());
    }
    return batch;
  }
  const RealPixels pixels = real_pixels(*form_.sidecar);
  team.run(static_cast<std::size_t>(pictures), [&](std::size_t i) {
    map_pixels(fitted(place(first, i)), pixels, batch.as<float>().subspan(i * elems, elems));
  });
  return batch;
}

void PictureSet::read_levels(std::int64_t first, const Value& value,
                             std::span<std::byte> to) const {
  golden::ThreadTeam alone(1);
  read_levels(first, value, to, alone);
}

void PictureSet::read_levels(std::int64_t first, const Value& value, std::span<std::byte> to,
                             golden::ThreadTeam& team) const {
  const std::size_t elems = picture_elems();
  QSIM_CHECK(to.size() % elems == 0, "whole pictures");
  Value one = value;
  one.shape.batch = 1;
  const std::optional<LevelPixels> pixels =
      kind_ == Kind::kNpy ? std::nullopt : level_pixels(*form_.sidecar, one);
  team.run(to.size() / elems, [&](std::size_t i) {
    const std::span<std::byte> picture = to.subspan(i * elems, elems);
    if (pixels) return map_pixels(fitted(place(first, i)), *pixels, picture);
    const Tensor levels = quantize_input(read(first + static_cast<std::int64_t>(i), 1), one);
    std::copy(levels.bytes.begin(), levels.bytes.end(), picture.begin());
  });
}

}  // namespace qsim::cli
