/* The C interface of libqsim_golden: quantized kernels whose every result bit is defined, on plain
 * pointers. docs/reference/c_interface.md is its page, ADR 0019 (docs/adr/software.md) its reasons.
 *
 * Every function that returns a qsim_status checks shapes, types, strides and devices before it
 * computes, and may be called from several threads at once. Where it fails it has written nothing
 * to its outputs, and qsim_last_error() says why. Tensors and structs are the caller's; nothing is
 * kept after the call, except what a qsim_linear holds. */
#ifndef QSIM_GOLDEN_H
#define QSIM_GOLDEN_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define QSIM_API __attribute__((visibility("default")))
#else
#define QSIM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Changes when a program that was compiled with the header of an older release would no longer
 * work. It is 1 until the first release. */
#define QSIM_GOLDEN_ABI_VERSION 1

typedef enum qsim_status {
  QSIM_OK = 0,
  QSIM_BAD_INPUT = 1,    /* a shape, type, stride, device, value or pointer that is not allowed */
  QSIM_UNSUPPORTED = 2,  /* well-formed, but this library has no kernel for it */
  QSIM_NO_MEMORY = 3,    /* host memory is used up */
  QSIM_DEVICE_ERROR = 4, /* CUDA refused: no driver, no such device, a launch that failed */
  QSIM_INTERNAL = 5      /* a bug of qsim */
} qsim_status;

/* Element types. Of the 4-bit ones two are in a byte, the first in the low nibble; a row (the last
 * dimension) begins at a byte, and the last high nibble of an odd row is 0. */
typedef enum qsim_dtype {
  QSIM_FLOAT32 = 1,
  QSIM_FLOAT16 = 2,
  QSIM_BFLOAT16 = 3,
  QSIM_INT8 = 4,
  QSIM_UINT8 = 5,
  QSIM_INT32 = 6,
  QSIM_FP8_E4M3 = 7, /* OCP OFP8, saturating */
  QSIM_FP8_E5M2 = 8,
  QSIM_INT4 = 9,      /* -8..7 */
  QSIM_UINT4 = 10,    /* 0..15 */
  QSIM_FP4_E2M1 = 11, /* OCP MX */
  QSIM_UE8M0 = 12,    /* OCP MX: code c is 2^(c - 127) */
  QSIM_BITS64 = 13,   /* words of 64 channels: bit c % 64 of word c / 64; 1 is +1, 0 is -1 */
  QSIM_INT64 = 14
} qsim_dtype;

typedef enum qsim_device { QSIM_CPU = 0, QSIM_CUDA = 1 } qsim_device;

/* A tensor in memory of the caller. All tensors of a call are on one device. */
typedef struct qsim_tensor {
  void* data;           /* aligned to its elements */
  int32_t dtype;        /* qsim_dtype */
  int32_t device;       /* qsim_device */
  int32_t device_index; /* of CUDA; 0 on the CPU */
  int32_t rank;         /* 0..16 */
  const int64_t* shape; /* [rank], in elements */
  const int64_t*
      strides; /* [rank], in elements, of any sign; NULL: row-major without gaps. 4-bit
                  types take such strides alone. Elements of an output share no memory. */
} qsim_tensor;

/* Threads that divide the work of a call on the CPU. One call at a time may use them. */
typedef struct qsim_threads qsim_threads;

/* How a call runs; a NULL pointer to it stands for QSIM_RUN_INIT. */
typedef struct qsim_run {
  size_t struct_bytes;    /* sizeof(qsim_run) */
  qsim_threads* threads;  /* of the CPU; NULL: the calling thread alone */
  void* stream;           /* cudaStream_t, of CUDA; NULL: the default stream. Calls only enqueue. */
  void* workspace;        /* memory on the device of the tensors, aligned to 256 bytes */
  size_t workspace_bytes; /* its size */
  size_t* workspace_query; /* not NULL: the call checks its arguments, writes the bytes of workspace
                              that it needs here, and computes nothing */
  int32_t check_values;    /* 1: values too are checked, which reads all of them; the CPU alone */
  int32_t constant_weights; /* 1: no work that the stream has before this call writes weights,
                               scales, zero_points, bias, or the `packed` of qsim_binary_layer_run,
                               so that a linear or binary layer on a GPU reads them while the kernel
                               before it still runs. Broken, its result is undefined. Else 0 */
} qsim_run;

