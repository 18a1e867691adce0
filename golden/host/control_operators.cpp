// If, Loop and Scan: operators whose nodes have graphs inside them.
#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>

#include "core/base/checked_math.h"
#include "golden/host/host_executor.h"
#include "golden/host/host_operators.h"

namespace qsim::golden {
namespace {

// A graph of a node, with what the node hands to it.
class Body {
 public:
  Body(HostCall& call, std::string_view attribute)
      : call_(call), body_(call.body_attribute(attribute)), network_(*body_.network) {}

  std::size_t own_inputs() const { return network_.inputs.size() - body_.captured.size(); }
  std::size_t outputs() const { return network_.outputs.size(); }

  // What is known of its outputs, when `own` is known of its inputs. Computes nothing large.
  std::vector<HostArray> shapes(std::vector<HostArray> own) const {
    HostNetwork copy = network_;
    for (const std::size_t index : body_.captured) own.push_back(call_.array(index));
    for (std::size_t i = 0; i < own.size(); ++i) {
      copy.values[copy.inputs[i]].array = std::move(own[i]);
    }
    shape_again(copy);
    std::vector<HostArray> found;
    for (const HostValueId id : copy.outputs) found.push_back(copy.values[id].array);
    return found;
  }

  std::vector<Tensor> run(std::vector<Tensor> own) const {
    HostRun run(network_);
    for (std::size_t i = 0; i < network_.inputs.size(); ++i) {
      if (i < own.size()) {
        run.set(network_.inputs[i], std::move(own[i]));
      } else {
        run.lend(network_.inputs[i], call_.array(body_.captured[i - own_inputs()]));
      }
    }
    for (const HostNode& node : network_.nodes) run.run(node);
    std::vector<Tensor> outputs;
    for (const HostValueId id : network_.outputs) outputs.push_back(run.get(id));
    return outputs;
  }

  void require_ends(std::size_t inputs, std::size_t outputs) const {
    if (own_inputs() == inputs && network_.outputs.size() == outputs) return;
    call_.malformed("a graph of " + std::to_string(own_inputs()) + " inputs and " +
                        std::to_string(network_.outputs.size()) + " outputs",
                    std::to_string(inputs) + " and " + std::to_string(outputs));
  }

 private:
  HostCall& call_;
  const HostBody& body_;
  const HostNetwork& network_;
};

// Declares the output as far as `found` is known.
void declare(HostCall& call, std::size_t index, HostArray found) {
  if (found.has_values()) {
    call.give(index, std::move(found.tensor));
  } else if (found.has_shape()) {
    call.give_shape(index, found.tensor.dtype, std::move(found.tensor.shape));
  }
}

bool is_alike(const HostArray& a, const HostArray& b) {
  return a.has_shape() && b.has_shape() && a.tensor.dtype == b.tensor.dtype &&
         a.tensor.shape == b.tensor.shape;
}

HostArray shape_of(const HostArray& array) {
  HostArray shape = array;
  if (shape.has_values()) shape.known = HostArray::Known::kShape;
  shape.tensor.bytes.clear();
  return shape;
}

void run_if(HostCall& call) {
  const std::size_t outputs = call.node().outputs.size();
  const std::array<Body, 2> branches = {Body(call, "else_branch"), Body(call, "then_branch")};
  for (const Body& branch : branches) branch.require_ends(0, outputs);
  if (call.knows(0)) {
    const Body& taken = branches[call.integer(0) != 0 ? 1 : 0];
    if (call.computes()) {
      std::vector<Tensor> found = taken.run({});
      for (std::size_t i = 0; i < outputs; ++i) call.give(i, std::move(found[i]));
      return;
    }
    std::vector<HostArray> found = taken.shapes({});
    for (std::size_t i = 0; i < outputs; ++i) declare(call, i, std::move(found[i]));
    return;
  }
  const std::vector<HostArray> one = branches[0].shapes({});
  const std::vector<HostArray> other = branches[1].shapes({});
  for (std::size_t i = 0; i < outputs; ++i) {
    if (is_alike(one[i], other[i])) declare(call, i, shape_of(one[i]));
  }
}

Tensor scalar(std::int64_t value) {
  Tensor tensor(DType::kInt64, {});
  tensor.as<std::int64_t>()[0] = value;
  return tensor;
}

Tensor truth(bool value) {
  Tensor tensor(DType::kBool, {});
  tensor.bytes[0] = std::byte{value};
  return tensor;
}

bool is_true(const HostCall& call, const Tensor& tensor) {
  if (tensor.dtype != DType::kBool || tensor.bytes.size() != 1) {
    call.malformed(
        "a condition of " + std::string(dtype_name(tensor.dtype)) + " " + shape_text(tensor.shape),
        "one bool");
  }
  return tensor.bytes[0] != std::byte{0};
}

// Tensors of one shape, one after the other along a new first axis; `like` where there are none.
class Stack {
 public:
  void add(const HostCall& call, const Tensor& tensor) {
    if (count_ == 0) {
      all_.dtype = tensor.dtype;
      all_.shape = tensor.shape;
    } else if (tensor.dtype != all_.dtype || tensor.shape != all_.shape) {
      call.malformed("iterations whose outputs have shapes " + shape_text(all_.shape) + " and " +
                         shape_text(tensor.shape),
                     "one shape");
    }
    all_.bytes.insert(all_.bytes.end(), tensor.bytes.begin(), tensor.bytes.end());
    ++count_;
  }

