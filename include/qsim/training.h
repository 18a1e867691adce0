/* The C interface of libqsim_golden for training: layers whose forward pass is the int8 convolution
 * of qsim/golden.h, and their gradients. docs/reference/training.md is its page and derives every
 * formula; ADR 0022 has the reasons.
 *
 * Every number that a layer needs between its steps (scales, zero points, statistics) is a tensor
 * on the device, so that no call waits for a GPU, and a CUDA graph can hold all of them. Pictures
 * are [B, H, W, C], weights [O, kh, kw, C / groups]; strides say where they are. A linear layer is
 * a convolution of pictures of one pixel. "Real" stands for QSIM_FLOAT32, QSIM_FLOAT16 or
 * QSIM_BFLOAT16. An empty tensor is allowed: nothing is computed, a sum over nothing is 0.
 *
 * Every result is the same for any number of threads, and for every run on one device. Where a
 * function says "on every device", the CPU and each GPU give the same bits.
 *
 * A bit tensor is QSIM_UINT8 [ceil(n / 8)] for n elements in row-major order of their shape:
 * element i is bit i % 8 of byte i / 8, and the bits past the last element are 0. In `passes` 1 is
 * an element that its gradient passes. */
#ifndef QSIM_TRAINING_H
#define QSIM_TRAINING_H

#include <qsim/golden.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a real number becomes a level: q = clamp(round(x / scale) + zero_point, lo, hi), the quotient
 * rounded to float32 once. */
typedef enum qsim_level_rounding {
  QSIM_LEVEL_HALF_EVEN = 0,
  QSIM_LEVEL_TOWARD_ZERO = 1 /* truncation */
} qsim_level_rounding;

/* Where a scale comes from. The greatest level is hi, with a zero_point hi - lo. */
typedef enum qsim_scale_kind {
  QSIM_SCALE_GIVEN = 0,        /* the caller's: fixed or learned */
  QSIM_SCALE_MAX = 1,          /* max|x| / hi; zero_point 0 */
  QSIM_SCALE_POWER_OF_TWO = 2, /* the least 2^n that is not below max|x| / hi; zero_point 0 */
  QSIM_SCALE_AFFINE = 3        /* (most - least) / (hi - lo), 0 in the range; a zero_point */
} qsim_scale_kind;

/* A scale is at least 2^-126, and 1 where max|x| (or most - least) is 0. What is not finite in x is
 * left out of ranges; as a level, NaN is the zero_point and an infinity lo or hi, and neither
 * passes. */
typedef struct qsim_levels {
  size_t struct_bytes; /* sizeof(qsim_levels) */
  int32_t lo, hi;      /* -128 <= lo <= 0 < hi <= 127 */
  int32_t rounding;    /* qsim_level_rounding */
  int32_t scale_kind;  /* qsim_scale_kind */
} qsim_levels;

#define QSIM_LEVELS_INIT \
  { sizeof(qsim_levels), -127, 127, QSIM_LEVEL_HALF_EVEN, QSIM_SCALE_MAX }

/* What an observer remembers of the ranges that it has seen. */
typedef enum qsim_observer {
  QSIM_OBSERVE_LAST = 0,   /* the range of the last x */
  QSIM_OBSERVE_ALL = 1,    /* of all x so far */
  QSIM_OBSERVE_AVERAGE = 2 /* range += momentum (range of x - range); at first the range of x */
} qsim_observer;

/* Sees x (real, any rank; NULL: sees nothing) and says what scale follows. state [3]
 * (QSIM_FLOAT32): least, most, and how many x were seen; zeros at first; it is read and written.
 * scale [1] (QSIM_FLOAT32) and zero_point [1] (QSIM_INT32, or NULL) are written, unless the kind is
 * QSIM_SCALE_GIVEN. On every device. */
QSIM_API qsim_status qsim_observe(const qsim_tensor* x, int32_t observer, float momentum,
                                  const qsim_levels* levels, const qsim_tensor* state,
                                  const qsim_tensor* scale, const qsim_tensor* zero_point,
                                  const qsim_run* run);

/* q (QSIM_INT8, x's shape, no gaps) of x (real, any rank). zero_point NULL: 0. passes: the bits of
 * elements that were not clamped, or NULL. residual (QSIM_INT8, q's shape, or NULL): round(127 (x /
 * scale - (round(x / scale)))), for step gradients; 0 where it was clamped. On every device. */