#define QSIM_RUN_INIT \
  { sizeof(qsim_run), NULL, NULL, NULL, 0, NULL, 0, 0 }

/* QSIM_GOLDEN_ABI_VERSION of the library. */
QSIM_API int32_t qsim_abi_version(void);
/* The version of qsim, "0.1.0". */
QSIM_API const char* qsim_version(void);
/* Why this thread's last call failed, in one line; "" after a call that returned QSIM_OK. It is
 * valid until this thread's next call. */
QSIM_API const char* qsim_last_error(void);
/* "ok", "bad_input", ... */
QSIM_API const char* qsim_status_name(qsim_status status);
/* 1 if this library has CUDA kernels, 0 if it was built without them. It asks no driver. */
QSIM_API int32_t qsim_has_cuda(void);

/* `count` threads with the caller's own, 0..1024; 0: one for each processor of this process. They
 * do not live on in a child after fork(): a child makes its own. */
QSIM_API qsim_status qsim_threads_create(int32_t count, qsim_threads** threads);
/* NULL is allowed. */
QSIM_API void qsim_threads_destroy(qsim_threads* threads);

/* ---- Weight-only linear layers: docs/reference/kernels.md, ADR 0016 ---- */

/* Weights [N, K] of N output channels and K <= 132,104 input features. Weight [n, k] is
 * (values[n, k] - zero_points[n, g]) * scales[n, g] with g = k / group_size. */
typedef struct qsim_linear_weights {
  const qsim_tensor* values;      /* [N, K]: QSIM_INT8 in -127..127, QSIM_INT4 or QSIM_UINT4 */
  const qsim_tensor* scales;      /* [N, groups], or [N] of one group; QSIM_FLOAT32 */
  const qsim_tensor* zero_points; /* as scales. QSIM_INT8 in -8..7 of QSIM_INT4 (NULL: 0),
                                     QSIM_UINT8 in 0..15 of QSIM_UINT4 (NULL: 8); NULL of 8 bits */
  int64_t group_size;             /* 32, 64, 128; 0: one group */
} qsim_linear_weights;

/* y [M, N] = x [M, K] W^T + bias [N]. x and y are QSIM_FLOAT32, QSIM_FLOAT16 or QSIM_BFLOAT16, each
 * of its own; bias is QSIM_FLOAT32, or NULL for none. A row of y depends on its row of x alone. */
QSIM_API qsim_status qsim_linear_w8(const qsim_tensor* x, const qsim_linear_weights* weights,
                                    const qsim_tensor* bias, const qsim_tensor* y,
                                    const qsim_run* run);

/* The same with x quantized to int8 (W8A8): products of int8 and int8, times the weights' scale,
 * times the scale of the row of x: *x_scale, a number of the host of at least 2^-126, or where
 * x_scale is NULL max|x| / 127 of each row. Weights are QSIM_INT8 of one group. A GPU needs a
 * workspace. */
QSIM_API qsim_status qsim_linear_w8a8(const qsim_tensor* x, const float* x_scale,
                                      const qsim_linear_weights* weights, const qsim_tensor* bias,
                                      const qsim_tensor* y, const qsim_run* run);

/* qsim_linear_w8 with weights that are packed once, for the CPU: several times faster at few rows.
 */
typedef struct qsim_linear qsim_linear;
/* Copies weights and bias. */
QSIM_API qsim_status qsim_linear_create(const qsim_linear_weights* weights, const qsim_tensor* bias,
                                        const qsim_run* run, qsim_linear** linear);
