/* Describes arrays to libqsim_golden and calls it: what _library.py does in Python, in a tenth of
 * the time. Arrays are of a type with DLPack's exchange API (dlpack.h 1.3: PyTorch from 2.10 on),
 * which needs none of their library's headers. What is out of the ordinary is left to _library.py,
 * which has the messages. CPython's limited API of 3.10: one module for all later ones. */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>
#include <stdint.h>
#include <string.h>

#include "qsim/golden.h"

/* dlpack.h, as far as it is needed. */
typedef struct {
  void* data;
  int32_t device_type;
  int32_t device_id;
  int32_t ndim;
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} DlTensor;

typedef struct {
  uint32_t major;
  uint32_t minor;
  const void* previous;
  int (*allocate)(void);
  int (*from_object)(void);
  int (*to_object)(void);
  int (*tensor_of_object)(void* object, DlTensor* out);
  int (*current_stream)(int32_t device_type, int32_t device, void** stream);
} ExchangeApi;

enum { kDlCpu = 1, kDlCuda = 2, kMostArguments = 16, kMostRank = 16, kMemoryBytes = 6144 };

/* What calls of one function by one type of arrays are made with. */
typedef struct {
  const ExchangeApi* api;
  PyObject* type;
  uintptr_t function;
  char signature[64];
} Entry;

/* The structs of one call. */
typedef struct {
  const Entry* entry;
  PyObject* const* next;
  PyObject* const* end;
  size_t used;
  int32_t cuda_device; /* of the first CUDA array; -1: none yet */
  int failed;          /* 1: for _library.py; Python's error is clear */
  _Alignas(8) unsigned char memory[kMemoryBytes];
} Call;

static PyObject* take(Call* call) {
  if (call->next == call->end) {
    call->failed = 1;
    return Py_None;
  }
  return *call->next++;
}

static void* reserve(Call* call, size_t bytes) {
  void* place = call->memory + call->used;
  if (call->used + bytes > kMemoryBytes) {
    call->failed = 1;
    return call->memory;
  }
  call->used += (bytes + 7) / 8 * 8;
  return place;
}

static int64_t whole(Call* call, PyObject* number) {
  const long long value = PyLong_AsLongLong(number);
  if (value == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    call->failed = 1;
  }
  return value;
}

/* qsim_dtype of (DLDataTypeCode, bits); 0: none. */
static int32_t dtype_of(const DlTensor* t) {
  if (t->lanes != 1) return 0;
  switch (t->code << 8 | t->bits) {
    case 0 << 8 | 8:
      return QSIM_INT8;
    case 0 << 8 | 32:
      return QSIM_INT32;
    case 0 << 8 | 64:
      return QSIM_BITS64;
    case 1 << 8 | 8:
      return QSIM_UINT8;
    case 2 << 8 | 16:
      return QSIM_FLOAT16;
    case 2 << 8 | 32:
      return QSIM_FLOAT32;
    case 4 << 8 | 16:
      return QSIM_BFLOAT16;
    case 10 << 8 | 8:
      return QSIM_FP8_E4M3;
    case 12 << 8 | 8:
      return QSIM_FP8_E5M2;
    default:
      return 0;
  }
}

static int is_dense(const DlTensor* t) {
  int64_t step = 1;
  for (int axis = t->ndim; axis-- > 0;) {
    if (t->shape[axis] == 0) return 1;
    if (t->shape[axis] > 1 && t->strides != NULL && t->strides[axis] != step) return 0;
    step *= t->shape[axis];
  }
  return 1;
}

/* Elements of `dtype` and `shape`, a sequence (None: the array's), in the bytes of an array without
 * gaps. */
static void redescribe(Call* call, const DlTensor* t, qsim_tensor* to, PyObject* dtype,
                       PyObject* shape) {
  const int32_t wanted = (int32_t)whole(call, dtype);
  const Py_ssize_t rank = shape == Py_None ? 0 : PySequence_Size(shape);
  /* DLPack has one kind of 64-bit integers for QSIM_BITS64 and QSIM_INT64. */
  const int is_kind = to->dtype == QSIM_UINT8 || to->dtype == wanted ||
                      (to->dtype == QSIM_BITS64 && wanted == QSIM_INT64);
  if (!is_kind || !is_dense(t) || rank < 0 || rank > kMostRank) {
    PyErr_Clear();
    call->failed = 1;
    return;
  }
  to->strides = NULL;
  to->dtype = wanted;
  if (shape == Py_None) return;
  int64_t* sizes = reserve(call, 8 * (size_t)rank);
  if (call->failed) return;
  for (Py_ssize_t axis = 0; axis < rank; ++axis) {
    PyObject* size = PySequence_GetItem(shape, axis);
    if (size == NULL) {
      PyErr_Clear();
      call->failed = 1;
      return;
    }
    sizes[axis] = whole(call, size);
    Py_DECREF(size);
  }
  to->rank = (int32_t)rank;
  to->shape = sizes;
}

