// The tensors of the C interface, checked: what a caller described becomes a view that golden's
// functions can be given, or an Error that says what is wrong with it.
#pragma once

#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "core/base/tensor.h"
#include "core/network/graph.h"
#include "include/qsim/golden.h"

namespace qsim::golden::c_interface {

std::string_view type_name(std::int32_t dtype);  // "float16", ...; "type 77" is not one
bool is_half_byte(std::int32_t dtype);           // INT4, UINT4, FP4
std::size_t type_bytes(std::int32_t dtype);      // of an element that is a byte at least

// A checked tensor. Elements are counted in row-major order.
struct View {
  std::string name;  // what errors call it: "linear_w8: x"
  std::byte* data = nullptr;
  std::int32_t dtype = 0;
  Shape shape;
  Shape strides;  // in elements; row-major if `is_contiguous`
  bool is_contiguous = true;

  std::int64_t elems() const { return element_count(shape); }
  std::int64_t dim(std::size_t axis) const { return shape[axis]; }
  // The bytes of the elements without gaps; a row of half bytes begins at a byte.
  std::size_t bytes() const;

  // The elements without gaps: where they are, or copied to `copy`.
  const std::byte* packed(std::vector<std::byte>& copy) const;
  // Stores elements without gaps.
  void store(const void* elements) const;
  // Copies the elements into a vector; T is as large as an element.
  template <typename T>
  std::vector<T> values() const {
    std::vector<std::byte> copy;
    const std::byte* from = packed(copy);
    std::vector<T> result(bytes() / sizeof(T));
    if (!result.empty()) std::memcpy(result.data(), from, bytes());
    return result;
  }

  // Places begin..end - 1 of an axis; not of half bytes.
  View slice(std::size_t axis, std::int64_t begin, std::int64_t end) const;

  // Throws Error for another shape.
  const View& require_shape(const Shape& expected) const;
};

// [N][H][W][C] of a view with four axes.
inline ImageShape image_of(const View& view) {
  return {view.dim(0), view.dim(1), view.dim(2), view.dim(3)};
}

// Throws Error for data at an address that is not a multiple of `bytes`.
void require_alignment(const View& view, std::size_t bytes);

// One call of the interface: how it runs, and the device that all of its tensors are on.
class Call {
 public:
  // `name` is the function's without qsim_. Throws Error for a `run` of another size.
  Call(const char* name, const qsim_run* run);

  // Throws Error for a missing tensor, a type that is not among `types`, another rank than `rank`
  // (kAnyRank: each), a bad shape or stride, missing data, and another device than the others'.
  static constexpr int kAnyRank = -1;
  View tensor(const char* what, const qsim_tensor* tensor,
              std::initializer_list<std::int32_t> types, int rank);
  // The same for a tensor that the call writes: no two elements share memory.
  View output(const char* what, const qsim_tensor* tensor,
              std::initializer_list<std::int32_t> types, int rank);
  // The same without gaps, of a tensor that is read or written.
  View dense_tensor(const char* what, const qsim_tensor* tensor,
                    std::initializer_list<std::int32_t> types, int rank);

  bool is_cuda() const { return device_ == QSIM_CUDA; }
  int device_index() const { return device_index_; }
  const qsim_run& run() const { return run_; }
  // Answers a query for a workspace of `bytes`. True: the call ends here.
  bool answers_query(std::size_t bytes) const;
  // Throws Error where the workspace has fewer than `bytes`, or is not aligned to 256.
  void require_workspace(std::size_t bytes) const;
  // Throws Error where the tensors are not on this GPU.
  void require_device(int index) const;
  // Throws Error where the tensors are on a GPU: this function has no kernel there.
  void require_cpu() const;

  // Throws Error for a NULL pointer.
  void require(const char* what, const void* pointer) const;
  // The message of a bad field: "linear_w8: group_size is 7; allowed: ..."
  [[noreturn]] void refuse_value(const char* field, std::int64_t found, const char* allowed) const;
  std::string place(const char* what) const { return name_ + ": " + what; }

 private:
  void adopt_device(const std::string& what, const qsim_tensor& tensor);

  std::string name_;
  qsim_run run_;
  std::int32_t device_ = -1;  // until the first tensor
  std::int32_t device_index_ = 0;
  std::string first_tensor_;
};

// Runs `work` and turns what it throws into a status and this thread's message.
template <typename Work>
qsim_status guarded(Work work) noexcept;
void set_message(const char* message) noexcept;
qsim_status status_of_current_exception() noexcept;

template <typename Work>
qsim_status guarded(Work work) noexcept {
  try {
    work();
    set_message("");
    return QSIM_OK;
  } catch (...) {
    return status_of_current_exception();
  }
}

}  // namespace qsim::golden::c_interface
