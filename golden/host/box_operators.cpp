#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "golden/host/host_operators.h"
#include "golden/host/movement.h"

namespace qsim::golden {
namespace {

// A box as its corners.
struct Box {
  float top = 0;
  float left = 0;
  float bottom = 0;
  float right = 0;
  float area() const { return (right - left) * (bottom - top); }
};

Box box_of(std::span<const float> numbers, bool has_center) {
  if (has_center) {
    const float half_width = numbers[2] / 2;
    const float half_height = numbers[3] / 2;
    return {numbers[1] - half_height, numbers[0] - half_width, numbers[1] + half_height,
            numbers[0] + half_width};
  }
  return {std::min(numbers[0], numbers[2]), std::min(numbers[1], numbers[3]),
          std::max(numbers[0], numbers[2]), std::max(numbers[1], numbers[3])};
}

// Whether the intersection of two boxes is more than `limit` of their union.
bool overlap(const Box& a, const Box& b, float limit) {
  const Box common = {std::max(a.top, b.top), std::max(a.left, b.left),
                      std::min(a.bottom, b.bottom), std::min(a.right, b.right)};
  if (common.right <= common.left || common.bottom <= common.top) return false;
  const float together = a.area() + b.area() - common.area();
  if (a.area() <= 0 || b.area() <= 0 || common.area() <= 0 || together <= 0) return false;
  return common.area() / together > limit;
}

// The boxes that non-maximum suppression keeps of one class, best first.
Integers kept_boxes(const std::vector<Box>& boxes, std::span<const float> scores,
                    std::optional<float> score_limit, float overlap_limit, std::int64_t most) {
  Integers order;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (!score_limit || scores[i] > *score_limit) order.push_back(static_cast<std::int64_t>(i));
  }
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return is_below(-scores[static_cast<std::size_t>(a)], -scores[static_cast<std::size_t>(b)]);
  });
  Integers kept;
  for (const std::int64_t next : order) {
    if (static_cast<std::int64_t>(kept.size()) >= most) break;
    const Box& box = boxes[static_cast<std::size_t>(next)];
    const bool is_free = std::ranges::none_of(kept, [&](std::int64_t other) {
      return overlap(box, boxes[static_cast<std::size_t>(other)], overlap_limit);
    });
    if (is_free) kept.push_back(next);
  }
  return kept;
}

}  // namespace

void run_non_max_suppression(HostCall& call) {
  const Shape& boxes = call.shape(0);
  const Shape& scores = call.shape(1);
  if (boxes.size() != 3 || scores.size() != 3 || boxes[2] != 4 || boxes[0] != scores[0] ||
      boxes[1] != scores[2] || call.dtype(0) != DType::kFloat32 ||
      call.dtype(1) != DType::kFloat32) {
    call.malformed("boxes " + shape_text(boxes) + " and scores " + shape_text(scores),
                   "float32 [n, boxes, 4] and [n, classes, boxes]");
  }
  const bool has_center = call.attribute("center_point_box", std::int64_t{0}) != 0;
  const std::int64_t most = call.has(2) ? call.integer(2) : 0;
  const float overlap_limit = call.has(3) ? static_cast<float>(call.real(3)) : 0.0F;
  std::optional<float> score_limit;
  if (call.has(4)) score_limit = static_cast<float>(call.real(4));
  if (!(overlap_limit >= 0 && overlap_limit <= 1)) {
    call.malformed("an iou_threshold of " + std::to_string(overlap_limit), "0 to 1");
  }
  if (!call.computes()) throw HostUnknown{};
  const auto per_image = static_cast<std::size_t>(boxes[1]);
  const std::span<const float> corners = elements<float>(call.input(0));
  const std::span<const float> all_scores = elements<float>(call.input(1));
  Integers chosen;
  for (std::int64_t image = 0; per_image > 0 && image < boxes[0]; ++image) {
    std::vector<Box> of_image;
    for (std::size_t i = 0; i < per_image; ++i) {
      const std::size_t box = static_cast<std::size_t>(image) * per_image + i;
      of_image.push_back(box_of(corners.subspan(4 * box, 4), has_center));
    }
    for (std::int64_t group = 0; group < scores[1]; ++group) {
      const auto row = static_cast<std::size_t>(image * scores[1] + group);
      for (const std::int64_t box :
           kept_boxes(of_image, all_scores.subspan(row * per_image, per_image), score_limit,
                      overlap_limit, most)) {
        chosen.insert(chosen.end(), {image, group, box});
      }
    }
  }
  call.give(0, make_tensor({static_cast<std::int64_t>(chosen.size() / 3), 3},
                           std::span<const std::int64_t>(chosen)));
}

}  // namespace qsim::golden