/* None, an array, or (array, dtype, shape): codes. */
static const qsim_tensor* describe(Call* call, PyObject* object) {
  if (object == Py_None) return NULL;
  PyObject* codes = NULL;
  if (PyTuple_Check(object) && PyTuple_Size(object) == 3) {
    codes = object;
    object = PyTuple_GetItem(codes, 0);
  }
  if ((PyObject*)Py_TYPE(object) != call->entry->type &&
      !PyType_IsSubtype(Py_TYPE(object), (PyTypeObject*)call->entry->type)) {
    call->failed = 1;
    return NULL;
  }
  DlTensor t;
  if (call->entry->api->tensor_of_object(object, &t) != 0) {
    PyErr_Clear();
    call->failed = 1;
    return NULL;
  }
  const int32_t dtype = dtype_of(&t);
  qsim_tensor* to = reserve(call, sizeof *to);
  if (dtype == 0 || t.ndim > kMostRank || (t.device_type != kDlCpu && t.device_type != kDlCuda)) {
    call->failed = 1;
  }
  if (call->failed) return NULL;
  const int on_gpu = t.device_type == kDlCuda;
  if (on_gpu && call->cuda_device < 0) call->cuda_device = t.device_id;
  /* The producer's shape and strides last until this call returns. */
  *to = (qsim_tensor){(char*)t.data + t.byte_offset,
                      dtype,
                      on_gpu ? QSIM_CUDA : QSIM_CPU,
                      on_gpu ? t.device_id : 0,
                      t.ndim,
                      t.shape,
                      t.strides};
  if (codes != NULL) {
    redescribe(call, &t, to, PyTuple_GetItem(codes, 1), PyTuple_GetItem(codes, 2));
  }
  return to;
}

/* Of `threads` and a workspace (None, an array, or the address of the answer to a query). */
static const qsim_run* describe_run(Call* call, int has_constant) {
  PyObject* threads = take(call);
  PyObject* workspace = take(call);
  PyObject* constant = has_constant ? take(call) : Py_False;
  qsim_run* run = reserve(call, sizeof *run);
  if (call->failed) return NULL;
  *run = (qsim_run)QSIM_RUN_INIT;
  run->threads = (qsim_threads*)(intptr_t)whole(call, threads);
  run->constant_weights = constant == Py_True;
  if (PyLong_Check(workspace)) {
    run->workspace_query = (size_t*)(intptr_t)whole(call, workspace);
  } else if (workspace != Py_None) {
    const qsim_tensor* memory = describe(call, workspace);
    if (memory == NULL || memory->rank != 1) {
      call->failed = 1;
      return NULL;
    }
    run->workspace = memory->data;
    run->workspace_bytes = (size_t)memory->shape[0];
  }
  if (call->cuda_device >= 0 &&
      call->entry->api->current_stream(kDlCuda, call->cuda_device, &run->stream) != 0) {
    PyErr_Clear();
    call->failed = 1;
  }
  return run;
}

static double fraction(Call* call, PyObject* number) {
  const double value = PyFloat_AsDouble(number);
  if (value == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    call->failed = 1;
  }
  return value;
}

/* A struct between parentheses, field by field: pointers, 8-byte and 4-byte numbers, and structs by
 * their addresses. */
static const void* describe_struct(Call* call, const char** signature) {
  unsigned char fields[128];
  size_t used = 0;
  for (; **signature != ')'; ++*signature) {
    if (**signature == 'i') {
      const int64_t value = whole(call, take(call));
      const int32_t narrow = (int32_t)value;
      if (narrow != value) call->failed = 1;
      memcpy(fields + used, &narrow, 4);
      used += 4;
    } else if (**signature == 'd') {
      const double value = fraction(call, take(call));
      memcpy(fields + used, &value, 8);
      used += 8;
    } else {
      int64_t value;
      if (**signature == '(') {
        ++*signature;
        value = (int64_t)(intptr_t)describe_struct(call, signature);
      } else {
        value = **signature == 'T' ? (int64_t)(intptr_t)describe(call, take(call))
                                   : whole(call, take(call));
      }
      memcpy(fields + used, &value, 8);
      used += 8;
    }
  }
  void* place = reserve(call, used);
  if (!call->failed) memcpy(place, fields, used);
  return place;
}

