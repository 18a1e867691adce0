"""qsim.golden: results equal the definitions, whatever the strides; arrays go in and out by DLPack; what is refused."""
import gc
import threading
import unittest

import numpy as np

import definitions
import qsim
import qsim.golden as golden
from qsim import _dlpack


def halves(random, shape):
    """Finite float16 numbers of many magnitudes."""
    return (random.standard_normal(shape) * np.exp2(random.integers(-6, 7, shape))).astype(np.float16)


class Results(unittest.TestCase):
    def setUp(self):
        self.seed = 20261123
        self.random = np.random.default_rng(self.seed)

    def same(self, found, expected):
        found = np.asarray(found)
        self.assertEqual(found.dtype, expected.dtype)
        self.assertEqual(found.shape, expected.shape)
        self.assertTrue((found.view(np.uint8) == np.ascontiguousarray(expected).view(np.uint8)).all(),
                        f"seed {self.seed}")

    def test_conversions_are_what_the_page_defines(self):
        for name in definitions.LARGEST:
            for group in (16, 48, 128):
                for columns in (16, 33, 300):
                    x = halves(self.random, (3, columns))
                    codes, scales = definitions.quantized(x, name, group)
                    back = definitions.dequantized(codes, scales, name, group)
                    packed = definitions.nibbles(codes) if name in ("int4", "fp4_e2m1") else codes
                    wide = np.zeros((3, 2 * columns), np.float16)
                    wide[:, ::2] = x
                    for given in (x, wide[:, ::2], np.ascontiguousarray(x[::-1])[::-1]):
                        q = golden.quantize(given, format=name, group=group)
                        self.same(q.values, packed)
                        self.same(q.scales, scales)
                        self.same(golden.dequantize(q), back)
                    if name == "int4":
                        self.same(golden.int4_to_fp8(q), definitions.encoded(codes.astype(np.float32), "fp8_e4m3"))

    def test_linear_layers_are_exact_sums(self):
        for columns in (1, 31, 64, 130):
            x = halves(self.random, (2, columns))
            w = self.random.standard_normal((5, columns)).astype(np.float32)
            values, scales = golden.quantize_per_channel(w)
            expected = np.abs(w).max(axis=1) / np.float32(127)
            self.same(scales, expected[:, None])
            self.same(values, np.rint(w / expected[:, None]).astype(np.int8))
            y = definitions.linear(x, np.asarray(values), expected)
            self.same(golden.linear_w8(x, values, scales, out="float32"), y)
            self.same(golden.linear_w8(np.asfortranarray(x), values, np.asarray(scales)[:, 0], out="float32"), y)
            bias = self.random.standard_normal(5).astype(np.float32)
            self.same(golden.linear_w8(x, values, scales, bias, out="float32"), y + bias)
            self.same(golden.linear_w8(x, values, scales), y.astype(np.float16))

    def test_weights_of_4_bits_come_in_both_kinds(self):
        x = halves(self.random, (3, 96))
        w = self.random.standard_normal((4, 96)).astype(np.float32)
        q, scales, points = golden.quantize_to_int4(w, 32, zero_point=True)
        signed = golden.linear_w8(x, q, scales, zero_points=points, group_size=32)
        unsigned = golden.linear_w8(x, np.asarray(q) ^ 0x88, scales, group_size=32,
                                    zero_points=(np.asarray(points) + 8).astype(np.uint8))
        self.same(signed, np.asarray(unsigned))
        q, scales, points = golden.quantize_to_int4(w, 32)
        self.assertIsNone(points)
        levels = np.rint(w.reshape(4, 3, 32) / np.asarray(scales)[:, :, None]).astype(np.int64).reshape(4, 96)
        self.same(q, definitions.nibbles(levels))

    def test_binary_convolutions_count_no_pads(self):
        for channels in (3, 64, 70):
            x = self.random.standard_normal((2, 5, 6, channels)).astype(np.float32)
            w = self.random.standard_normal((3, 3, 3, channels)).astype(np.float32)
            v = np.array([0.4, 0.9], np.float32)
            beta = np.array([0.5, 0.25], np.float32)  # sums of powers of two are exact
            bits = golden.pack_activations(x, v)
            signs = x[:, :, :, None, :] + v[:, None] > np.float32(0.5)
            self.same(bits, definitions.words(signs))
            words, alpha = golden.binarize_weights(w, 1)
            expected = definitions.words((w - w.astype(np.float64).mean() >= 0)[:, None])
            self.same(words, expected)
            ones = np.ones((1, 3), np.float32)
            y = golden.binary_conv2d(bits, words, ones, beta, channels=channels, padding=1)
            a = sum(float(b) * (2.0 * signs[:, :, :, j] - 1) for j, b in enumerate(beta))
            inside = definitions.windows(definitions.pad(a, 1, 0.0), 3, 1)
            plus = 2.0 * (w - w.astype(np.float64).mean() >= 0) - 1
            self.same(y, np.tensordot(inside, plus, axes=([3, 4, 5], [1, 2, 3])).astype(np.float32))
            self.same(golden.abc_conv2d(x, v, words, ones, beta, padding=1), np.asarray(y))

    def test_int8_convolutions_round_as_onnx_runtime_does(self):
        x = self.random.integers(-128, 128, (2, 9, 8, 5)).astype(np.int8)
        w = self.random.integers(-128, 128, (4, 3, 3, 5)).astype(np.int8)
        bias = self.random.integers(-1000, 1000, 4).astype(np.int32)
        scales = np.array([0.001, 0.0007, 0.0021, 0.0005], np.float32)
        for stride, pads in ((1, 0), (2, 1)):
            expected = definitions.conv2d_int8(x, w, scales, bias, stride, pads, -3, 7)
            planar = np.ascontiguousarray(x.transpose(0, 3, 1, 2)).transpose(0, 2, 3, 1)
            for given in (x, planar):
                self.same(golden.conv2d_int8(given, w, scales, bias, stride=stride, padding=pads, x_zero_point=-3,
                                             y_zero_point=7), expected)

    def test_presets_have_their_parts(self):
        x = halves(self.random, (4, 64))
        for name, columns, scales in (("mxfp8", 64, 2), ("mxfp4", 32, 2), ("nvfp4", 32, 4)):
            q = golden.quantize(x, name)
            self.assertEqual(q.values.shape, (4, columns))
            self.assertEqual((q.scales.shape, q.scales.kind), ((4, scales), "uint8"))
            self.assertEqual(q.global_scale is not None, name == "nvfp4")
            self.assertLess(np.abs(np.asarray(golden.dequantize(q)).astype(float) - x).max() / np.abs(x).max(), 0.3)


