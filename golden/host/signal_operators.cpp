// Fourier transforms, windows and mel weights: what audio networks have before their first layer.
// Sums are of float64 numbers, in order.
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "golden/host/host_numbers.h"
#include "golden/host/host_operators.h"

namespace qsim::golden {
namespace {

using Complex = std::complex<double>;

// The first `count` of the coefficients of a transform of `length` samples, which are followed by
// zeros or cut off.
std::vector<Complex> transformed(const std::vector<Complex>& samples, std::int64_t length,
                                 std::int64_t count, bool is_inverse) {
  std::vector<Complex> turns;  // of the whole circle
  for (std::int64_t i = 0; i < length; ++i) {
    const double angle =
        2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(length);
    turns.emplace_back(std::cos(angle), is_inverse ? std::sin(angle) : -std::sin(angle));
  }
  const std::int64_t used = std::min(length, std::ssize(samples));
  std::vector<Complex> found(static_cast<std::size_t>(count));
  for (std::int64_t k = 0; k < count; ++k) {
    Complex sum = 0;
    for (std::int64_t n = 0; n < used; ++n) {
      sum += samples[static_cast<std::size_t>(n)] * turns[static_cast<std::size_t>(k * n % length)];
    }
    found[static_cast<std::size_t>(k)] = is_inverse ? sum / static_cast<double>(length) : sum;
  }
  return found;
}

std::int64_t coefficients(std::int64_t length, bool is_onesided) {
  return is_onesided ? length / 2 + 1 : length;
}

void check_length(const HostCall& call, std::int64_t length) {
  if (length < 1)
    call.malformed("a transform of " + std::to_string(length) + " samples", "1 or more");
}

void check_parts(const HostCall& call, const Shape& shape, std::size_t least) {
  if (shape.size() >= least && (shape.back() == 1 || shape.back() == 2)) return;
  call.malformed("an input of shape " + shape_text(shape),
                 "real numbers, or pairs of real and imaginary ones, along the last axis");
}

void dft(HostCall& call) {
  const DType dtype = common_type(call, Kind::kReals, 0, 1);
  const Shape& shape = call.shape(0);
  check_parts(call, shape, 2);
  const std::int64_t named = call.opset() >= 20 ? (call.has(2) ? call.integer(2) : -2)
                                                : call.attribute("axis", std::int64_t{1});
  const std::size_t axis = call.axis(named, shape.size());
  if (axis + 1 == shape.size()) call.malformed("axis " + std::to_string(named), "one of samples");
  const bool is_inverse = call.attribute("inverse", std::int64_t{0}) != 0;
  const bool is_onesided = call.attribute("onesided", std::int64_t{0}) != 0;
  const std::int64_t length = call.has(1) ? call.integer(1) : shape[axis];
  check_length(call, length);
  Shape out_shape = shape;
  out_shape[axis] = coefficients(length, is_onesided);
  out_shape.back() = 2;
  Tensor* const out = call.output(0, dtype, out_shape);
  if (out == nullptr || out->bytes.empty()) return;
  std::int64_t inner = 1;  // pairs from one sample to the next
  for (std::size_t d = axis + 1; d + 1 < shape.size(); ++d) inner *= shape[d];
  std::int64_t outer = 1;
  for (std::size_t d = 0; d < axis; ++d) outer *= shape[d];
  const std::int64_t parts = shape.back();
  with_type_of<Kind::kReals>(dtype, [&]<typename T>() {
    const auto x = elements<T>(call.input(0));
    const auto y = elements<T>(*out);
    for (std::int64_t o = 0; o < outer * inner; ++o) {
      const auto at = [&](std::int64_t size, std::int64_t n) {
        return static_cast<std::size_t>((o / inner * size + n) * inner + o % inner);
      };
      std::vector<Complex> samples;
      for (std::int64_t n = 0; n < shape[axis]; ++n) {
        const std::size_t first = at(shape[axis], n) * static_cast<std::size_t>(parts);
        samples.emplace_back(x[first], parts == 2 ? x[first + 1] : T{0});
      }
      const std::vector<Complex> found = transformed(samples, length, out_shape[axis], is_inverse);
      for (std::int64_t k = 0; k < out_shape[axis]; ++k) {
        const std::size_t first = at(out_shape[axis], k) * 2;
        y[first] = static_cast<T>(found[static_cast<std::size_t>(k)].real());
        y[first + 1] = static_cast<T>(found[static_cast<std::size_t>(k)].imag());
      }
    }
  });
}

void stft(HostCall& call) {
  const DType dtype = common_type(call, Kind::kReals, 0, 1);
  Shape shape = call.shape(0);
  if (shape.size() == 2) shape.push_back(1);  // ONNX Runtime takes a signal of real numbers so, too
  check_parts(call, shape, 3);
  if (shape.size() != 3) call.malformed("a signal of shape " + shape_text(shape), "three axes");
  const std::int64_t step = call.integer(1);
  const bool has_window = call.has(2);
  if (!has_window && !call.has(3)) call.malformed("no window and no frame_length", "one of them");
  if (has_window && call.shape(2).size() != 1) {
    call.malformed("a window of shape " + shape_text(call.shape(2)), "one axis");
  }
  const std::int64_t length = call.has(3) ? call.integer(3) : call.shape(2).at(0);
  check_length(call, length);
  if (step < 1 || length > shape[1] || (has_window && call.shape(2) != Shape{length})) {
    call.malformed(
        "frames of " + std::to_string(length) + " samples, " + std::to_string(step) + " apart",
        "a window as long as a frame, and frames no longer than the signal");
  }
  const bool is_onesided = call.attribute("onesided", std::int64_t{1}) != 0;
  const std::int64_t frames = (shape[1] - length) / step + 1;
  const std::int64_t count = coefficients(length, is_onesided);
  Tensor* const out = call.output(0, dtype, {shape[0], frames, count, 2});
  if (out == nullptr) return;
  const std::int64_t parts = shape[2];
  const std::vector<double> window =
      has_window ? call.reals(2) : std::vector<double>(static_cast<std::size_t>(length), 1);
  with_type_of<Kind::kReals>(dtype, [&]<typename T>() {
    const auto x = elements<T>(call.input(0));
    auto* to = elements<T>(*out).data();
    for (std::int64_t b = 0; b < shape[0]; ++b) {
      for (std::int64_t f = 0; f < frames; ++f) {
        std::vector<Complex> samples;
        for (std::int64_t n = 0; n < length; ++n) {
          const auto at = static_cast<std::size_t>((b * shape[1] + f * step + n) * parts);
          const Complex sample(x[at], parts == 2 ? x[at + 1] : T{0});
          samples.push_back(sample * window[static_cast<std::size_t>(n)]);
        }
        for (const Complex& found : transformed(samples, length, count, false)) {
          *to++ = static_cast<T>(found.real());
          *to++ = static_cast<T>(found.imag());
        }
      }
    }
  });
}

// The element type that a node asks for, float32 without one.
DType asked_type(const HostCall& call) {
  constexpr std::int64_t kFloat = 1;
  constexpr std::int64_t kDouble = 11;
  const auto type = call.attribute("output_datatype", kFloat);
  if (type != kFloat && type != kDouble) {
    call.refuse("output_datatype " + std::to_string(type), "float32 and float64");
  }
  return type == kFloat ? DType::kFloat32 : DType::kFloat64;
}

// A cosine sum of as many samples as input 0 says: first - second cos(2 pi n / N) + third cos(4 pi
// n / N), N one less unless it is periodic.
void cosine_window(HostCall& call, double first, double second, double third) {
  const std::int64_t size = call.integer(0);
  if (size < 0) call.malformed("a window of " + std::to_string(size) + " samples", "0 or more");
  const bool is_periodic = call.attribute("periodic", std::int64_t{1}) != 0;
  const DType dtype = asked_type(call);
  Tensor* const out = call.output(0, dtype, {size});
  if (out == nullptr) return;
  const auto period = static_cast<double>(is_periodic ? size : size - 1);
  with_type_of<Kind::kReals>(dtype, [&]<typename T>() {
    const auto y = elements<T>(*out);
    for (std::size_t n = 0; n < y.size(); ++n) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(n) / period;
      y[n] = static_cast<T>(first - second * std::cos(angle) + third * std::cos(2 * angle));
    }
  });
}

void hann_window(HostCall& call) { cosine_window(call, 0.5, 0.5, 0); }
void hamming_window(HostCall& call) { cosine_window(call, 25.0 / 46, 21.0 / 46, 0); }
void blackman_window(HostCall& call) { cosine_window(call, 0.42, 0.5, 0.08); }

// Triangles whose corners are even on the mel scale, in bins of a transform.
void mel_weight_matrix(HostCall& call) {
  const std::int64_t bands = call.integer(0);
  const std::int64_t length = call.integer(1);
  const double rate = call.real(2);
  const double low = call.real(3);
  const double high = call.real(4);
  if (bands < 1 || length < 1 || !(rate > 0) || !(low >= 0) || !(high > low) ||
      !(high <= rate / 2)) {
    call.malformed("no bands, samples or range of frequencies",
                   "1 or more, and a range within half the sample rate");
  }
  const DType dtype = asked_type(call);
  const std::int64_t bins = length / 2 + 1;
  Tensor* const out = call.output(0, dtype, {bins, bands});
  if (out == nullptr) return;
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double step = (mel(high) - mel(low)) / static_cast<double>(bands + 2);
  std::vector<std::int64_t> corners;
  for (std::int64_t i = 0; i < bands + 2; ++i) {
    const double hertz =
        700 * (std::pow(10, (mel(low) + static_cast<double>(i) * step) / 2595) - 1);
    corners.push_back(static_cast<std::int64_t>(static_cast<double>(length + 1) * hertz / rate));
  }
  with_type_of<Kind::kReals>(dtype, [&]<typename T>() {
    const auto y = elements<T>(*out);
    for (std::int64_t band = 0; band < bands; ++band) {
      const auto i = static_cast<std::size_t>(band);
      const std::int64_t from = corners[i];
      const std::int64_t peak = corners[i + 1];
      const std::int64_t to = corners[i + 2];
      const auto set = [&](std::int64_t bin, double weight) {
        if (bin >= 0 && bin < bins)
          y[static_cast<std::size_t>(bin * bands + band)] = static_cast<T>(weight);
      };
      if (from == peak) set(peak, 1);
      for (std::int64_t bin = from; from != peak && bin <= peak; ++bin) {
        set(bin, static_cast<double>(bin - from) / static_cast<double>(peak - from));
      }
      for (std::int64_t bin = peak; to != peak && bin < to; ++bin) {
        set(bin, static_cast<double>(to - bin) / static_cast<double>(to - peak));
      }
    }
  });
}

constexpr std::array kSignalOperators = {
    HostOperator{"BlackmanWindow", blackman_window},    HostOperator{"DFT", dft},
    HostOperator{"HammingWindow", hamming_window},      HostOperator{"HannWindow", hann_window},
    HostOperator{"MelWeightMatrix", mel_weight_matrix}, HostOperator{"STFT", stft},
};

}  // namespace

std::span<const HostOperator> signal_operators() { return kSignalOperators; }

}  // namespace qsim::golden
