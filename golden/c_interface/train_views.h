// The tensors of training calls, checked, as the structs of golden/kernels/train; and how such a
// call runs.
#pragma once

#include <string>

#include "golden/c_interface/device_call.h"
#include "golden/c_interface/threads.h"
#include "golden/kernels/train/cuda/train_cuda.h"
#include "golden/kernels/train/train.h"
#include "include/qsim/training.h"

namespace qsim::golden::c_interface {

inline constexpr std::initializer_list<std::int32_t> kReal = {QSIM_FLOAT32, QSIM_FLOAT16,
                                                              QSIM_BFLOAT16};

// Throws Error for a struct of another size.
void require_struct(const Call& call, const char* what, std::size_t found, std::size_t expected);
// Throws Error for a number that is not in least..most.
void require_range(const Call& call, const char* field, std::int64_t found, std::int64_t least,
                   std::int64_t most);
bool flag_of(const Call& call, const char* field, std::int32_t value);
train::Levels levels_of(const Call& call, const qsim_levels* levels);

// Which axes of a tensor stay as they are while the others are joined.
enum class Keep { kNone, kFirst, kLast, kAll };
// Throws Error where more than four axes are left.
train::RealTensor real_of(const View& view, Keep keep);

// Data of a tensor without gaps of this shape and type, or null where `tensor` is NULL.
template <typename Element>
Element* data_of(Call& call, const char* what, const qsim_tensor* tensor, std::int32_t dtype,
                 const Shape& shape) {
  if (tensor == nullptr) return nullptr;
  const View view = call.dense_tensor(what, tensor, {dtype}, static_cast<int>(shape.size()));
  return reinterpret_cast<Element*>(view.require_shape(shape).data);
}
// The same for a tensor that must not be NULL.
template <typename Element>
Element* required_data(Call& call, const char* what, const qsim_tensor* tensor, std::int32_t dtype,
                       const Shape& shape) {
  call.require(what, tensor);
  return data_of<Element>(call, what, tensor, dtype, shape);
}
std::uint8_t* bits_of_elems(Call& call, const char* what, const qsim_tensor* bits,
                            std::int64_t elems);
// On the CPU the zero_point is read and must be -128 to 127.
const std::int32_t* zero_point_of(Call& call, const char* what, const qsim_tensor* zero_point);

// Which of a convolution's tensors a call computes with; only the shape of the other counts.
enum class Operands { kBoth, kLevels, kWeights, kNone };
train::LevelConv conv_of(Call& call, const qsim_level_conv* given, Operands operands);
// The same for pictures and weights whose shapes alone count, without data and zero_point.
train::LevelConv conv_of_shapes(Call& call, const View& x, const View& w, const qsim_window* window,
                                std::int64_t groups);
train::Observer observer_of(const Call& call, std::int32_t observer, float momentum);
// The window of an axis-by-axis operation on pictures, and what it makes of them. Throws Error for
// a window that is not allowed or larger than the padded picture.
Window checked_window(const Call& call, const qsim_window* given, std::int64_t kernel_h,
                      std::int64_t kernel_w);
ImageShape shape_under(const Call& call, const Window& window, const ImageShape& x,
                       std::int64_t channels);

// Answers a query, computes on the CPU, or enqueues on the tensors' GPU.
template <typename TrainCall>
void run_train(const Call& call, const TrainCall& work) {
  if (!call.is_cuda()) {
    if (call.answers_query(0)) return;
    CallThreads threads(call.run());
    return train::compute(work, threads.team());
  }
  on_device(call, [&] {
    const std::size_t bytes = train::cuda::workspace_bytes(work);
    if (call.answers_query(bytes)) return;
    call.require_workspace(bytes);
    train::cuda::enqueue(work, call.run().workspace, call.run().stream);
  });
}

}  // namespace qsim::golden::c_interface