class Sharing(unittest.TestCase):
    def test_results_share_their_memory_and_live_as_long_as_their_users(self):
        values, _ = golden.quantize_per_channel(np.eye(3, 32, dtype=np.float32))
        view = np.from_dlpack(values)
        again = np.asarray(values)
        self.assertEqual(view.__array_interface__["data"][0], values.address)
        again[0, 0] = 5
        self.assertEqual(view[0, 0], 5)
        del values, again
        gc.collect()
        self.assertEqual(view[2, 2], 127)
        self.assertEqual(len(_dlpack._given), 1)
        del view
        gc.collect()
        self.assertEqual(len(_dlpack._given), 0)

    def test_a_capsule_that_nobody_takes_is_freed(self):
        array = golden.Array((2,), "float32")
        capsule = array.__dlpack__()
        self.assertEqual(len(_dlpack._given), 1)
        del capsule
        gc.collect()
        self.assertEqual(len(_dlpack._given), 0)

    def test_threads_that_call_at_once_have_their_own_results(self):
        faults = []

        def work(number):
            random = np.random.default_rng(number)
            for _ in range(20):
                x = halves(random, (2, 64))
                codes, scales = definitions.quantized(x, "int8", 32)
                q = golden.quantize(x, format="int8", group=32)
                if not (np.asarray(q.values) == codes).all() or not (np.asarray(q.scales) == scales).all():
                    faults.append(number)
                try:
                    golden.quantize(x, group=number + 1)
                except qsim.BadInput as error:
                    if f"groups of {number + 1};" not in str(error):
                        faults.append(str(error))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(faults, [])


