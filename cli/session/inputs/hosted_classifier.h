// A network with a host that tells pictures apart: how a picture becomes its input, and what its
// output has for each class. It takes one picture at a time.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/session/inputs/hosted_model.h"
#include "cli/session/inputs/picture_set.h"
#include "report/output_class.h"

namespace qsim::cli {

struct HostedClassifier {
  HostedModel model;
  PictureForm form;
  Shape input;                  // of one picture, in the file's layout
  std::optional<Value> levels;  // of an input of 8-bit levels; else it is float32
  std::int64_t classes = 0;
};

// `load` gives the network for the shapes of inputs that it gets. The batch of the file, and open
// sizes of its input, become those of one picture of the sidecar. Throws Error (exit code 3) where
// the network has not one input of pictures and one output [1, classes], in float32 or 8-bit
// levels.
HostedClassifier load_classifier(
    const NetworkRequest& request, const ArchConfig& config,
    const std::function<HostedModel(const std::map<std::string, Shape>&)>& load);

// The network's input of one of the pictures.
Tensor host_input(const HostedClassifier& classifier, const PictureSet& pictures,
                  std::int64_t picture);

// The output's numbers for the classes of one picture: where it has real numbers, those, else its
// levels. Nothing for a tensor of another form than [1, classes].
std::optional<std::vector<double>> class_scores(const Tensor& output);

// The best classes of the only output of a network, best first; none where it has no classes.
// Probabilities are the output's own where a Softmax made it. Throws Error for a sidecar of another
// number of labels.
std::vector<report::OutputClass> best_host_classes(const HostedModel& model, const Tensor& output,
                                                   std::size_t count);

}  // namespace qsim::cli
