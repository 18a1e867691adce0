"""Calls by _fast_call of arrays with DLPack's exchange API: the bits of the calls by ctypes, and what it leaves to them.

PyTorch has that API from 2.10 on; here a class of this test has it, so that no PyTorch is needed.
"""
import ctypes
import sys
import unittest

import numpy as np

import qsim
import qsim.golden as golden
from qsim import _convolutions as convolutions
from qsim import _library as lib
from qsim import _operations as ops
from qsim._dlpack import CODES, _Tensor

_KINDS = {np.dtype(np.float32): "float32", np.dtype(np.float16): "float16", np.dtype(np.int8): "int8",
          np.dtype(np.uint8): "uint8", np.dtype(np.int32): "int32", np.dtype(np.int64): "int64"}


class Given:
    """A numpy array behind the exchange API."""

    def __init__(self, array):
        self.array = array
        self.sizes = (ctypes.c_int64 * array.ndim)(*array.shape)
        self.steps = (ctypes.c_int64 * array.ndim)(*(step // array.itemsize for step in array.strides))
        code, bits = CODES.get(_KINDS.get(array.dtype, ""), (99, 8 * array.itemsize))
        self.tensor = _Tensor(array.ctypes.data, 1, 0, array.ndim, code, bits, 1, self.sizes, self.steps, 0)


_Export = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(_Tensor))


@_Export
def _export(given, out):
    ctypes.memmove(out, ctypes.addressof(given.tensor), ctypes.sizeof(_Tensor))
    return 0


class _Api(ctypes.Structure):
    """DLPackExchangeAPI"""
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("previous", ctypes.c_void_p),
                ("allocate", ctypes.c_void_p), ("take", ctypes.c_void_p), ("give", ctypes.c_void_p), ("export", _Export),
                ("stream", ctypes.c_void_p)]


_api = _Api(1, 3, None, None, None, None, _export, None)
_NAME = ctypes.create_string_buffer(b"dlpack_exchange_api")
_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
Given.__dlpack_c_exchange_api__ = _new(ctypes.addressof(_api), ctypes.addressof(_NAME), None)


class Backend(lib.Backend):
    """Given arrays, whose calls never take the long way."""
    entries = lib.fast_entries(Given)

    def shape(self, array):
        return array.array.shape

    def kind(self, array):
        return _KINDS[array.array.dtype]

    def describe(self, a, array, dtype=None, shape=None):
        raise AssertionError("the long way")

    def empty(self, shape, kind, like):
        return Given(np.full(shape, 77, next(dtype for dtype, name in _KINDS.items() if name == kind)))

    def memory(self, array):
        return 0, 0

    def threads(self):
        return 0

    def stream(self, like):
        return 0

    def is_on_gpu(self, array):
        return False