/* Several threads may call it at once for one layer. */
QSIM_API qsim_status qsim_linear_run(const qsim_linear* linear, const qsim_tensor* x,
                                     const qsim_tensor* y, const qsim_run* run);
/* NULL is allowed. */
QSIM_API void qsim_linear_destroy(qsim_linear* linear);

/* Float weights w [N, K] (QSIM_FLOAT32, QSIM_FLOAT16 or QSIM_BFLOAT16) to values [N, K] of
 * QSIM_INT8 and scales [N, groups] (or [N]): max|W| / 127 of each group. A weight that is not
 * finite is an error on the CPU; on a GPU its group has the scale NaN and the values of zero. */
QSIM_API qsim_status qsim_quantize_per_channel(const qsim_tensor* w, int64_t group_size,
                                               const qsim_tensor* values, const qsim_tensor* scales,
                                               const qsim_run* run);

/* The same to 4 bits: values are QSIM_INT4 or QSIM_UINT4. Without zero_points (NULL) the scale is
 * max|W| / 7 and the zero_point is that of zero_points = NULL in qsim_linear_weights; with them the
 * scale is (max - min) / 15 of a range that includes 0. */
QSIM_API qsim_status qsim_quantize_to_int4(const qsim_tensor* w, int64_t group_size,
                                           const qsim_tensor* values, const qsim_tensor* scales,
                                           const qsim_tensor* zero_points, const qsim_run* run);

/* ---- Group conversions: docs/reference/kernels.md, ADR 0017 ---- */

#define QSIM_PER_TOKEN 0     /* a group is a row */
#define QSIM_PER_TENSOR (-1) /* one group */

typedef enum qsim_scale_rounding {
  QSIM_SCALE_FLOOR = 0,
  QSIM_SCALE_CEIL = 1,
  QSIM_SCALE_HALF_UP = 2
} qsim_scale_rounding;

/* How a tensor is quantized; begin with qsim_quantization_default() or a preset. */
typedef struct qsim_quantization {
  size_t struct_bytes;    /* sizeof(qsim_quantization) */
  int32_t format;         /* QSIM_INT8, QSIM_FP8_E4M3, QSIM_FP8_E5M2, QSIM_INT4, QSIM_FP4_E2M1 */
  int32_t scale_format;   /* QSIM_FLOAT32, QSIM_UE8M0, QSIM_FP8_E4M3 */
  int32_t scale_rounding; /* qsim_scale_rounding, of QSIM_UE8M0 */
  int32_t column_major;   /* 0: scales [rows, groups]; 1: [groups, rows] */
  int64_t group;          /* 16..512, a multiple of 16; QSIM_PER_TOKEN, QSIM_PER_TENSOR */
  int32_t zero_point;     /* 1: integers with QSIM_FLOAT32 scales have zero_points */
  int32_t stochastic;     /* 1: stochastic rounding; 0: to nearest, ties to even */
  uint64_t seed;          /* of stochastic rounding */
  float clip_value;       /* magnitudes above it saturate; infinity: none */
  int32_t clip_ppm;       /* percentile of magnitudes that count, in parts per million */
} qsim_quantization;

/* A quantized tensor. Rows are all dimensions but the last. */
typedef struct qsim_quantized {
  const qsim_tensor* values;       /* of the format and of the shape of the source; no gaps */
  const qsim_tensor* scales;       /* of scale_format, no gaps; [rows, groups] or [groups, rows], or
                                      the source's shape with groups as its last dimension if not
                                      column_major; one element of QSIM_PER_TENSOR */
  const qsim_tensor* zero_points;  /* QSIM_INT8, as scales; NULL without zero_point */
  const qsim_tensor* global_scale; /* one QSIM_FLOAT32; of QSIM_FP8_E4M3 scales, else NULL */
} qsim_quantized;