QSIM_API qsim_status qsim_quantize_levels(const qsim_tensor* x, const qsim_levels* levels,
                                          const qsim_tensor* scale, const qsim_tensor* zero_point,
                                          const qsim_tensor* q, const qsim_tensor* passes,
                                          const qsim_tensor* residual, const qsim_run* run);

/* The same of weights w [O, kh, kw, C / groups] or of any tensor whose first axis are channels: a
 * scale each, scales [O], written unless they are QSIM_SCALE_GIVEN. There is no zero_point:
 * QSIM_SCALE_AFFINE is not allowed. On every device. */
QSIM_API qsim_status qsim_quantize_weights(const qsim_tensor* w, const qsim_levels* levels,
                                           const qsim_tensor* scales, const qsim_tensor* q,
                                           const qsim_tensor* passes, const qsim_tensor* residual,
                                           const qsim_run* run);

/* The int8 convolution of a layer, without what becomes of its sums:
 * acc[b, oh, ow, o] = sum of (q - zero_point) w, an int32 that wraps. A pad is zero_point. */
typedef struct qsim_level_conv {
  size_t struct_bytes;
  const qsim_tensor* q;          /* [B, H, W, C], QSIM_INT8, no gaps */
  const qsim_tensor* zero_point; /* [1], QSIM_INT32, -128..127; NULL: 0 */
  const qsim_tensor* w;          /* [O, kh, kw, C / groups], QSIM_INT8, no gaps */
  const qsim_window* window;
  int64_t groups;
} qsim_level_conv;

/* y [B, OH, OW, O] (real) = acc * (scale * w_scales[o]) + bias[o]: acc to float32, then each of the
 * two products and the sum rounded to float32, then to y's type. relu 1: max(y, 0), and passes has
 * the bits of y > 0. scale [1], w_scales [O], bias [O] or NULL: QSIM_FLOAT32. passes: NULL, or bits
 * of y. On every device. */
QSIM_API qsim_status qsim_conv2d_real(const qsim_level_conv* conv, const qsim_tensor* scale,
                                      const qsim_tensor* w_scales, const qsim_tensor* bias,
                                      int32_t relu, const qsim_tensor* y, const qsim_tensor* passes,
                                      const qsim_run* run);

/* y (QSIM_INT8, no gaps) = clamp(round(t) + y_zero_point, lo, hi), t = (acc + bias[o]) *
 * multipliers[o], both in float32, to nearest, ties to even: the rule of QSIM_ROUND_FLOAT32.
 * multipliers [O] (QSIM_FLOAT32, any sign), bias [O] (QSIM_INT32) or NULL, y_zero_point [1]
 * (QSIM_INT32) or NULL. relu 1: max(t, 0) for t. passes: bits of y that were not clamped, and with
 * relu t > 0; or NULL. range [2] (QSIM_FLOAT32) or NULL: least and most t, after relu, of finite t
 * and 0. acc + bias wraps to int32. On every device. */
QSIM_API qsim_status qsim_conv2d_levels(const qsim_level_conv* conv, const qsim_tensor* multipliers,
                                        const qsim_tensor* bias, const qsim_tensor* y_zero_point,
                                        int32_t lo, int32_t hi, int32_t relu, const qsim_tensor* y,
                                        const qsim_tensor* passes, const qsim_tensor* range,
                                        const qsim_run* run);

/* The sums over B, OH, OW that batch normalization needs, exact: sums [O, 3] (QSIM_INT64): of acc,
 * and of acc^2 as low + 2^32 high, low being the sum of (acc^2 mod 2^32). At most 2^31 pixels. On
 * every device. */
QSIM_API qsim_status qsim_conv2d_statistics(const qsim_level_conv* conv, const qsim_tensor* sums,
                                            const qsim_run* run);

/* sums [O, 2] (QSIM_FLOAT32): of g and of g * acc over B, OH, OW; g [B, OH, OW, O] of
 * QSIM_BFLOAT16, no gaps. For the gradient of batch normalization. */
QSIM_API qsim_status qsim_conv2d_gradient_sums(const qsim_level_conv* conv, const qsim_tensor* g,
                                               const qsim_tensor* sums, const qsim_run* run);

