/* A weight-only int8 linear layer in C: quantizes float weights, multiplies, prints both results. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <qsim/golden.h>

enum { ROWS = 2, IN = 64, OUT = 4 };

static void must(qsim_status status) {
  if (status == QSIM_OK) return;
  fprintf(stderr, "%s: %s\n", qsim_status_name(status), qsim_last_error());
  exit(1);
}

static qsim_tensor matrix(void* data, int32_t dtype, const int64_t* shape) {
  const qsim_tensor tensor = {data, dtype, QSIM_CPU, 0, 2, shape, NULL};
  return tensor;
}

int main(void) {
  static float w[OUT][IN], x[ROWS][IN], y[ROWS][OUT], scales[OUT];
  static int8_t values[OUT][IN];
  const int64_t w_shape[] = {OUT, IN}, x_shape[] = {ROWS, IN}, y_shape[] = {ROWS, OUT};
  const int64_t scale_shape[] = {OUT, 1};
  for (int k = 0; k < IN; ++k) {
    for (int n = 0; n < OUT; ++n) w[n][k] = sinf((float)(n * IN + k));
    for (int m = 0; m < ROWS; ++m) x[m][k] = cosf((float)(m + 3 * k));
  }

  const qsim_tensor tw = matrix(w, QSIM_FLOAT32, w_shape);
  const qsim_tensor tv = matrix(values, QSIM_INT8, w_shape);
  const qsim_tensor ts = matrix(scales, QSIM_FLOAT32, scale_shape);
  must(qsim_quantize_per_channel(&tw, 0, &tv, &ts, NULL));

  const qsim_tensor tx = matrix(x, QSIM_FLOAT32, x_shape);
  const qsim_tensor ty = matrix(y, QSIM_FLOAT32, y_shape);
  const qsim_linear_weights weights = {&tv, &ts, NULL, 0};
  must(qsim_linear_w8(&tx, &weights, NULL, &ty, NULL));

  int far = 0;
  for (int m = 0; m < ROWS; ++m) {
    for (int n = 0; n < OUT; ++n) {
      float sum = 0;
      for (int k = 0; k < IN; ++k) sum += x[m][k] * w[n][k];
      printf("y[%d][%d] = %9.5f, in float %9.5f\n", m, n, y[m][n], sum);
      if (fabsf(y[m][n] - sum) > 0.1f) far = 1;
    }
  }
  return far;
}