/* QSIM_FP8_E4M3, groups of 128, QSIM_FLOAT32 scales, to nearest, no clipping. */
QSIM_API qsim_status qsim_quantization_default(qsim_quantization* how);
/* "mxfp8", "mxfp8_e5m2", "mxfp4" or "nvfp4". */
QSIM_API qsim_status qsim_quantization_preset(const char* name, qsim_quantization* how);
/* Rows, groups of a row, bytes of the values and number of scales of a tensor of this shape; each
 * pointer may be NULL. */
QSIM_API qsim_status qsim_quantized_sizes(const qsim_quantization* how, const int64_t* shape,
                                          int32_t rank, int64_t* rows, int64_t* groups,
                                          int64_t* value_bytes, int64_t* scale_count);

/* x (QSIM_FLOAT16 or QSIM_BFLOAT16, any rank and strides) to q. */
QSIM_API qsim_status qsim_quantize(const qsim_tensor* x, const qsim_quantization* how,
                                   const qsim_quantized* q, const qsim_run* run);
/* q to y (QSIM_FLOAT16 or QSIM_BFLOAT16, the shape of the values). */
QSIM_API qsim_status qsim_dequantize(const qsim_quantized* q, const qsim_quantization* how,
                                     const qsim_tensor* y, const qsim_run* run);
/* q of QSIM_INT4 to y (QSIM_FP8_E4M3 or QSIM_FP8_E5M2, the shape of the values). With
 * `times_scale` 0 y is the number itself, code minus zero_point, and q's scales are y's; with 1 it
 * is the number times its scale, rounded, saturating. */
QSIM_API qsim_status qsim_int4_to_fp8(const qsim_quantized* q, const qsim_quantization* how,
                                      int32_t times_scale, const qsim_tensor* y,
                                      const qsim_run* run);

/* ---- Convolutions ---- */

/* Steps, pads in input positions, and distances of neighbours of the kernel. */
typedef struct qsim_window {
  int64_t stride_h, stride_w;
  int64_t pad_top, pad_left, pad_bottom, pad_right;
  int64_t dilation_h, dilation_w;
} qsim_window;

#define QSIM_WINDOW_INIT \
  { 1, 1, 0, 0, 0, 0, 1, 1 }

/* Binary convolution: docs/reference/kernels.md, ADR 0018. W(C) = (C + 63) / 64 words
 * hold C channels. */

/* x [B, H, W, C] (QSIM_FLOAT32) to bits [B, H, W, N, W(C)] (QSIM_BITS64): base j is +1 where
 * x + v[j] > 0.5, with v [N] of QSIM_FLOAT32, which is where x is or on the CPU; v NULL: N is 1, +1
 * where x >= 0. */
QSIM_API qsim_status qsim_pack_activations(const qsim_tensor* x, const qsim_tensor* v,
                                           const qsim_tensor* bits, const qsim_run* run);

/* w [O, kh, kw, C] (QSIM_FLOAT32) to words [O, M, kh, kw, W(C)] (QSIM_BITS64) and alpha [M, O]
 * (QSIM_FLOAT32), M in 1..8: B_i is +1 where W - mean + u_i std >= 0, and the alphas are the least
 * squares, of each output channel if `per_channel` is 1, else of the layer. u [M] (QSIM_FLOAT32);
 * NULL: evenly in -1..1, and 0 of one base. */
QSIM_API qsim_status qsim_binarize_weights(const qsim_tensor* w, const qsim_tensor* u,
                                           int32_t per_channel, const qsim_tensor* words,
                                           const qsim_tensor* alpha, const qsim_run* run);

/* What a binary convolution computes with, all but the activations. */
typedef struct qsim_binary_weights {
  int64_t channels;         /* C */
  const qsim_tensor* words; /* [O, M, kh, kw, W(C)] */
  const qsim_tensor* alpha; /* [M, O] */
  const qsim_tensor* beta;  /* [N], QSIM_FLOAT32 */
  const qsim_tensor* bias;  /* [O], QSIM_FLOAT32, or NULL */
} qsim_binary_weights;

