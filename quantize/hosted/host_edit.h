// A HostNetwork that is being rewritten: who makes and who reads each value, new values and nodes,
// and what no longer matters.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/network/host_network.h"

namespace qsim::quantize {

inline constexpr std::size_t kNoNode = static_cast<std::size_t>(-1);

// Who makes and reads the values of a network, as it is when this is made.
class HostUses {
 public:
  explicit HostUses(const HostNetwork& network);

  // Indices of HostNetwork::nodes. The maker of an input or a constant is kNoNode; a node that
  // reads a value twice is there twice.
  std::size_t maker(HostValueId id) const { return makers_[id]; }
  const std::vector<std::size_t>& readers(HostValueId id) const { return readers_[id]; }
  bool is_input(HostValueId id) const { return is_input_[id]; }
  bool is_output(HostValueId id) const { return is_output_[id]; }
  // The one node that reads the value, which is no output; kNoNode where there is none such.
  std::size_t only_reader(HostValueId id) const;

 private:
  std::vector<std::size_t> makers_;
  std::vector<std::vector<std::size_t>> readers_;
  std::vector<bool> is_input_;
  std::vector<bool> is_output_;
};

// A float32 tensor that a run computes, with a shape that is known and has elements.
bool is_real_tensor(const HostNetwork& network, HostValueId id);
// The values of a float32 constant; null for any other value.
const Tensor* real_constant(const HostNetwork& network, HostValueId id);

// Input `index` of a node; kAbsentValue where it has none.
HostValueId input_of(const HostNode& node, std::size_t index);
bool is_onnx(const HostNode& node, std::string_view op);
// Attributes; the fallback where they are absent or of another type.
std::int64_t integer_of(const HostNode& node, std::string_view name, std::int64_t fallback);
float real_of(const HostNode& node, std::string_view name, float fallback);
std::string word_of(const HostNode& node, std::string_view name, const char* fallback);
std::vector<std::int64_t> integers_of(const HostNode& node, std::string_view name);

// Adds values with names that nothing else has.
class HostValues {
 public:
  explicit HostValues(HostNetwork& network);

  // `wanted`, or with a number after it where it is taken.
  HostValueId add(const std::string& wanted, HostArray array = {});
  HostValueId add_constant(const std::string& wanted, Tensor tensor);

 private:
  HostNetwork& network_;
  std::set<std::string, std::less<>> taken_;
};

// Lets every reader of `from`, the network's outputs among them, read `to`.
void replace_value(HostNetwork& network, HostValueId from, HostValueId to);

// Takes away the nodes on which no output depends.
void remove_unread(HostNetwork& network);

}  // namespace qsim::quantize
