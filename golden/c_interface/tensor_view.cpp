#include "golden/c_interface/tensor_view.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/checked_math.h"

namespace qsim::golden::c_interface {
namespace {

struct TypeRow {
  std::string_view name;
  std::size_t bytes;  // 0: half a byte
};

// By qsim_dtype, from 1.
constexpr std::array<TypeRow, 14> kTypes = {{{"float32", 4},
                                             {"float16", 2},
                                             {"bfloat16", 2},
                                             {"int8", 1},
                                             {"uint8", 1},
                                             {"int32", 4},
                                             {"fp8_e4m3", 1},
                                             {"fp8_e5m2", 1},
                                             {"int4", 0},
                                             {"uint4", 0},
                                             {"fp4_e2m1", 0},
                                             {"ue8m0", 1},
                                             {"bits64", 8},
                                             {"int64", 8}}};
constexpr int kMostRank = 16;

bool is_type(std::int32_t dtype) {
  return dtype >= 1 && dtype <= static_cast<std::int32_t>(kTypes.size());
}

std::string device_text(std::int32_t device, std::int32_t index) {
  return device == QSIM_CPU ? "the CPU" : "cuda:" + std::to_string(index);
}

Shape row_major(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (std::size_t axis = shape.size(); axis-- > 1;) {
    strides[axis - 1] = checked_mul(strides[axis], std::max<std::int64_t>(shape[axis], 1));
  }
  return strides;
}

// Strides of axes of one element or none do not matter.
bool same_places(const Shape& shape, const Shape& a, const Shape& b) {
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 0) return true;
    if (shape[axis] > 1 && a[axis] != b[axis]) return false;
  }
  return true;
}

// copy(a place of the view, the place without gaps, the elements that follow each other in both)
template <typename Copy>
void each_run(const View& view, Copy copy) {
  const std::size_t rank = view.shape.size();
  const std::int64_t elems = view.elems();
  if (elems == 0) return;
  const bool rows = rank > 0 && view.strides.back() == 1;
  const std::int64_t length = rows ? view.shape.back() : 1;
  std::vector<std::int64_t> index(rank, 0);
  std::int64_t offset = 0;
  for (std::int64_t place = 0; place < elems; place += length) {
    copy(offset, place, length);
    for (std::size_t axis = rank - (rows ? 1 : 0); axis-- > 0;) {
      offset += view.strides[axis];
      if (++index[axis] < view.shape[axis]) break;
      offset -= view.strides[axis] * view.shape[axis];
      index[axis] = 0;
    }
  }
}

std::string type_list(std::initializer_list<std::int32_t> types) {
  std::string text;
  for (const std::int32_t type : types) {
    text += (text.empty() ? "" : ", ") + std::string(type_name(type));
  }
  return text;
}

// Whether elements may share memory. From the smallest stride on, each must reach beyond all places
// of the axes before it; a few tensors whose elements interleave without sharing are refused too.
bool overlaps(const View& view) {
  if (view.is_contiguous || view.elems() == 0) return false;
  std::vector<std::pair<std::int64_t, std::int64_t>> axes;  // stride, size
  for (std::size_t axis = 0; axis < view.shape.size(); ++axis) {
    if (view.shape[axis] > 1) axes.emplace_back(std::abs(view.strides[axis]), view.shape[axis]);
  }
  std::sort(axes.begin(), axes.end());
  std::int64_t reach = 0;  // the last place of the axes so far
  for (const auto& [stride, size] : axes) {
    if (stride <= reach) return true;
    reach = checked_add(reach, checked_mul(stride, size - 1));
  }
  return false;
}