/* y [B, OH, OW, O] (QSIM_FLOAT32) of bits [B, H, W, N, W(C)]: sum over i of alpha_i times the sum
 * over j of beta_j times the dot of B_i and A_j, plus bias. A pad is 0 and adds nothing. */
QSIM_API qsim_status qsim_binary_conv2d(const qsim_tensor* bits, const qsim_binary_weights* weights,
                                        const qsim_window* window, const qsim_tensor* y,
                                        const qsim_run* run);

/* The same of floats x [B, H, W, C], which are packed with v [N] first, as qsim_pack_activations
 * does. On a GPU the words are in the workspace. */
QSIM_API qsim_status qsim_abc_conv2d(const qsim_tensor* x, const qsim_tensor* v,
                                     const qsim_binary_weights* weights, const qsim_window* window,
                                     const qsim_tensor* y, const qsim_run* run);

/* Binary convolution on a GPU by a faster kernel than qsim_binary_conv2d's: weights, on the CPU,
 * are put into its order once, for bits [batch, height, width, N, W(C)] and one device. */
typedef struct qsim_binary_layer qsim_binary_layer;
QSIM_API qsim_status qsim_binary_layer_create(const qsim_binary_weights* weights,
                                              const qsim_window* window, int64_t batch,
                                              int64_t height, int64_t width, int32_t device_index,
                                              qsim_binary_layer** layer);
/* What the caller copies to the device once, aligned to 16 bytes. It is the layer's, and lasts as
 * long. */
QSIM_API const void* qsim_binary_layer_packed(const qsim_binary_layer* layer, size_t* bytes);
/* y as qsim_binary_conv2d; `packed` is the copy, as QSIM_UINT8 [bytes]. All are
 * aligned to 16 bytes, and have no gaps. Without constant_weights the kernel reads `packed` after
 * the one before it has ended. Several threads may call it at once for one layer. */
QSIM_API qsim_status qsim_binary_layer_run(const qsim_binary_layer* layer,
                                           const qsim_tensor* packed, const qsim_tensor* bits,
                                           const qsim_tensor* y, const qsim_run* run);
/* NULL is allowed. */
QSIM_API void qsim_binary_layer_destroy(qsim_binary_layer* layer);

/* How products of numbers and scales become integers: docs/reference/numerics.md. */
typedef enum qsim_rounding {
  QSIM_ROUND_FLOOR = 0,
  QSIM_ROUND_HALF_EVEN = 1,
  QSIM_ROUND_HALF_UP = 2,
  QSIM_ROUND_FLOAT32 = 3 /* both in float32, then to nearest, ties to even: ONNX Runtime */
} qsim_rounding;

/* An int32 sum to an 8-bit number: clamp(round((sum + bias) * scale) + y_zero_point, lo, hi). */
typedef struct qsim_requantization {
  const qsim_tensor* scales; /* [O] or [1], QSIM_FLOAT32, above 0: x_scale * w_scale / y_scale */
  int32_t rounding;          /* qsim_rounding */
  int32_t x_zero_point, y_zero_point;
  int32_t lo, hi; /* within the type of y; ReLU is lo = y_zero_point */
} qsim_requantization;

/* y [B, OH, OW, O] of x [B, H, W, C], each QSIM_INT8 or QSIM_UINT8; w [O, kh, kw, C / groups] of
 * QSIM_INT8; bias [O] of QSIM_INT32, or NULL. A pad is x_zero_point. Sums are int32; one that does
 * not fit wraps, which needs more than 2^16 products. A scale that is no positive finite number is
 * an error on the CPU; on a GPU it counts as 2^-40, and an infinite one as 2^24 - 1. */
QSIM_API qsim_status qsim_conv2d_int8(const qsim_tensor* x, const qsim_tensor* w,
                                      const qsim_tensor* bias, const qsim_window* window,
                                      int64_t groups, const qsim_requantization* requantization,
                                      const qsim_tensor* y, const qsim_run* run);

#ifdef __cplusplus
}
#endif

#endif
