#include "golden/common/buffer_plan.h"

#include <map>
#include <set>

namespace qsim::golden {
namespace {

// By tensor, the last step that reads it, or else writes it; the number of steps for the output of
// the last one.
std::map<TensorId, std::size_t> last_uses(std::span<const StepTensors> steps) {
  std::map<TensorId, std::size_t> last;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    last[steps[i].output] = i + 1 == steps.size() ? steps.size() : i;
    for (const TensorId input : steps[i].inputs) last[input] = i;
  }
  return last;
}

}  // namespace

BufferPlan plan_buffers(std::span<const StepTensors> steps) {
  const std::map<TensorId, std::size_t> last = last_uses(steps);
  BufferPlan plan;
  plan.freed.resize(steps.size());
  std::set<std::size_t> free;
  for (const StepTensors& step : steps) {
    if (free.empty()) free.insert(plan.count++);
    const std::size_t buffer = *free.begin();
    free.erase(free.begin());
    const std::size_t i = plan.buffers.size();
    plan.buffers.push_back(buffer);
    const std::size_t end = last.at(step.output);
    if (end < steps.size()) plan.freed[end].push_back(buffer);
    free.insert(plan.freed[i].begin(), plan.freed[i].end());
  }
  return plan;
}

}  // namespace qsim::golden