View shaped(const std::string& name, const qsim_tensor& tensor) {
  View view;
  view.name = name;
  view.dtype = tensor.dtype;
  view.data = static_cast<std::byte*>(tensor.data);
  view.shape.assign(tensor.shape, tensor.shape + tensor.rank);
  for (const std::int64_t size : view.shape) {
    if (size < 0) {
      throw_bad_input(name + " has the shape " + shape_text(view.shape) +
                      "; no size may be negative");
    }
  }
  with_place(name, [&] { return checked_mul(view.elems(), 8); });
  view.strides = row_major(view.shape);
  if (tensor.strides != nullptr) {
    Shape strides(tensor.strides, tensor.strides + tensor.rank);
    view.is_contiguous = same_places(view.shape, strides, view.strides);
    if (!view.is_contiguous) view.strides = std::move(strides);
  }
  return view;
}

}  // namespace

std::string_view type_name(std::int32_t dtype) {
  return is_type(dtype) ? kTypes[static_cast<std::size_t>(dtype - 1)].name : "an unknown type";
}

bool is_half_byte(std::int32_t dtype) { return is_type(dtype) && type_bytes(dtype) == 0; }

std::size_t type_bytes(std::int32_t dtype) {
  return kTypes[static_cast<std::size_t>(dtype - 1)].bytes;
}

void require_alignment(const View& view, std::size_t bytes) {
  if (reinterpret_cast<std::uintptr_t>(view.data) % bytes == 0) return;
  throw_bad_input(view.name + " is not aligned to " + std::to_string(bytes) + " bytes");
}

std::size_t View::bytes() const {
  if (!is_half_byte(dtype)) return static_cast<std::size_t>(elems()) * type_bytes(dtype);
  const std::int64_t columns = shape.empty() ? 1 : shape.back();
  const std::int64_t rows = columns == 0 ? 0 : elems() / columns;
  return static_cast<std::size_t>(rows * ((columns + 1) / 2));
}

const std::byte* View::packed(std::vector<std::byte>& copy) const {
  if (is_contiguous) return data;
  const auto size = static_cast<std::int64_t>(type_bytes(dtype));
  copy.resize(bytes());
  each_run(*this, [&](std::int64_t offset, std::int64_t place, std::int64_t length) {
    std::memcpy(copy.data() + place * size, data + offset * size,
                static_cast<std::size_t>(length * size));
  });
  return copy.data();
}

void View::store(const void* elements) const {
  const auto* from = static_cast<const std::byte*>(elements);
  if (is_contiguous) {
    if (bytes() > 0) std::memcpy(data, from, bytes());
    return;
  }
  const auto size = static_cast<std::int64_t>(type_bytes(dtype));
  each_run(*this, [&](std::int64_t offset, std::int64_t place, std::int64_t length) {
    std::memcpy(data + offset * size, from + place * size, static_cast<std::size_t>(length * size));
  });
}

View View::slice(std::size_t axis, std::int64_t begin, std::int64_t end) const {
  View part = *this;
  part.data += begin * strides[axis] * static_cast<std::int64_t>(type_bytes(dtype));
  part.shape[axis] = end - begin;
  part.is_contiguous = same_places(part.shape, strides, row_major(part.shape));
  if (part.is_contiguous) part.strides = row_major(part.shape);
  return part;
}

const View& View::require_shape(const Shape& expected) const {
  if (shape == expected) return *this;
  throw_bad_input(name + " has the shape " + shape_text(shape) + "; expected " +
                  shape_text(expected));
}

Call::Call(const char* name, const qsim_run* run) : name_(name), run_(QSIM_RUN_INIT) {
  if (run == nullptr) return;
  if (run->struct_bytes != sizeof run_) {
    throw_bad_input(name_ + ": the run's struct_bytes is " + std::to_string(run->struct_bytes) +
                    "; expected sizeof(qsim_run), which is " + std::to_string(sizeof run_));
  }
  run_ = *run;
  const std::int32_t constant = run_.constant_weights;
  if (constant != 0 && constant != 1) refuse_value("constant_weights", constant, "0 and 1");
}