class Refusals(unittest.TestCase):
    def refused(self, message, work, error=qsim.BadInput):
        with self.assertRaises(error) as caught:
            work()
        self.assertEqual(str(caught.exception), message)

    def test_numbers_that_do_not_fit_are_refused_and_not_cut_off(self):
        half = np.zeros((2, 32), np.float16)
        self.refused("group is 4294967296000000000000; allowed: -9223372036854775808 to 9223372036854775807",
                     lambda: golden.quantize(half, group=4294967296 * 10**12))
        self.refused("seed is -1; allowed: 0 to 18446744073709551615", lambda: golden.quantize(half, seed=-1))
        self.refused("clip_ppm is 10000000000; allowed: -2147483648 to 2147483647",
                     lambda: golden.quantize(half, clip_percentile=1e6))
        self.refused("clip_value is 1e+39; allowed: a float32", lambda: golden.quantize(half, clip_value=1e39))
        w = np.zeros((3, 32), np.float32)
        self.refused(f"group_size is {2**64}; allowed: {-2**63} to {2**63 - 1}",
                     lambda: golden.quantize_per_channel(w, 2**64))
        with self.assertRaisesRegex(qsim.BadInput, "a number of this call is too large for its field: "):
            golden.linear_w8(w, w.astype(np.int8), np.ones(3, np.float32), group_size=2**64)

    def test_bad_arguments_are_told(self):
        x = np.zeros((2, 32), np.float32)
        w = np.zeros((3, 32), np.int8)
        scales = np.ones(3, np.float32)
        half = x.astype(np.float16)
        self.refused("int is no DLPack array; numpy.asarray() or torch.tensor() makes one",
                     lambda: golden.linear_w8(3, w, scales), TypeError)
        self.refused("an array of DLPack type 2 of 64 bits has no type in qsim; allowed: float32, float16, bfloat16, int8, "
                     "uint8, int32, fp8_e4m3, fp8_e5m2, int64, uint64",
                     lambda: golden.linear_w8(x.astype(np.float64), w, scales))
        self.refused("linear_w8: x has 1 dimensions; allowed: 2", lambda: golden.linear_w8(x[0], w, scales))
        self.refused("linear_w8: x has the shape [2, 31]; expected [2, 32]",
                     lambda: golden.linear_w8(x[:, 1:], w, scales))
        self.refused("linear_w8: scales has the shape [2]; expected [3]",
                     lambda: golden.linear_w8(x, w, scales[1:]))
        self.refused("linear_w8: group_size is 7; allowed: 32, 64, 128, and 0 for one group",
                     lambda: golden.linear_w8(x, w, scales, group_size=7))
        self.refused("linear_w8: w has rows of 3 bytes of two 4-bit weights; x, with 32 columns, needs 16",
                     lambda: golden.linear_w8(x, np.zeros((3, 3), np.uint8), scales))
        self.refused("an array of codes has strides with gaps; this tensor takes none",
                     lambda: golden.linear_w8(x, np.zeros((3, 32), np.uint8)[:, ::2], scales))
        self.refused("linear_w8: y has elements of int8; allowed: float32, float16, bfloat16",
                     lambda: golden.linear_w8(x, w, scales, out="int8"))
        self.refused("convert: groups of 17; allowed: multiples of 16 from 16 to 512, token and tensor",
                     lambda: golden.quantize(half, group=17))
        self.refused("convert: preset 'mxfp5'; allowed: mxfp8, mxfp8_e5m2, mxfp4, nvfp4",
                     lambda: golden.quantize(half, "mxfp5"))
        self.refused("format is 'fp7'; allowed: int8, fp8_e4m3, fp8_e5m2, int4, fp4_e2m1",
                     lambda: golden.quantize(half, format="fp7"))
        self.refused("quantize: x has elements of float32; allowed: float16, bfloat16", lambda: golden.quantize(x))
        self.refused("binarize_weights: the words' number of bases is 9; allowed: 1 to 8",
                     lambda: golden.binarize_weights(np.ones((1, 1, 1, 4), np.float32), 9))
        self.refused("rounding is 'up'; allowed: floor, half_even, half_up, float32",
                     lambda: golden.conv2d_int8(np.zeros((1, 3, 3, 1), np.int8), np.zeros((1, 3, 3, 1), np.int8),
                                                scales[:1], rounding="up"))
        self.refused("stride has 3 numbers; allowed: 1 and 2",
                     lambda: golden.conv2d_int8(np.zeros((1, 3, 3, 1), np.int8), np.zeros((1, 3, 3, 1), np.int8),
                                                scales[:1], stride=[1, 1, 1]))

    def test_errors_are_also_pythons_own(self):
        self.assertTrue(issubclass(qsim.BadInput, ValueError))
        self.assertTrue(issubclass(qsim.Unsupported, NotImplementedError))


if __name__ == "__main__":
    unittest.main()