@unittest.skipIf(sys.version_info < (3, 10), "the module is for CPython 3.10 and later")
class FastCall(unittest.TestCase):
    def setUp(self):
        self.b = Backend()
        self.random = np.random.default_rng(20261123)

    def same(self, found, expected):
        np.testing.assert_array_equal(found.array, np.asarray(expected))

    def test_every_function_has_an_entry(self):
        self.assertEqual(set(Backend.entries), set(lib.SIGNATURES))
        self.assertEqual(lib.fast_entries(int), {})

    def test_results_are_those_of_the_long_way(self):
        x = self.random.standard_normal((3, 96)).astype(np.float32)
        w = self.random.standard_normal((10, 96)).astype(np.float32)
        bias = self.random.standard_normal(10).astype(np.float32)
        for given in (w, np.asfortranarray(w)):
            q, scales = ops.quantize_per_channel(self.b, Given(given), 32)
            for found, expected in zip((q, scales), golden.quantize_per_channel(w, 32)):
                self.same(found, expected)
            y = ops.linear_w8(self.b, Given(x), q, scales, Given(bias), None, 32, "float32")
            self.same(y, golden.linear_w8(x, q.array, scales.array, bias, group_size=32))
        narrow, scales, points = ops.quantize_to_int4(self.b, Given(w), 32, True)
        y = ops.linear_w8(self.b, Given(x), narrow, scales, None, points, 32, "float16")
        self.same(y, golden.linear_w8(x, narrow.array, scales.array, None, points.array, 32, "float16"))
        pictures = self.random.standard_normal((2, 6, 5, 70)).astype(np.float32)
        v, beta = np.array([0.1, 0.7], np.float32), np.array([1, 0.5], np.float32)
        words, alpha = map(np.asarray, golden.binarize_weights(pictures[:, :3, :3], 3))
        window = convolutions.window_of([2], [1], [1])
        y = convolutions.binary_conv2d(self.b, Given(pictures), Given(v), Given(words), Given(alpha), Given(beta), None, 70,
                                       window)
        self.same(y, golden.abc_conv2d(pictures, v, words, alpha, beta, stride=2, padding=1))
        bytes_in = self.random.integers(-128, 128, (1, 5, 4, 6), np.int8)
        weights = self.random.integers(-128, 128, (4, 3, 3, 3), np.int8)
        scale = np.array([0.003], np.float32)
        y = convolutions.conv2d_int8(self.b, Given(bytes_in), Given(weights), Given(scale), None, window, 2, (-3, 5),
                                     "half_up", (None, 100), "int8")
        self.same(y, golden.conv2d_int8(bytes_in, weights, scale, stride=2, padding=1, groups=2, x_zero_point=-3,
                                        y_zero_point=5, rounding="half_up", hi=100))

    def test_fractions_structs_in_structs_and_eleven_arguments(self):
        levels = (24, -127, 127, 0, 1)  # half to even, max|x| / hi
        x = np.array([[-2, 1, 3, 0.5]], np.float32)
        state, scale = Given(np.array([-4, 1, 1], np.float32)), Given(np.zeros(1, np.float32))
        lib.call(self.b, "observe", Given(x), 2, 0.25, *levels, state, scale, None, 0, None)  # the moving average
        np.testing.assert_array_equal(state.array, np.array([-3.5, 1.5, 2], np.float32))
        self.assertEqual(scale.array[0], np.float32(3.5) / np.float32(127))
        q = self.random.integers(-128, 128, (2, 5, 4, 6), np.int8)
        w = self.random.integers(-128, 128, (4, 3, 2, 3), np.int8)
        sums = np.zeros((2, 2, 3, 4), np.int64)
        padded = np.pad(q.astype(np.int64) + 3, ((0, 0), (1, 0), (0, 0), (0, 0)))  # a pad is the zero_point, -3
        for out in range(4):
            part = padded[..., 3 * (out // 2):3 * (out // 2) + 3]
            for row in range(2):
                for column in range(3):
                    window = part[:, 2 * row:2 * row + 3, column:column + 2]
                    sums[:, row, column, out] = (window * w[out]).sum((1, 2, 3))
        bias, multipliers = np.array([5, -900, 0, 70], np.int32), np.array([0.001, 0.002, -0.003, 0.01], np.float32)
        y, point, given = Given(np.zeros(sums.shape, np.int8)), np.array([-3], np.int32), np.array([7], np.int32)
        lib.call(self.b, "conv2d_levels", 48, Given(q), Given(point), Given(w), 2, 1, 1, 0, 0, 0, 1, 1, 2, Given(multipliers),
                 Given(bias), Given(given), -100, 90, 1, y, None, None, 0, None)
        t = np.maximum((sums + bias).astype(np.float32) * multipliers, 0)
        np.testing.assert_array_equal(y.array, np.clip(np.rint(t) + 7, -100, 90))
        self.assertGreater(len(np.unique(y.array)), 20)
        statistics = Given(np.zeros((4, 3), np.int64))
        lib.call(self.b, "conv2d_statistics", 48, Given(q), Given(point), Given(w), 2, 1, 1, 0, 0, 0, 1, 1, 2,
                 (statistics, lib.INT64, (4, 3)), 0, None)
        np.testing.assert_array_equal(statistics.array[:, 0], sums.sum((0, 1, 2)))

    def test_doubles_in_structs(self):
        numbers = self.random.standard_normal((4, 3)).astype(np.float32) ** 2
        gamma, beta, mean, variance = (Given(row.copy()) for row in numbers)
        one, batches, norm = Given(np.ones(1, np.float32)), Given(np.array([6])), Given(np.zeros((5, 3), np.int64))
        scales, sums = Given(np.ones(3, np.float32)), Given(np.array([[5, 90, 0], [-7, 60, 0], [0, 0, 1]]))
        lib.call(self.b, "normalize_statistics", (sums, lib.INT64, (3, 3)), 10, one, scales, None, 64, gamma, beta, mean, variance,
                 (batches, lib.INT64, (1,)), 1e-300, 0.3, norm, 0, None)
        average = np.array([0.5, -0.7, 0])
        spread = np.array([9, 6, 2**32 / 10]) - average * average
        np.testing.assert_array_equal(norm.array.view(np.float64)[3], 1 / np.sqrt(spread))  # eps is no float32
        kept = numbers[2] * np.float32(0.7)
        np.testing.assert_array_equal(mean.array, (kept.astype(np.float64) + average * 0.3).astype(np.float32))
        self.assertEqual(batches.array[0], 7)

    def test_errors_are_raised_with_the_librarys_message(self):
        x = Given(np.zeros((3, 64), np.float32))
        with self.assertRaisesRegex(qsim.BadInput, r"linear_w8: scales has the shape \[1\]; expected \[3\]"):
            ops.linear_w8(self.b, x, Given(np.zeros((3, 64), np.int8)), Given(np.ones(1, np.float32)), None, None, 0,
                          "float32")

    def test_what_is_out_of_the_ordinary_is_left_to_the_long_way(self):
        x, w = Given(np.zeros((3, 64), np.float32)), Given(np.zeros((5, 64), np.int8))
        scales, y = Given(np.ones(5, np.float32)), Given(np.zeros((3, 5), np.float32))
        entry = Backend.entries["linear_w8"]

        def status(*arguments):
            return lib._run_entry(entry, *arguments)

        good = (x, w, scales, None, 0, None, y, 0, None, False)
        self.assertEqual(status(*good), 0)
        self.assertEqual(status(*good[:-1]), -1)
        self.assertEqual(status(*good, None), -1)
        self.assertEqual(status(x.array, *good[1:]), -1)  # another class
        self.assertEqual(status(Given(np.zeros((3, 64))), *good[1:]), -1)  # float64
        self.assertEqual(status(Given(np.zeros((1,) * 17, np.float32)), *good[1:]), -1)
        self.assertEqual(status(x, w, scales, None, 2**64, *good[5:]), -1)
        self.assertEqual(status(x, w, scales, None, "0", *good[5:]), -1)
        gaps = Given(np.zeros((5, 64), np.uint8)[:, ::2])
        self.assertEqual(status(x, (gaps, lib.INT4, (5, 64)), *good[2:]), -1)
        self.assertEqual(status(x, (w, lib.INT4, (5, 128)), *good[2:]), -1)  # codes of int8
        self.assertEqual(status(x, (w, lib.INT4, 5), *good[2:]), -1)
        with self.assertRaises(TypeError):
            lib._run_entry(3)


if __name__ == "__main__":
    unittest.main()