View Call::tensor(const char* what, const qsim_tensor* tensor,
                  std::initializer_list<std::int32_t> types, int rank) {
  require(what, tensor);
  const std::string name = place(what);
  if (std::find(types.begin(), types.end(), tensor->dtype) == types.end()) {
    throw_bad_input(name + " has elements of " + std::string(type_name(tensor->dtype)) +
                    "; allowed: " + type_list(types));
  }
  if (tensor->rank < 0 || tensor->rank > kMostRank || (rank != kAnyRank && tensor->rank != rank)) {
    throw_bad_input(name + " has " + std::to_string(tensor->rank) + " dimensions; allowed: " +
                    (rank == kAnyRank ? "0 to 16" : std::to_string(rank)));
  }
  if (tensor->rank > 0 && tensor->shape == nullptr) throw_bad_input(name + " has no shape");
  View view = shaped(name, *tensor);
  if (is_half_byte(view.dtype) && !view.is_contiguous) {
    throw_bad_input(name + " has strides with gaps; two elements in a byte take none");
  }
  if (view.elems() > 0 && view.data == nullptr) throw_bad_input(name + " has no data");
  require_alignment(view, std::max<std::size_t>(type_bytes(view.dtype), 1));
  adopt_device(name, *tensor);
  return view;
}

View Call::output(const char* what, const qsim_tensor* described,
                  std::initializer_list<std::int32_t> types, int rank) {
  View view = tensor(what, described, types, rank);
  if (overlaps(view)) {
    throw_bad_input(view.name +
                    " has strides by which elements share memory; an output takes none");
  }
  return view;
}

View Call::dense_tensor(const char* what, const qsim_tensor* described,
                        std::initializer_list<std::int32_t> types, int rank) {
  View view = tensor(what, described, types, rank);
  if (!view.is_contiguous) {
    throw_bad_input(view.name + " has strides with gaps; this tensor takes none");
  }
  return view;
}

void Call::adopt_device(const std::string& what, const qsim_tensor& tensor) {
  if (tensor.device != QSIM_CPU && tensor.device != QSIM_CUDA) {
    throw_bad_input(what + " is on device type " + std::to_string(tensor.device) +
                    "; allowed: 0 (CPU) and 1 (CUDA)");
  }
  const std::int32_t index = tensor.device == QSIM_CPU ? 0 : tensor.device_index;
  if (device_ == -1) {
    device_ = tensor.device;
    device_index_ = index;
    first_tensor_ = what;
  } else if (tensor.device != device_ || index != device_index_) {
    throw_bad_input(what + " is on " + device_text(tensor.device, index) + ", and " +
                    first_tensor_ + " on " + device_text(device_, device_index_) +
                    "; all tensors of a call are on one device");
  }
}

bool Call::answers_query(std::size_t bytes) const {
  if (run_.workspace_query == nullptr) return false;
  *run_.workspace_query = bytes;
  return true;
}

void Call::require_workspace(std::size_t bytes) const {
  const auto place = reinterpret_cast<std::uintptr_t>(run_.workspace);
  if (bytes == 0 || (place != 0 && place % 256 == 0 && run_.workspace_bytes >= bytes)) return;
  throw_bad_input(name_ + ": the workspace has " + std::to_string(run_.workspace_bytes) +
                  " bytes; expected " + std::to_string(bytes) + ", aligned to 256");
}

void Call::require_device(int index) const {
  if (is_cuda() && device_index_ == index) return;
  throw_bad_input(name_ + ": the tensors are on " + device_text(device_, device_index_) +
                  "; the layer is for " + device_text(QSIM_CUDA, index));
}

void Call::require_cpu() const {
  if (!is_cuda()) return;
  throw_unsupported(name_ + " has no kernel for " + device_text(device_, device_index_) +
                    " in this library; give it tensors on the CPU");
}

void Call::require(const char* what, const void* pointer) const {
  if (pointer == nullptr) throw_bad_input(name_ + ": " + what + " is missing: its pointer is NULL");
}

void Call::refuse_value(const char* field, std::int64_t found, const char* allowed) const {
  throw_bad_input(name_ + ": " + field + " is " + std::to_string(found) + "; allowed: " + allowed);
}

}  // namespace qsim::golden::c_interface
