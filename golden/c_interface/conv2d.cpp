// The C interface of the int8 convolution: a graph of one layer, which golden/graph/cpu executes.
#include <algorithm>
#include <memory>

#include "golden/c_interface/conv2d_views.h"
#include "golden/c_interface/threads.h"
#include "golden/c_interface/window.h"
#include "golden/graph/cpu/graph_executor.h"

namespace ci = qsim::golden::c_interface;

namespace qsim::golden::c_interface {
namespace {

constexpr std::initializer_list<std::int32_t> kBytes = {QSIM_INT8, QSIM_UINT8};

Value value_of(const Call& call, const View& view, const char* zero_point_name,
               std::int32_t zero_point) {
  Value value;
  value.shape = {view.dim(0), view.dim(1), view.dim(2), view.dim(3)};
  value.dtype = view.dtype == QSIM_INT8 ? DType::kInt8 : DType::kUint8;
  value.zero_point = zero_point;
  if (zero_point < value.min() || zero_point > value.max()) {
    call.refuse_value(zero_point_name, zero_point,
                      value.is_unsigned() ? "0 to 255" : "-128 to 127");
  }
  return value;
}

Tensor tensor_of(const View& view, DType dtype) {
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.shape = view.shape;
  tensor.bytes = view.values<std::byte>();
  return tensor;
}

void check_scale(const Call& call, float real) {
  if (Scale::of(real)) return;
  throw_bad_input(call.place("scales") + " has " + std::to_string(real) +
                  "; a scale is a positive finite number");
}

// Scales on a GPU are not read: one that fits takes their place.
Requantization requantization_of(const Call& call, const qsim_requantization& given,
                                 const View& scales) {
  if (given.rounding < QSIM_ROUND_FLOOR || given.rounding > QSIM_ROUND_FLOAT32) {
    call.refuse_value("rounding", given.rounding, "0 to 3");
  }
  const auto rounding = static_cast<RequantizerRounding>(given.rounding);
  Requantization result;
  result.lo = given.lo;
  result.hi = given.hi;
  if (call.is_cuda()) {
    result.requantizers = {requantizer_of_shift(0, rounding)};
    return result;
  }
  for (const float real : scales.values<float>()) {
    check_scale(call, real);
    result.requantizers.push_back(requantizer_of(*Scale::of(real), rounding));
  }
  return result;
}

Conv2dViews views_of(Call& call, const qsim_tensor* x, const qsim_tensor* w,
                     const qsim_tensor* bias, const qsim_window* window, std::int64_t groups,
                     const qsim_tensor* scales, const qsim_tensor* y) {
  Conv2dViews views;
  views.x = call.tensor("x", x, kBytes, 4);
  views.weights = call.tensor("w", w, {QSIM_INT8}, 4);
  views.y = call.output("y", y, kBytes, 4);
  views.scales = call.tensor("scales", scales, {QSIM_FLOAT32}, 1);
  const std::int64_t channels = views.weights.dim(0);
  if (bias != nullptr) {
    views.bias = call.tensor("bias", bias, {QSIM_INT32}, 1);
    views.bias->require_shape({channels});
  }
  if (views.scales.dim(0) != 1) views.scales.require_shape({channels});
  views.window = window_of(call, window, views.weights.dim(1), views.weights.dim(2));
  views.groups = groups;
  return views;
}

// The layer as a graph, which validate() checks. On a GPU its tensors are shapes alone.
Graph graph_of(const Call& call, const Conv2dViews& views, const qsim_requantization& given) {
  Conv2d conv;
  if (call.is_cuda()) {
    conv.weights.shape = views.weights.shape;
    conv.bias.dtype = DType::kInt32;
    conv.bias.shape = {views.weights.dim(0)};
  } else {
    conv.weights = tensor_of(views.weights, DType::kInt8);
    conv.bias = views.bias ? tensor_of(*views.bias, DType::kInt32)
                           : Tensor(DType::kInt32, {views.weights.dim(0)});
  }
  conv.window = views.window;
  conv.groups = views.groups;
  conv.requantization = requantization_of(call, given, views.scales);
  Graph graph;
  graph.name = "conv2d_int8";
  graph.input_value() = value_of(call, views.x, "x_zero_point", given.x_zero_point);
  append(graph, graph.name, std::move(conv),
         value_of(call, views.y, "y_zero_point", given.y_zero_point));
  validate(graph);
  return graph;
}

// Whether validate() would accept the layer, whose graph takes longer to make than a launch.
bool is_ordinary(const Conv2dViews& views, const qsim_requantization& given) {
  const Window& w = views.window;
  const auto in_range = [](std::int64_t number, std::int32_t dtype) {
    return dtype == QSIM_INT8 ? number >= -128 && number <= 127 : number >= 0 && number <= 255;
  };
  const auto has_elements = [](const View& view) {
    return std::all_of(view.shape.begin(), view.shape.end(),
                       [](std::int64_t size) { return size >= 1 && size <= INT32_MAX; });
  };
  if (!has_elements(views.x) || !has_elements(views.weights) || !has_elements(views.y) ||
      w.stride_h < 1 || w.stride_w < 1 || w.dilation_h < 1 || w.dilation_w < 1 || w.pad_top < 0 ||
      w.pad_left < 0 || w.pad_bottom < 0 || w.pad_right < 0 || views.groups < 1 ||
      views.x.dim(3) != views.weights.dim(3) * views.groups ||
      views.weights.dim(0) % views.groups != 0) {
    return false;
  }
  const Shape expected = {
      views.x.dim(0),
      window_count(views.x.dim(1), w.extent_h(), w.stride_h, w.pad_top, w.pad_bottom),
      window_count(views.x.dim(2), w.extent_w(), w.stride_w, w.pad_left, w.pad_right),
      views.weights.dim(0)};
  return views.y.shape == expected && given.rounding >= QSIM_ROUND_FLOOR &&
         given.rounding <= QSIM_ROUND_FLOAT32 && given.lo <= given.hi &&
         in_range(given.lo, views.y.dtype) && in_range(given.hi, views.y.dtype) &&
         in_range(given.x_zero_point, views.x.dtype) && in_range(given.y_zero_point, views.y.dtype);
}

// The rows begin..end - 1 of y of picture `batch`, and the rows of x that they are made of.
struct RowsOfPicture {
  Conv2dViews views;
  bool reads = false;  // else all of it is pads
};

RowsOfPicture rows_of(const Conv2dViews& whole, std::int64_t batch, std::int64_t begin,
                      std::int64_t end) {
  RowsOfPicture part{whole};
  const Window& w = whole.window;
  const std::int64_t top = begin * w.stride_h - w.pad_top;
  const std::int64_t bottom = (end - 1) * w.stride_h - w.pad_top + w.extent_h();
  const std::int64_t first = std::max<std::int64_t>(top, 0);
  const std::int64_t last = std::min(bottom, whole.x.dim(1));
  part.reads = first < last;
  part.views.window.pad_top = first - top;
  part.views.window.pad_bottom = bottom - last;
  part.views.x = whole.x.slice(0, batch, batch + 1).slice(1, first, std::max(first, last));
  part.views.y = whole.y.slice(0, batch, batch + 1).slice(1, begin, end);
  return part;
}

void run(const Graph& graph, const GraphExecutor& executor, const Conv2dViews& views) {
  const auto outputs = executor.run(tensor_of(views.x, graph.input_value().dtype));
  views.y.store(outputs.back().bytes.data());
}

// The layer of pieces of one shape, whose weights are copied and packed once.
struct LayerOfPieces {
  Graph graph;
  GraphExecutor executor{graph};