/* g = factors[o, 0] g + factors[o, 1] acc + factors[o, 2], in place; factors [O, 3] (QSIM_FLOAT32).
 * In float32, by two fused multiply-adds (of acc first), then to bfloat16. On every device. */
QSIM_API qsim_status qsim_conv2d_normalize_gradient(const qsim_level_conv* conv,
                                                    const qsim_tensor* factors,
                                                    const qsim_tensor* g, const qsim_run* run);

/* Max pooling of levels: y [B, OH, OW, C] of q [B, H, W, C], QSIM_INT8, no gaps. Pads are never the
 * greatest; a window of pads alone is refused. On every device. */
QSIM_API qsim_status qsim_max_pool_levels(const qsim_tensor* q, int64_t kernel_h, int64_t kernel_w,
                                          const qsim_window* window, const qsim_tensor* y,
                                          const qsim_run* run);

/* dx [B, H, W, C] (real) of dy [B, OH, OW, C] (real): each dy goes to the first of its window's
 * greatest levels, in row-major order; summed in float32 in the order of oh, ow. passes: bits of q,
 * or NULL; dx is 0 where its bit is. On every device. */
QSIM_API qsim_status qsim_max_pool_gradient(const qsim_tensor* q, int64_t kernel_h,
                                            int64_t kernel_w, const qsim_window* window,
                                            const qsim_tensor* dy, const qsim_tensor* passes,
                                            const qsim_tensor* dx, const qsim_run* run);

/* The operand of both gradients of a convolution: g (QSIM_BFLOAT16, no gaps) is dy (real, any
 * strides) where it passes, else 0, rounded to nearest, ties to even. bias_gradient [last axis]
 * (QSIM_FLOAT32) or NULL: the sums of dy where it passes, over all other axes. */
QSIM_API qsim_status qsim_gradient_operand(const qsim_tensor* dy, const qsim_tensor* passes,
                                           const qsim_tensor* g, const qsim_tensor* bias_gradient,
                                           const qsim_run* run);

/* dx [B, H, W, C] (real) = sum of g w', w' = bfloat16(w * w_scales[o]), in float32; 0 where passes
 * (bits of x; NULL: all pass) is. conv->q gives the shape of x alone, and its data may be NULL. */
QSIM_API qsim_status qsim_conv2d_input_gradient(const qsim_level_conv* conv,
                                                const qsim_tensor* w_scales, const qsim_tensor* g,
                                                const qsim_tensor* passes, const qsim_tensor* dx,
                                                const qsim_run* run);

/* dw [O, kh, kw, C / groups] (QSIM_FLOAT32, any strides) = scale * sum of g (q - zero_point), in
 * float32; 0 where passes (bits of w; NULL: all pass) is. conv->w gives the shape alone. */
QSIM_API qsim_status qsim_conv2d_weight_gradient(const qsim_level_conv* conv,
                                                 const qsim_tensor* scale, const qsim_tensor* g,
                                                 const qsim_tensor* passes, const qsim_tensor* dw,
                                                 const qsim_run* run);

/* A layer's forward pass: qsim_observe where there is a state, the quantizers, qsim_conv2d_real. */
typedef struct qsim_layer {
  size_t struct_bytes;
  const qsim_levels* levels;     /* of x; its scale is written where x is observed */
  const qsim_levels* w_levels;   /* of w: no QSIM_SCALE_AFFINE; QSIM_SCALE_GIVEN with w_steps */
  const qsim_tensor* scale;      /* [1], QSIM_FLOAT32 */
  const qsim_tensor* zero_point; /* [1], QSIM_INT32; NULL: 0 */
  const qsim_tensor* w;          /* [O, kh, kw, C / groups], real */
  const qsim_tensor* bias;       /* [O], QSIM_FLOAT32, or NULL */
  const qsim_window* window;
  int64_t groups;
  const qsim_tensor* w_steps; /* scales of w, as w_levels: [O], with one_scale [1]; or NULL */
  int32_t relu, one_scale, residuals; /* one for all weights; are kept, for step gradients */
} qsim_layer;

