#include "golden/graph/cuda/kernel_choice.h"

#include <utility>
#include <vector>

#include "golden/device/device_buffer.h"

namespace qsim::golden::cuda {
namespace {

using Maker = std::unique_ptr<Kernel> (*)(const ConvTask&);

bool has_wgmma(const CudaDevice& device) { return device.major == 9 && device.minor == 0; }

std::vector<Maker> makers(CudaPath path, const CudaDevice& device) {
  switch (path) {
    case CudaPath::kDirect:
      return {make_conv_direct};
    case CudaPath::kHopper:  // wgmma wherever it can, even where another family is faster
      return {make_conv_depthwise, make_conv_wgmma, make_conv_first,
              make_linear_stream,  make_conv_mma,   make_conv_direct};
    case CudaPath::kAuto:
      if (!has_wgmma(device)) break;
      return {make_conv_depthwise, make_conv_first, make_linear_stream,
              make_conv_wgmma,     make_conv_mma,   make_conv_direct};
    case CudaPath::kPortable:
      break;
  }
  return {make_conv_depthwise, make_conv_first, make_linear_stream, make_conv_mma,
          make_conv_direct};
}

std::unique_ptr<Kernel> first_that_takes(const ConvTask& task, const std::vector<Maker>& families) {
  for (const Maker maker : families) {
    if (std::unique_ptr<Kernel> kernel = maker(task)) return kernel;
  }
  return nullptr;
}

// A convolution whose ofmap goes through memory to an addition of its own.
class ConvThenAdd : public Kernel {
 public:
  ConvThenAdd(const ConvTask& task, const std::vector<Maker>& families)
      : between_(poisoned(static_cast<std::size_t>(element_count(task.ofmap.shape.nhwc())))) {
    ConvTask conv = task;
    conv.addition.reset();
    conv.output_data = between_.as<>();
    conv_ = first_that_takes(conv, families);
    QSIM_CHECK(conv_ != nullptr, "no kernel family takes a convolution");
    const Addition& addition = *task.addition;
    AddTask add{addition.add,    task.ofmap,      addition.other,  addition.sum,
                between_.as<>(), task.other_data, task.output_data};
    if (addition.other_is_first) {
      std::swap(add.a, add.b);
      std::swap(add.a_data, add.b_data);
    }
    add_ = make_add(add);
  }

  void launch(cudaStream_t stream) const override {
    conv_->launch(stream);
    add_->launch(stream);
  }
  std::int64_t inner_bytes() const override {
    return 2 * static_cast<std::int64_t>(between_.bytes()) + conv_->inner_bytes();
  }
  std::string name() const override { return conv_->name() + " + " + add_->name(); }

 private:
  DeviceBuffer between_;
  std::unique_ptr<Kernel> conv_;
  std::unique_ptr<Kernel> add_;
};

}  // namespace

std::unique_ptr<Kernel> make_conv(const ConvTask& task, CudaPath path, const CudaDevice& device) {
  if (path == CudaPath::kHopper && !has_wgmma(device)) {
    throw_bad_input("CUDA: " + device.name + " has compute capability " +
                    std::to_string(device.major) + "." + std::to_string(device.minor) +
                    "; the path hopper needs 9.0");
  }
  const std::vector<Maker> families = makers(path, device);
  if (std::unique_ptr<Kernel> kernel = first_that_takes(task, families)) return kernel;
  if (task.addition) return std::make_unique<ConvThenAdd>(task, families);
  throw InternalError("no kernel family takes a convolution");
}

}  // namespace qsim::golden::cuda