  explicit LayerOfPieces(Graph made) : graph(std::move(made)) {}
};

// Whether two pieces are one layer of different pictures or rows.
bool same_layer(const Conv2dViews& a, const Conv2dViews& b) {
  return a.x.shape == b.x.shape && a.y.shape == b.y.shape && a.window.pad_top == b.window.pad_top &&
         a.window.pad_bottom == b.window.pad_bottom;
}

// Each piece by the layer of its shape. The pieces of each picture are those of the first, `parts`.
void run_pieces(const Call& call, ThreadTeam& team, const std::vector<RowsOfPicture>& pieces,
                std::size_t parts, const qsim_requantization& given) {
  std::vector<const Conv2dViews*> shapes;  // one piece of each
  std::vector<std::size_t> shape_of_part;
  for (std::size_t part = 0; part < parts; ++part) {
    const Conv2dViews& views = pieces[part].views;
    const auto found = std::find_if(shapes.begin(), shapes.end(), [&](const Conv2dViews* shape) {
      return same_layer(*shape, views);
    });
    shape_of_part.push_back(static_cast<std::size_t>(found - shapes.begin()));
    if (found == shapes.end()) shapes.push_back(&views);
  }
  std::vector<std::unique_ptr<LayerOfPieces>> layers(shapes.size());
  divide(team, std::ssize(shapes), [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      layers[i] = std::make_unique<LayerOfPieces>(graph_of(call, *shapes[i], given));
    }
  });
  divide(team, std::ssize(pieces), [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      const LayerOfPieces& layer = *layers[shape_of_part[i % parts]];
      run(layer.graph, layer.executor, pieces[i].views);
    }
  });
}

// Each thread computes rows of pictures; where pads alone are under some, one computes all.
// `graph` is the whole call's.
void run_divided(const Call& call, const Graph& graph, const Conv2dViews& views,
                 const qsim_requantization& given) {
  CallThreads threads(call.run());
  const std::int64_t height = views.y.dim(1);
  const std::int64_t parts = std::min<std::int64_t>(height, threads.team().threads());
  std::vector<RowsOfPicture> pieces;
  for (std::int64_t i = 0; i < views.y.dim(0) * parts; ++i) {
    const std::int64_t part = i % parts;
    pieces.push_back(rows_of(views, i / parts, height * part / parts, height * (part + 1) / parts));
  }
  const bool divides = threads.team().threads() > 1 &&
                       std::all_of(pieces.begin(), pieces.end(),
                                   [](const RowsOfPicture& piece) { return piece.reads; });
  if (!divides) return run(graph, GraphExecutor(graph), views);
  run_pieces(call, threads.team(), pieces, static_cast<std::size_t>(parts), given);
}

}  // namespace
}  // namespace qsim::golden::c_interface

qsim_status qsim_conv2d_int8(const qsim_tensor* x, const qsim_tensor* w, const qsim_tensor* bias,
                             const qsim_window* window, int64_t groups,
                             const qsim_requantization* requantization, const qsim_tensor* y,
                             const qsim_run* run) {
  return ci::guarded([&] {
    ci::Call call("conv2d_int8", run);
    call.require("requantization", requantization);
    const ci::Conv2dViews views =
        ci::views_of(call, x, w, bias, window, groups, requantization->scales, y);
    if (call.is_cuda() && ci::is_ordinary(views, *requantization)) {
      return ci::conv2d_on_device(call, views, *requantization);
    }
    const qsim::Graph graph = ci::graph_of(call, views, *requantization);  // throws what is wrong
    if (call.is_cuda()) return ci::conv2d_on_device(call, views, *requantization);
    if (!call.answers_query(0)) ci::run_divided(call, graph, views, *requantization);
  });
}
