#include "compiler/lowering/tensor_lifetimes.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "core/base/checked_math.h"

namespace qsim::compiler {
namespace {

using Tensors = std::span<const TensorLifetime>;
using Order = std::vector<std::size_t>;

std::int64_t region_bytes(const TensorLifetime& tensor) {
  return round_up(tensor.bytes, kRegionAlignment);
}

bool live_together(const TensorLifetime& a, const TensorLifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}

// Sums of the regions that each layer needs.
std::vector<std::int64_t> live_bytes_of_layers(Tensors tensors) {
  std::size_t layers = 0;
  for (const TensorLifetime& t : tensors) layers = std::max(layers, t.last + 1);
  std::vector<std::int64_t> change(layers + 1);
  for (const TensorLifetime& t : tensors) {
    change[t.first] = checked_add(change[t.first], region_bytes(t));
    change[t.last + 1] -= region_bytes(t);
  }
  std::partial_sum(change.begin(), change.end(), change.begin(), checked_add);
  return change;
}

// The indices 0..n-1 by `key`, which is ascending; equal ones stay in order.
template <typename Key>
Order order_by(std::size_t n, Key key) {
  Order order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  return order;
}

// Orders in which one tensor after the other is placed. None is best for all networks: chains are
// best placed from one end to the other, branches from the layers that need most.
std::vector<Order> orders_of(Tensors tensors) {
  const std::vector<std::int64_t> live = live_bytes_of_layers(tensors);
  const auto most_live = [&](std::size_t i) {
    const auto begin = live.begin() + static_cast<std::ptrdiff_t>(tensors[i].first);
    return *std::max_element(begin,
                             live.begin() + static_cast<std::ptrdiff_t>(tensors[i].last) + 1);
  };
  const auto size = [&](std::size_t i) { return -region_bytes(tensors[i]); };
  const auto length = [&](std::size_t i) {
    return -static_cast<std::int64_t>(tensors[i].last - tensors[i].first);
  };
  const std::size_t n = tensors.size();
  return {
      order_by(n, [&](std::size_t i) { return tensors[i].first; }),
      order_by(n, [&](std::size_t i) { return std::pair(-most_live(i), size(i)); }),
      order_by(n, [&](std::size_t i) { return std::pair(size(i), tensors[i].first); }),
      order_by(n, [&](std::size_t i) { return std::pair(length(i), size(i)); }),
      order_by(n, [&](std::size_t i) { return std::tuple(-most_live(i), length(i), size(i)); }),
      order_by(n, [&](std::size_t i) { return -static_cast<std::int64_t>(tensors[i].last); }),
  };
}

// Tensors that have a place.
class Places {
 public:
  explicit Places(Tensors tensors) : tensors_(tensors), addresses_(tensors.size()) {}

  // The smallest gap between the tensors that are live with this one and that it fits; the first of
  // equal ones. Without such a gap, after all of them.
  void place(std::size_t index) {
    const std::int64_t bytes = region_bytes(tensors_[index]);
    std::int64_t end = 0;                                       // of what is live with it, so far
    std::optional<std::pair<std::int64_t, std::int64_t>> best;  // gap, address
    for (const std::size_t other : by_address_) {
      if (!live_together(tensors_[index], tensors_[other])) continue;
      const std::int64_t gap = addresses_[other] - end;
      if (gap >= bytes && (!best || gap < best->first)) best = {gap, end};
      end = std::max(end, addresses_[other] + region_bytes(tensors_[other]));
    }
    addresses_[index] = best ? best->second : end;
    end_ = std::max(end_, checked_add(addresses_[index], bytes));
    const auto next = std::upper_bound(
        by_address_.begin(), by_address_.end(), addresses_[index],
        [this](std::int64_t address, std::size_t other) { return address < addresses_[other]; });
    by_address_.insert(next, index);
  }

  std::int64_t end() const { return end_; }
  DramPlaces take() { return {std::move(addresses_), end_}; }

 private:
  Tensors tensors_;
  std::vector<std::int64_t> addresses_;
  Order by_address_;  // of the tensors placed
  std::int64_t end_ = 0;
};

}  // namespace

DramPlaces place_apart(Tensors tensors) {
  DramPlaces places;
  for (const TensorLifetime& tensor : tensors) {
    places.addresses.push_back(places.bytes);
    places.bytes = checked_add(places.bytes, region_bytes(tensor));
  }
  return places;
}

DramPlaces place_by_lifetime(Tensors tensors) {
  const std::int64_t least = most_live_bytes(tensors);
  std::optional<Places> best;
  for (const Order& order : orders_of(tensors)) {
    Places places(tensors);
    for (const std::size_t index : order) places.place(index);
    if (!best || places.end() < best->end()) best = std::move(places);
    if (best->end() == least) break;
  }
  return best->take();
}

std::int64_t most_live_bytes(Tensors tensors) {
  const std::vector<std::int64_t> live = live_bytes_of_layers(tensors);
  return *std::max_element(live.begin(), live.end());
}

}  // namespace qsim::compiler
