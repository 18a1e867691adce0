// Many pictures with their classes, where they have any, as a network takes them: CIFAR-10 binary
// batches, a folder of class folders, a folder of pictures, one picture, or a .npy of float32. For
// `eval` and `quantize`; docs/reference/eval.md is the format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/host_tensors/host_layout.h"
#include "cli/session/inputs/model_source.h"
#include "core/network/graph.h"
#include "formats/pictures/image.h"
#include "formats/settings/sidecar.h"
#include "golden/common/thread_team.h"

namespace qsim::cli {

// What a network says of its pictures.
struct PictureForm {
  InputForm input;  // its batch and dtype do not count
  std::optional<formats::Sidecar> sidecar;
  std::string model;           // for errors: the name, and the file beside which a sidecar is
  std::filesystem::path path;  // ""
  std::int64_t classes = 0;    // that the network tells apart; 0: not known, or no classes
};

// Where the labels of pictures.npy are, whether or not they are there: pictures.labels.npy.
std::filesystem::path labels_path(const std::filesystem::path& npy);

// `wanted` numbers below `count`, in their order: the first of a seeded permutation.
std::vector<std::size_t> drawn(std::size_t count, std::size_t wanted, std::uint64_t seed);

PictureForm picture_form(const Model& model);
// The same for a float network from a file, whose sidecar it reads. Throws Error for a malformed
// sidecar.
PictureForm picture_form(const Graph& graph, const std::filesystem::path& path);

class PictureSet {
 public:
  using Note = std::function<void(const std::string&)>;

  // `data` is one path, or several CIFAR-10 batches. Opens no picture, but reads a .npy. Throws
  // Error (exit code 3) for a pipe, a device and a batch that is given twice, where there are no
  // pictures, or more than kMaxImages, where the network does not say how a picture becomes its
  // input, for another shape of a .npy, and for classes that the network does not have. `note` gets
  // a line where folders are classes by their order.
  PictureSet(const std::vector<std::filesystem::path>& data, PictureForm form, const Note& note);

  std::int64_t count() const { return static_cast<std::int64_t>(places_.size()); }
  bool has_labels() const { return has_labels_; }
  int label(std::int64_t i) const { return places_[static_cast<std::size_t>(i)].label; }
  // By class: the network's labels, or else the class folders; empty where there are neither.
  const std::vector<std::string>& class_names() const { return class_names_; }
  // "cat/17.png", "test_batch.bin[3]", "pictures.npy[3]"
  std::string name(std::int64_t i) const;
  // "cifar10", "class_folders", "pictures", "npy"
  std::string_view kind() const;
  // The files that the pictures are in, in their order.
  std::vector<std::filesystem::path> files() const;

  // Keeps `wanted` pictures drawn with a seed, in the order that they had. Throws Error where there
  // are fewer.
  void sample(std::int64_t wanted, std::uint64_t seed);

  // Throws Error naming the first element of a .npy that is infinite or NaN.
  void require_finite() const;

  // Pictures [first, first + pictures) as float32 [pictures][H][W][C]: resized, (x / 255 - mean) /
  // std. Throws Error naming a picture that cannot be read. Several threads may read at once.
  Tensor read(std::int64_t first, std::int64_t pictures) const;
  // The same by the threads of a team.
  Tensor read(std::int64_t first, std::int64_t pictures, golden::ThreadTeam& team) const;
  // The same as bytes of a quantized network's input; `to` takes all of them.
  void read_levels(std::int64_t first, const Value& value, std::span<std::byte> to) const;
  void read_levels(std::int64_t first, const Value& value, std::span<std::byte> to,
                   golden::ThreadTeam& team) const;

 private:
  enum class Kind : std::uint8_t { kCifar, kClassFolders, kPictures, kNpy };
  struct Place {
    std::size_t file = 0;    // of files_
    std::int64_t index = 0;  // in it
    int label = -1;
  };

  void add_batches(const std::vector<std::filesystem::path>& batches);
  void add_folder(const std::filesystem::path& folder, const Note& note);
  void add_class_folders(const std::vector<std::string>& names,
                         const std::vector<std::size_t>& classes_of, const Note& note);
  void add_pictures(std::vector<std::filesystem::path> pictures);
  void add_npy(const std::filesystem::path& path);
  void require_form() const;
  void require_labels() const;
  const Place& place(std::int64_t first, std::size_t i) const {
    return places_[static_cast<std::size_t>(first) + i];
  }
  formats::Image fitted(const Place& place) const;
  std::size_t picture_elems() const;

  PictureForm form_;
  Kind kind_ = Kind::kPictures;
  std::filesystem::path root_;  // names are relative to it
  std::vector<std::filesystem::path> files_;
  std::vector<Place> places_;  // one a picture
  bool has_labels_ = false;
  std::vector<std::string> class_names_;
  Tensor all_;  // of a .npy
};

}  // namespace qsim::cli
