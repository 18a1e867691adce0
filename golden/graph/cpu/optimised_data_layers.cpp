// The layers that move or compare bytes: max-pool, ReLU, flatten, concatenation, lookup table.
// Their inner loops run over channels, which lie side by side, and are plain enough for the
// compiler to vectorise.
#include <algorithm>

#include "golden/graph/cpu/optimised_layers.h"

namespace qsim::golden {
namespace {

template <typename T>
void max_into(T* out, const T* in, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = std::max(out[i], in[i]);
}

// The first of start, start + step, ... that is not negative.
std::int64_t first_inside(std::int64_t start, std::int64_t step) {
  return start >= 0 ? start : start + (-start + step - 1) / step * step;
}

class MaxPoolExecutor : public LayerExecutor {
 public:
  MaxPoolExecutor(const MaxPool& pool, const Value& input, const Value& output)
      : window_(pool.window), input_(input), output_(output) {}

  void run(Operands inputs, Tensor& output) const override {
    const Tensor& input = *inputs[0];
    input_.is_unsigned() ? run_as<std::uint8_t>(input, output) : run_as<std::int8_t>(input, output);
  }

 private:
  template <typename T>
  void run_as(const Tensor& input, Tensor& output) const {
    const T* in = input.as<T>().data();
    const auto [batch, height, width, channels] = output_.shape;
    T* out = output.as<T>().data();
    for (std::int64_t n = 0; n < batch; ++n) {
      const T* picture = in + n * input_.shape.height * input_.shape.width * channels;
      for (std::int64_t oy = 0; oy < height; ++oy) {
        for (std::int64_t ox = 0; ox < width; ++ox) {
          pool_pixel(picture, oy, ox, out);
          out += channels;
        }
      }
    }
  }

  // A window that lies between positions gives the smallest value.
  template <typename T>
  void pool_pixel(const T* picture, std::int64_t oy, std::int64_t ox, T* out) const {
    const ImageShape& in = input_.shape;
    const std::int64_t y = oy * window_.stride_h - window_.pad_top;
    const std::int64_t x = ox * window_.stride_w - window_.pad_left;
    std::fill_n(out, in.channels, static_cast<T>(input_.min()));
    for (std::int64_t iy = first_inside(y, window_.dilation_h);
         iy < std::min(y + window_.extent_h(), in.height); iy += window_.dilation_h) {
      for (std::int64_t ix = first_inside(x, window_.dilation_w);
           ix < std::min(x + window_.extent_w(), in.width); ix += window_.dilation_w) {
        max_into(out, picture + (iy * in.width + ix) * in.channels, in.channels);
      }
    }
  }

  const Window& window_;
  const Value& input_;
  const Value& output_;
};

class ReluExecutor : public LayerExecutor {
 public:
  explicit ReluExecutor(const Value& output) : output_(output) {}

  void run(Operands inputs, Tensor& output) const override {
    const Tensor& input = *inputs[0];
    output_.is_unsigned() ? run_as<std::uint8_t>(input, output)
                          : run_as<std::int8_t>(input, output);
  }

 private:
  template <typename T>
  void run_as(const Tensor& input, Tensor& output) const {
    const T floor = static_cast<T>(output_.zero_point);
    const auto in = input.as<T>();
    const auto out = output.as<T>();
    for (std::size_t i = 0; i < in.size(); ++i) out[i] = std::max(in[i], floor);
  }

  const Value& output_;
};

class FlattenExecutor : public LayerExecutor {
 public:
  FlattenExecutor(const Flatten& flatten, const Value& input)
      : order_(flatten.order), input_(input) {}

  void run(Operands inputs, Tensor& output) const override {
    const Tensor& input = *inputs[0];
    if (order_ == Flatten::Order::kHwc) {
      output.bytes = input.bytes;
      return;
    }
    const auto pixels = static_cast<std::size_t>(input_.shape.height * input_.shape.width);
    const auto channels = static_cast<std::size_t>(input_.shape.channels);
    const std::byte* in = input.bytes.data();
    std::byte* out = output.bytes.data();
    for (std::int64_t n = 0; n < input_.shape.batch; ++n) {
      for (std::size_t c = 0; c < channels; ++c) {
        for (std::size_t p = 0; p < pixels; ++p) out[c * pixels + p] = in[p * channels + c];
      }
      in += pixels * channels;
      out += pixels * channels;
    }
  }

 private:
  Flatten::Order order_;
  const Value& input_;
};

class ConcatExecutor : public LayerExecutor {
 public:
  void run(Operands inputs, Tensor& output) const override {
    const auto channels = static_cast<std::size_t>(output.shape[3]);
    const std::size_t pixels = output.bytes.size() / channels;
    std::byte* first = output.bytes.data();
    for (const Tensor* input : inputs) {
      const auto depth = static_cast<std::size_t>(input->shape[3]);
      const std::byte* in = input->bytes.data();
      std::byte* out = first;
      for (std::size_t p = 0; p < pixels; ++p, in += depth, out += channels) {
        std::copy_n(in, depth, out);
      }
      first += depth;
    }
  }
};

class LookupTableExecutor : public LayerExecutor {
 public:
  explicit LookupTableExecutor(const LookupTable& table) : table_(table) {}

  void run(Operands inputs, Tensor& output) const override {
    const auto* in = reinterpret_cast<const std::uint8_t*>(inputs[0]->bytes.data());
    auto* out = reinterpret_cast<std::uint8_t*>(output.bytes.data());
    for (std::size_t i = 0; i < output.bytes.size(); ++i) out[i] = table_.bytes[in[i]];
  }

 private:
  const LookupTable& table_;
};

}  // namespace

MadeLayer make_layer(const Concat&, const LayerContext&) {
  return std::make_unique<ConcatExecutor>();
}

MadeLayer make_layer(const LookupTable& table, const LayerContext&) {
  return std::make_unique<LookupTableExecutor>(table);
}

MadeLayer make_layer(const MaxPool& pool, const LayerContext& layer) {
  return std::make_unique<MaxPoolExecutor>(pool, layer.input, layer.output);
}

MadeLayer make_layer(const Relu&, const LayerContext& layer) {
  return std::make_unique<ReluExecutor>(layer.output);
}

MadeLayer make_layer(const Flatten& flatten, const LayerContext& layer) {
  return std::make_unique<FlattenExecutor>(flatten, layer.input);
}

}  // namespace qsim::golden