/* y [B, OH, OW, O] (real) of x [B, H, W, C] (real). observer, momentum and state [3] as
 * qsim_observe has them; state NULL: x is not observed. kept: QSIM_UINT8 [n] without gaps, aligned
 * to 16 bytes, n being what qsim_layer_kept_bytes() says: all that qsim_layer_backward() needs of
 * this pass, in an order of its own; NULL: nothing is kept. */
QSIM_API qsim_status qsim_layer_forward(const qsim_layer* layer, const qsim_tensor* x,
                                        int32_t observer, float momentum, const qsim_tensor* state,
                                        const qsim_tensor* y, const qsim_tensor* kept,
                                        const qsim_run* run);

/* The bytes of `kept`. Of conv the shapes of q (x's) and w count, the window and the groups. */
QSIM_API qsim_status qsim_layer_kept_bytes(const qsim_level_conv* conv, int32_t relu,
                                           int32_t residuals, size_t* bytes);

/* dx [B, H, W, C] (real), dw [O, kh, kw, C / groups] (QSIM_FLOAT32) and bias_gradient [O]
 * (QSIM_FLOAT32) of dy [B, OH, OW, O] (real), each or NULL: qsim_gradient_operand,
 * qsim_conv2d_weight_gradient and qsim_conv2d_input_gradient, with their bits. conv as in
 * qsim_layer_kept_bytes(); its zero_point is NULL where the layer's was. With residuals dx and dw
 * are QSIM_FLOAT32 without gaps, and step_gradient [1] and w_step_gradient ([1]: one_scale; or
 * [O]), or NULL, are those of qsim_step_gradient. */
QSIM_API qsim_status qsim_layer_backward(const qsim_level_conv* conv, int32_t relu,
                                         int32_t residuals, const qsim_tensor* kept,
                                         const qsim_tensor* dy, const qsim_tensor* dx,
                                         const qsim_tensor* dw, const qsim_tensor* bias_gradient,
                                         const qsim_tensor* step_gradient,
                                         const qsim_tensor* w_step_gradient, const qsim_run* run);

/* Gradients of a learned step size. dq (QSIM_FLOAT32, no gaps): the gradient of the level times the
 * scale. dx (QSIM_FLOAT32, dq's shape, may be dq): dq where it passes, else 0. step_gradient [1],
 * or [first axis] where `per_channel` is 1 (QSIM_FLOAT32): the sum of dq times -residual / 127
 * where it passes, else q - zero_point. */
QSIM_API qsim_status qsim_step_gradient(const qsim_tensor* dq, const qsim_tensor* q,
                                        const qsim_tensor* zero_point, const qsim_tensor* passes,
                                        const qsim_tensor* residual, int32_t per_channel,
                                        const qsim_tensor* dx, const qsim_tensor* step_gradient,
                                        const qsim_run* run);

/* As torch.nn.BatchNorm2d has it. */
typedef struct qsim_normalization {
  size_t struct_bytes;
  const qsim_tensor *gamma, *beta;               /* [O], QSIM_FLOAT32; NULL: 1, and 0 */
  const qsim_tensor *running_mean, *running_var; /* [O], QSIM_FLOAT32 */
  const qsim_tensor* batches; /* [1], QSIM_INT64: those that the statistics have seen */
  double eps, momentum;       /* momentum below 0: the statistics are the mean of all batches' */
} qsim_normalization;

/* norm [5, O] (float64 numbers, as QSIM_BITS64): what qsim_fold_levels folds, y = gain unit acc +
 * offset, and what the gradient needs: gain = gamma inverse, offset = beta - gain unit mean, mean
 * of acc, inverse = 1 / sqrt(variance + eps), unit = x_scale w_scales[o]. sums [O, 3]: of
 * qsim_conv2d_statistics over `pixels` (2 and more), and the running statistics and batches move;
 * NULL: the running statistics, less the convolution's bias [O] or NULL. On every device. */
QSIM_API qsim_status qsim_normalize_statistics(const qsim_tensor* sums, int64_t pixels,
                                               const qsim_tensor* x_scale,
                                               const qsim_tensor* w_scales, const qsim_tensor* bias,
                                               const qsim_normalization* normalization,
                                               const qsim_tensor* norm, const qsim_run* run);