  Tensor finish(const HostArray& like) && {
    if (count_ == 0)
      all_ = Tensor(like.tensor.dtype, like.has_shape() ? like.tensor.shape : Shape{});
    all_.shape.insert(all_.shape.begin(), count_);
    if (count_ == 0) all_.bytes.clear();
    return std::move(all_);
  }

 private:
  Tensor all_;
  std::int64_t count_ = 0;
};

class LoopNode {
 public:
  explicit LoopNode(HostCall& call)
      : call_(call),
        body_(call, "body"),
        carried_(body_.own_inputs() - std::min<std::size_t>(body_.own_inputs(), 2)) {
    const std::size_t outputs = call.node().outputs.size();
    if (body_.own_inputs() < 2 || outputs < carried_) {
      call.malformed("a graph of " + std::to_string(body_.own_inputs()) + " inputs",
                     "at least 2, and at most 2 more than the node has outputs");
    }
    body_.require_ends(carried_ + 2, outputs + 1);
  }

  void run() {
    if (!call_.computes() || call_.is_before_run()) return declare_shapes();
    if (!call_.has(0) && !call_.has(1)) {
      call_.refuse("neither a number of iterations nor a condition", "one of them");
    }
    std::int64_t most = call_.has(0) ? call_.integer(0) : std::numeric_limits<std::int64_t>::max();
    bool goes_on = !call_.has(1) || is_true(call_, call_.input(1));
    std::vector<Tensor> state;
    for (std::size_t i = 0; i < carried_; ++i) state.push_back(call_.input(2 + i));
    std::vector<Stack> stacks(call_.node().outputs.size() - carried_);
    bool has_run = false;
    for (std::int64_t n = 0; n < most && goes_on; ++n) {
      has_run = true;
      std::vector<Tensor> own = {scalar(n), truth(goes_on)};
      std::ranges::move(state, std::back_inserter(own));
      std::vector<Tensor> found = body_.run(std::move(own));
      goes_on = is_true(call_, found[0]);
      state.clear();
      for (std::size_t i = 0; i < carried_; ++i) state.push_back(std::move(found[1 + i]));
      for (std::size_t i = 0; i < stacks.size(); ++i) stacks[i].add(call_, found[1 + carried_ + i]);
    }
    std::vector<HostArray> like(1 + call_.node().outputs.size());
    if (!has_run) like = body_.shapes(known_inputs());
    for (std::size_t i = 0; i < carried_; ++i) call_.give(i, std::move(state[i]));
    for (std::size_t i = 0; i < stacks.size(); ++i) {
      call_.give(carried_ + i, std::move(stacks[i]).finish(like[1 + carried_ + i]));
    }
  }

 private:
  // What any iteration knows of its inputs: shapes alone, since the values change.
  std::vector<HostArray> known_inputs() const {
    std::vector<HostArray> own = {shape_of({HostArray::Known::kValues, scalar(0)}),
                                  shape_of({HostArray::Known::kValues, truth(true)})};
    for (std::size_t i = 0; i < carried_; ++i) own.push_back(shape_of(call_.array(2 + i)));
    return own;
  }

