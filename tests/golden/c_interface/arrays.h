// Tensors of the C interface for tests: a vector, a shape, and the description of both.
#pragma once

#include <vector>

#include "core/base/random.h"
#include "core/base/tensor.h"
#include "include/qsim/golden.h"

namespace qsim::golden_test {

template <typename T>
struct Array {
  std::int32_t dtype;
  Shape shape;
  std::vector<T> values;
  Shape strides = {};  // none: row-major
  std::size_t first = 0;
  mutable qsim_tensor described = {};

  Array(std::int32_t type, Shape sizes)
      : dtype(type),
        shape(std::move(sizes)),
        values(static_cast<std::size_t>(element_count(shape))) {}
  Array(std::int32_t type, Shape sizes, std::vector<T> elements)
      : dtype(type), shape(std::move(sizes)), values(std::move(elements)) {}

  const qsim_tensor* tensor() const {
    described = {const_cast<T*>(values.data() + first),
                 dtype,
                 QSIM_CPU,
                 0,
                 static_cast<std::int32_t>(shape.size()),
                 shape.data(),
                 strides.empty() ? nullptr : strides.data()};
    return &described;
  }

  // The same elements with gaps, and with the first axis backwards.
  Array spread() const {
    Array result(dtype, shape, {});
    result.strides.resize(shape.size());
    std::int64_t step = 2;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      result.strides[axis] = step;
      step *= shape[axis] + 1;
    }
    result.values.resize(static_cast<std::size_t>(step));
    if (!shape.empty()) {
      result.first = static_cast<std::size_t>(result.strides[0] * (shape[0] - 1));
      result.strides[0] = -result.strides[0];
    }
    for (std::size_t i = 0; i < values.size(); ++i) result.values[result.place(i)] = values[i];
    return result;
  }
  // Element i in row-major order.
  T at(std::size_t i) const { return values[place(i)]; }
  std::vector<T> elements() const {
    std::vector<T> result;
    for (std::int64_t i = 0; i < element_count(shape); ++i) {
      result.push_back(at(static_cast<std::size_t>(i)));
    }
    return result;
  }

 private:
  std::size_t place(std::size_t i) const {
    if (strides.empty()) return i;
    auto offset = static_cast<std::int64_t>(first);
    auto rest = static_cast<std::int64_t>(i);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      offset += rest % shape[axis] * strides[axis];
      rest /= shape[axis];
    }
    return static_cast<std::size_t>(offset);
  }
};

}  // namespace qsim::golden_test