/* multipliers [O] (QSIM_FLOAT32) and biases [O] (QSIM_INT32) of qsim_conv2d_levels for a scale
 * y_scale [1] of y, and w_used [O, kh, kw, C / groups] (QSIM_INT8), the weights to give it: w, or 0
 * in channels whose unit is too small for their bias. norm: of qsim_normalize_statistics, or NULL:
 * a gain of 1, and bias [O] is the offset. Both NULL: w, biases, w_used are not used. On every
 * device. */
QSIM_API qsim_status qsim_fold_levels(const qsim_tensor* x_scale, const qsim_tensor* w_scales,
                                      const qsim_tensor* y_scale, const qsim_tensor* norm,
                                      const qsim_tensor* bias, const qsim_tensor* w,
                                      const qsim_tensor* multipliers, const qsim_tensor* biases,
                                      const qsim_tensor* w_used, const qsim_run* run);

/* What a convolution of a chain has beside its qsim_level_conv. */
typedef struct qsim_chain_convolution {
  size_t struct_bytes;
  const qsim_tensor* w; /* real; NULL: conv->w and w_scales are given, else they are written */
  const qsim_levels* w_levels; /* QSIM_SCALE_MAX or QSIM_SCALE_POWER_OF_TWO */
  const qsim_tensor* w_scales; /* [O], QSIM_FLOAT32 */
  const qsim_tensor* x_scale;  /* [1], QSIM_FLOAT32 */
  const qsim_tensor* bias;     /* [O], QSIM_FLOAT32, or NULL */
  const qsim_tensor* norm;     /* of qsim_normalize_statistics, written; NULL: there is none */
  const qsim_normalization* normalization;   /* not read without norm */
  const qsim_tensor *y_zero_point, *y_scale; /* [1]: QSIM_INT32, or NULL; QSIM_FLOAT32 */
  const qsim_tensor* range;                  /* as qsim_conv2d_levels has it, or NULL */
  const qsim_tensor* span; /* [1], QSIM_FLOAT32: levels above 0, and y_scale is measured; or NULL */
  int32_t of_batch, relu, power_of_two; /* of norm; of y; of a scale that is measured */
} qsim_chain_convolution;

/* A convolution of a chain in one call: qsim_quantize_weights, qsim_conv2d_statistics and
 * qsim_normalize_statistics, qsim_fold_levels, and qsim_conv2d_levels for levels -128..127, with
 * their bits. Where y_scale is measured, first with a trial scale, the greatest x_scale w_scales[o]
 * |gain| but at least 2^-60, then with that of the range, in real numbers. On every device. */
QSIM_API qsim_status qsim_chain_forward(const qsim_level_conv* conv,
                                        const qsim_chain_convolution* step, const qsim_tensor* y,
                                        const qsim_tensor* passes, const qsim_run* run);

/* What observers of R tensors remember after a pass, and the scales [R] for the next one. ranges
 * [R, 2]: as qsim_conv2d_levels gives them, in units of units [R]. state [R, 3] as qsim_observe has
 * it, but an average does not begin with a range of 0. spans [R]: levels above 0. The first row is
 * of a tensor that qsim_observe sees: its scale becomes first [1], and nothing else of it is used.
 * All are QSIM_FLOAT32. On every device. */
QSIM_API qsim_status qsim_observe_rows(const qsim_tensor* ranges, const qsim_tensor* units,
                                       const qsim_tensor* spans, int32_t observer, float momentum,
                                       int32_t power_of_two, const qsim_tensor* state,
                                       const qsim_tensor* first, const qsim_tensor* scales,
                                       const qsim_run* run);

/* Of sums [O, 2] of qsim_conv2d_gradient_sums over `pixels`: factors [O, 3] of
 * qsim_conv2d_normalize_gradient, and the gradients of gamma, beta and the convolution's bias, each
 * [O] or NULL; all QSIM_FLOAT32. of_batch 1: norm was made of the batch's sums. On every device. */
QSIM_API qsim_status qsim_normalization_gradient(const qsim_tensor* norm, const qsim_tensor* sums,
                                                 int64_t pixels, int32_t of_batch,
                                                 const qsim_tensor* factors,
                                                 const qsim_tensor* gamma, const qsim_tensor* beta,
                                                 const qsim_tensor* bias, const qsim_run* run);

#ifdef __cplusplus
}
#endif

#endif
