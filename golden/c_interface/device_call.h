// How a call works on a GPU: the device is current while it enqueues, and what CUDA refuses has a
// status of its own.
#pragma once

#include <exception>
#include <initializer_list>
#include <string_view>

#include "golden/c_interface/tensor_view.h"
#include "golden/device/device_scope.h"

namespace qsim::golden::c_interface {

// What CUDA refused: a driver, a device, a launch.
class DeviceError : public Error {
 public:
  explicit DeviceError(const std::exception& error) : Error(ExitCode::kBadInput, error.what()) {}
};

// What `work` gives; what CUDA refuses in it is a DeviceError, a launch that the caller's stream or
// an earlier kernel makes fail too.
template <typename Work>
auto as_device_work(Work work) {
  const auto is_of_cuda = [](const std::exception& error) {
    return std::string_view(error.what()).starts_with("CUDA");
  };
  try {
    return work();
  } catch (const Error& error) {
    if (is_of_cuda(error)) throw DeviceError(error);
    throw;
  } catch (const InternalError& error) {
    if (is_of_cuda(error)) throw DeviceError(error);
    throw;
  }
}

// Calls `enqueue` with the call's device current.
template <typename Enqueue>
void on_device(const Call& call, Enqueue enqueue) {
  as_device_work([&] {
    const DeviceScope scope(call.device_index());
    enqueue();
  });
}

// Throws Error for a tensor with gaps.
inline void require_dense(std::initializer_list<const View*> views) {
  for (const View* view : views) {
    if (view->is_contiguous) continue;
    throw_bad_input(view->name + " has strides with gaps; on a GPU no tensor has them");
  }
}

}  // namespace qsim::golden::c_interface
