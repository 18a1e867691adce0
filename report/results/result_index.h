// Layers by name and points by what they are of, found without a look at all the others: files of
// results come from users, and may have very many of both.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "report/results/network_result.h"

namespace qsim::report {

// Finds layers by name; they must outlive it.
class LayerIndex {
 public:
  explicit LayerIndex(const std::vector<ResultLayer>& layers) {
    for (const ResultLayer& layer : layers) layers_.emplace(layer.name, &layer);
  }

  // The first of that name; nullptr for none.
  const ResultLayer* find(std::string_view name) const {
    const auto found = layers_.find(name);
    return found == layers_.end() ? nullptr : found->second;
  }

 private:
  std::unordered_map<std::string_view, const ResultLayer*> layers_;
};

// Finds results by label (full_label), which no two share; they must outlive it.
class PointIndex {
 public:
  explicit PointIndex(const std::vector<NetworkResult>& results) {
    for (const NetworkResult& result : results) results_.emplace(full_label(result), &result);
  }

  // The one of the same point; nullptr for none.
  const NetworkResult* find(const NetworkResult& point) const {
    const auto found = results_.find(full_label(point));
    return found != results_.end() && same_point(*found->second, point) ? found->second : nullptr;
  }

 private:
  std::unordered_map<std::string, const NetworkResult*> results_;
};

}  // namespace qsim::report
