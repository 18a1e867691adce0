// What `run` does with an ofmap when the engine hands it over: compares it with golden's tensor,
// frees that tensor, and keeps the parts that are needed later.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "report/tensor_comparison.h"

namespace qsim::cli {

class OfmapSink {
 public:
  // `golden` has one tensor per graph layer, or none where nothing is compared or dumped; it loses
  // each that has been compared, and with `dumps` gets the engine's ofmap in its place. Both must
  // outlive this object.
  OfmapSink(const Program& program, std::vector<Tensor>& golden, bool compares, bool dumps);

  // A TakeOfmap. Throws InternalError when golden's tensor is missing or of another shape or dtype.
  void take(std::size_t layer, std::span<const std::byte> dram);

  // The result, after the run. Absent where nothing was to be compared; throws InternalError for a
  // layer that was not handed over.
  std::optional<report::Comparison> comparison() const;
  // The last program layer's ofmap; absent before it was handed over.
  const std::optional<Tensor>& last() const { return last_; }
  double seconds() const { return seconds_; }  // spent in take()

 private:
  void take_golden(std::size_t layer, std::span<const std::byte> dram);

  const Program& program_;
  std::vector<Tensor>& golden_;
  bool compares_;
  bool dumps_;
  report::OfmapComparison comparison_;
  std::optional<Tensor> last_;
  double seconds_ = 0;
};

}  // namespace qsim::cli