/* A function with fewer arguments does not look at the others. A float has registers of its own on
 * x86-64 and AArch64, wherever it is among the arguments. */
typedef int32_t (*Function)(intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t,
                            intptr_t, intptr_t, intptr_t, intptr_t, float);

/* call(entry, *arguments) -> status; -1: _library.py has to make this call. */
static PyObject* call_function(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  (void)self;
  if (count < 1 || !PyBytes_Check(arguments[0])) {
    PyErr_SetString(PyExc_TypeError, "call() takes an entry() and the arguments of its function");
    return NULL;
  }
  Call call;
  call.entry = (const Entry*)(const void*)PyBytes_AsString(arguments[0]);
  call.next = arguments + 1;
  call.end = arguments + count;
  call.used = 0;
  call.cuda_device = -1;
  call.failed = 0;
  intptr_t values[11] = {0};
  float number = 0;
  int used = 0;
  for (const char* kind = call.entry->signature; *kind != 0 && !call.failed; ++kind) {
    switch (*kind) {
      case 'T':
        values[used++] = (intptr_t)describe(&call, take(&call));
        break;
      case '(':
        ++kind;
        values[used++] = (intptr_t)describe_struct(&call, &kind);
        break;
      case 'R':
      case 'S':
        values[used++] = (intptr_t)describe_run(&call, *kind == 'S');
        break;
      case 'f':
        number = (float)fraction(&call, take(&call));
        break;
      default:
        values[used++] = (intptr_t)whole(&call, take(&call));
    }
  }
  if (call.failed || call.next != call.end) return PyLong_FromLong(-1);
  int32_t status;
  Py_BEGIN_ALLOW_THREADS status = ((Function)call.entry->function)(
      values[0], values[1], values[2], values[3], values[4], values[5], values[6], values[7],
      values[8], values[9], values[10], number);
  Py_END_ALLOW_THREADS return PyLong_FromLong(status);
}

/* entry(type, address, signature) -> bytes for call(); None: the type has no exchange API. */
static PyObject* make_entry(PyObject* self, PyObject* arguments) {
  (void)self;
  PyObject* type;
  unsigned long long address;
  const char* signature;
  if (!PyArg_ParseTuple(arguments, "OKs", &type, &address, &signature)) return NULL;
  PyObject* capsule = PyObject_GetAttrString(type, "__dlpack_c_exchange_api__");
  if (capsule == NULL) {
    PyErr_Clear();
    Py_RETURN_NONE;
  }
  Entry entry = {0};
  /* The table lasts as long as the process. */
  entry.api = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
  Py_DECREF(capsule);
  if (entry.api == NULL) {
    PyErr_Clear();
    Py_RETURN_NONE;
  }
  if (entry.api->major != 1 || entry.api->tensor_of_object == NULL) Py_RETURN_NONE;
  if (strlen(signature) >= sizeof entry.signature) {
    PyErr_SetString(PyExc_ValueError, "the signature is too long");
    return NULL;
  }
  entry.type = type; /* a class of a module, which outlives its entries */
  entry.function = (uintptr_t)address;
  strcpy(entry.signature, signature);
  return PyBytes_FromStringAndSize((const char*)&entry, sizeof entry);
}

static PyMethodDef kMethods[] = {
    {"call", (PyCFunction)(void (*)(void))call_function, METH_FASTCALL,
     "call(entry, *arguments) -> qsim_status; -1: nothing was called"},
    {"entry", make_entry, METH_VARARGS, "entry(type, address, signature) -> bytes, or None"},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef kModule = {PyModuleDef_HEAD_INIT,
                                     "_fast_call",
                                     "Calls of libqsim_golden with arrays of DLPack.",
                                     0,
                                     kMethods,
                                     NULL,
                                     NULL,
                                     NULL,
                                     NULL};

PyMODINIT_FUNC PyInit__fast_call(void) { return PyModuleDef_Init(&kModule); }
