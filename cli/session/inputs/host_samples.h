// Samples for a network of any inputs: pictures for its one input, a .npy of several, or a folder
// with NAME.npy for each input.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/session/inputs/picture_set.h"
#include "core/network/host_network.h"

namespace qsim::cli {

// A picture as the network's input; nothing where the input is none: it has not three channels.
struct HostPicture {
  PictureForm form;
  bool is_nhwc = false;
  Shape shape;  // of the input, with its batch
};
// `model` is the file, whose sidecar it reads.
std::optional<HostPicture> host_picture(const HostValue& input, const std::filesystem::path& model);
// Pictures [first, first + the input's batch) of a set, as the input.
Tensor picture_input(const PictureSet& pictures, const HostPicture& picture, std::int64_t first);

class HostSampleSet {
 public:
  // `data` as PictureSet has it, or a .npy or a folder of them: one for each of `names`, the
  // network's inputs.
  HostSampleSet(const std::vector<std::filesystem::path>& data,
                const std::vector<std::string>& names);

  // The shapes that .npy files give inputs, for those of which the network does not say it: one
  // sample each. None of pictures.
  std::map<std::string, Shape> shapes() const;

  // Before all below. `network` is of the file `model`. Throws Error for tensors of another shape
  // or type, for pictures of which the network does not say how they become its input, and where
  // inputs have other numbers of samples.
  void open(const HostNetwork& network, const std::filesystem::path& model,
            const PictureSet::Note& note);
  std::int64_t count() const;
  // Keeps `wanted` drawn with a seed; at most count().
  void sample(std::int64_t wanted, std::uint64_t seed);
  // One tensor for each input. Several threads may read at once.
  std::vector<Tensor> read(std::int64_t sample) const;

 private:
  void open_arrays(const HostNetwork& network);
  void require_fits(const HostValue& input, const Tensor& array) const;

  std::vector<std::filesystem::path> data_;
  std::vector<std::string> names_;
  std::map<std::string, Tensor> arrays_;  // by input, of .npy files
  std::vector<Shape> shapes_;             // by input of the network
  std::vector<const Tensor*> order_;      // the same
  std::vector<std::size_t> kept_;         // samples of arrays
  std::optional<PictureSet> pictures_;
  std::optional<HostPicture> picture_;
};

}  // namespace qsim::cli