  // What has one shape before and after an iteration has it after all of them. How many there are
  // is known where nothing ends them before.
  void declare_shapes() {
    const std::vector<HostArray> found = body_.shapes(known_inputs());
    bool is_steady = true;
    for (std::size_t i = 0; i < carried_; ++i) {
      const bool is_same = is_alike(call_.array(2 + i), found[1 + i]);
      is_steady = is_steady && is_same;
      if (is_same) declare(call_, i, shape_of(found[1 + i]));
    }
    const bool is_counted = call_.knows(0) &&
                            (!call_.has(1) || (call_.knows(1) && call_.integer(1) != 0)) &&
                            found[0].has_values() && is_true(call_, found[0].tensor);
    if (!is_steady || !is_counted) return;
    for (std::size_t i = carried_; i < call_.node().outputs.size(); ++i) {
      if (!found[1 + i].has_shape()) continue;
      Shape shape = found[1 + i].tensor.shape;
      shape.insert(shape.begin(), std::max<std::int64_t>(call_.integer(0), 0));
      call_.give_shape(i, found[1 + i].tensor.dtype, std::move(shape));
    }
  }

  HostCall& call_;
  Body body_;
  std::size_t carried_;
};

// The tensor at one position of an axis, without that axis.
Tensor slice_of(const Tensor& tensor, std::size_t axis, std::int64_t at) {
  Shape shape = tensor.shape;
  const std::int64_t length = shape[axis];
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  Tensor slice(tensor.dtype, shape);
  std::int64_t before = 1;
  for (std::size_t d = 0; d < axis; ++d) before *= tensor.shape[d];
  const auto run = std::ssize(slice.bytes) / std::max<std::int64_t>(before, 1);
  for (std::int64_t i = 0; i < before; ++i) {
    const auto* const from = tensor.bytes.data() + (i * length + at) * run;
    std::copy_n(from, run, slice.bytes.data() + i * run);
  }
  return slice;
}

// The same tensor with its first axis at another place.
Tensor with_first_axis_at(Tensor tensor, std::size_t axis) {
  if (axis == 0) return tensor;
  Shape shape = tensor.shape;
  std::rotate(shape.begin(), shape.begin() + 1,
              shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
  Tensor moved(tensor.dtype, shape);
  std::int64_t middle = 1;
  for (std::size_t d = 1; d <= axis; ++d) middle *= tensor.shape[d];
  const std::int64_t count = tensor.shape[0];
  const std::int64_t groups = std::max<std::int64_t>(count * middle, 1);
  const auto run = std::ssize(tensor.bytes) / groups;
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t m = 0; m < middle; ++m) {
      std::copy_n(tensor.bytes.data() + (i * middle + m) * run, run,
                  moved.bytes.data() + (m * count + i) * run);
    }
  }
  return moved;
}

class ScanNode {
 public:
  explicit ScanNode(HostCall& call) : call_(call), body_(call, "body") {
    if (call.opset() < 9) call.refuse("Scan of opset 8", "opset 9 and higher");
    const std::int64_t scanned = call.attribute("num_scan_inputs", std::int64_t{0});
    const auto own = static_cast<std::int64_t>(body_.own_inputs());
    if (scanned < 1 || scanned > own) {
      call.malformed("num_scan_inputs " + std::to_string(scanned), "1 to " + std::to_string(own));
    }
    scanned_ = static_cast<std::size_t>(scanned);
    states_ = body_.own_inputs() - scanned_;
    body_.require_ends(body_.own_inputs(), call.node().outputs.size());
    if (call.node().outputs.size() < states_) {
      call.malformed(std::to_string(call.node().outputs.size()) + " outputs",
                     "at least " + std::to_string(states_));
    }
    made_ = call.node().outputs.size() - states_;
  }

  void run() {
    const std::vector<std::int64_t> in_axes = list("scan_input_axes", scanned_);
    const std::vector<std::int64_t> out_axes = list("scan_output_axes", made_);
    const std::vector<std::int64_t> in_turned = list("scan_input_directions", scanned_);
    const std::vector<std::int64_t> out_turned = list("scan_output_directions", made_);
    std::vector<std::size_t> axes;
    std::int64_t length = -1;
    for (std::size_t i = 0; i < scanned_; ++i) {
      if (!call_.array(states_ + i).has_shape()) return;
      const Shape& shape = call_.shape(states_ + i);
      axes.push_back(call_.axis(in_axes[i], shape.size()));
      const std::int64_t found = shape[axes[i]];
      if (length >= 0 && found != length) {
        call_.malformed(
            "scan inputs of lengths " + std::to_string(length) + " and " + std::to_string(found),
            "one length");
      }
      length = found;
    }
    std::vector<HostArray> own;
    for (std::size_t i = 0; i < states_; ++i) own.push_back(shape_of(call_.array(i)));
    for (std::size_t i = 0; i < scanned_; ++i) {
      HostArray slice = shape_of(call_.array(states_ + i));
      slice.tensor.shape.erase(slice.tensor.shape.begin() + static_cast<std::ptrdiff_t>(axes[i]));
      own.push_back(std::move(slice));
    }
    const std::vector<HostArray> like = body_.shapes(std::move(own));
    if (!call_.computes()) return declare_shapes(like, length, out_axes);
    std::vector<Tensor> state;
    for (std::size_t i = 0; i < states_; ++i) state.push_back(call_.input(i));
    std::vector<std::vector<Tensor>> made(made_);
    for (std::int64_t n = 0; n < length; ++n) {
      std::vector<Tensor> inputs = std::move(state);
      for (std::size_t i = 0; i < scanned_; ++i) {
        inputs.push_back(
            slice_of(call_.input(states_ + i), axes[i], in_turned[i] != 0 ? length - 1 - n : n));
      }
      std::vector<Tensor> found = body_.run(std::move(inputs));
      state.clear();
      for (std::size_t i = 0; i < states_; ++i) state.push_back(std::move(found[i]));
      for (std::size_t i = 0; i < made_; ++i) made[i].push_back(std::move(found[states_ + i]));
    }
    for (std::size_t i = 0; i < states_; ++i) call_.give(i, std::move(state[i]));
    for (std::size_t i = 0; i < made_; ++i) {
      if (out_turned[i] != 0) std::ranges::reverse(made[i]);
      Stack stack;
      for (const Tensor& tensor : made[i]) stack.add(call_, tensor);
      Tensor all = std::move(stack).finish(like[states_ + i]);
      const std::size_t axis = call_.axis(out_axes[i], all.shape.size());
      call_.give(states_ + i, with_first_axis_at(std::move(all), axis));
    }
  }

 private:
  std::vector<std::int64_t> list(std::string_view name, std::size_t size) const {
    std::vector<std::int64_t> found =
        call_.integer_list(name).value_or(std::vector<std::int64_t>(size, 0));
    if (found.size() != size) {
      call_.malformed(std::string(name) + " has " + std::to_string(found.size()) + " numbers",
                      std::to_string(size));
    }
    return found;
  }

  void declare_shapes(const std::vector<HostArray>& like, std::int64_t length,
                      const std::vector<std::int64_t>& out_axes) {
    for (std::size_t i = 0; i < states_; ++i) {
      if (!is_alike(call_.array(i), like[i])) return;
      declare(call_, i, shape_of(like[i]));
    }
    for (std::size_t i = 0; i < made_; ++i) {
      const HostArray& found = like[states_ + i];
      if (!found.has_shape()) continue;
      Shape shape = found.tensor.shape;
      const std::size_t axis = call_.axis(out_axes[i], shape.size() + 1);
      shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), length);
      call_.give_shape(states_ + i, found.tensor.dtype, std::move(shape));
    }
  }

  HostCall& call_;
  Body body_;
  std::size_t scanned_ = 0;
  std::size_t states_ = 0;
  std::size_t made_ = 0;  // scan outputs
};

void run_loop(HostCall& call) { LoopNode(call).run(); }
void run_scan(HostCall& call) { ScanNode(call).run(); }

constexpr std::array<HostOperator, 3> kControlOperators = {{
    {"If", run_if, "", true},
    {"Loop", run_loop, "", true},
    {"Scan", run_scan, "", true},
}};

}  // namespace

std::span<const HostOperator> control_operators() { return kControlOperators; }

}  // namespace qsim::golden
