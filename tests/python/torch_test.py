"""torch.ops.qsim.*: results equal the definitions and qsim.golden, for any strides; shapes without data; refusals."""
import inspect
import os
import signal
import threading
import time
import unittest
from unittest import mock

import numpy as np
import torch

import definitions
import qsim
import qsim.golden as golden
import qsim.torch as qt
from qsim import _torch_operations as real


class Results(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(20261123)

    def same(self, found, expected):
        if not isinstance(expected, torch.Tensor):
            expected = torch.from_numpy(np.ascontiguousarray(np.asarray(expected)))
        if found.dtype not in (torch.float16, torch.float32, torch.int8, torch.uint8, torch.int64, torch.bfloat16):
            found = found.view(torch.uint8)  # a type of FP8
        self.assertEqual(found.dtype, expected.dtype)
        self.assertEqual(found.shape, expected.shape)
        self.assertTrue(torch.equal(found, expected))

    def test_linear_layers_equal_the_definition_for_any_strides(self):
        x = torch.randn(2, 64).half()
        w = torch.randn(5, 64)
        q, scales = torch.ops.qsim.quantize_per_channel(w)
        expected = torch.from_numpy(definitions.linear(x.numpy(), q.numpy(), scales[:, 0].numpy()))
        self.same(qt.linear_w8(x, q, scales, out_dtype=torch.float32), expected)
        self.same(qt.linear_w8(x.t().contiguous().t(), q.t().contiguous().t(), scales, out_dtype=torch.float32), expected)
        self.same(qt.linear_w8(x[None, :, None], q, scales, out_dtype=torch.float32), expected[None, :, None])
        self.same(qt.linear_w8(x[0], q, scales, out_dtype=torch.float32), expected[0])
        self.same(qt.linear_w8(x, q, scales), expected.half())
        brain = x.bfloat16()
        self.same(qt.linear_w8(brain, q, scales),
                  torch.from_dlpack(golden.linear_w8(brain, q, scales)))

    def test_int8_activations_equal_their_definition(self):
        x = torch.randn(3, 64)
        q, scales = qt.quantize_per_channel(torch.randn(5, 64))
        of_rows = x.abs().amax(1, keepdim=True) / 127
        for given, row_scales in ((None, of_rows), (0.03, torch.full((3, 1), 0.03))):
            codes = torch.clamp(torch.round(x / row_scales), -127, 127)
            sums = codes.double() @ q.double().t()
            expected = sums.float() * scales[:, 0] * row_scales
            self.same(qt.linear_w8a8(x, q, scales, x_scale=given), expected)
            self.same(qt.linear_w8a8(x[:, None], q, scales, x_scale=given), expected[:, None])
            self.same(torch.from_dlpack(golden.linear_w8a8(x, q, scales, x_scale=given)), expected)

    def test_constant_weights_change_no_bit(self):
        x = torch.randn(3, 64)
        q, scales = qt.quantize_per_channel(torch.randn(5, 64))
        self.same(qt.linear_w8(x, q, scales, constant_weights=True), qt.linear_w8(x, q, scales))

    def test_weights_of_4_bits(self):
        w = torch.randn(6, 96)
        q, scales = qt.quantize_to_int4(w, 32)
        self.assertEqual((q.shape, scales.shape), ((6, 48), (6, 3)))
        x = torch.randn(3, 96)
        points = torch.full((6, 3), 8, dtype=torch.uint8)
        self.same(qt.linear_w8(x, q, scales, group_size=32),
                  qt.linear_w8(x, q ^ 0x88, scales, zero_points=points, group_size=32))
        numbers = qt.int4_to_fp16(q, scales, 32)
        self.assertEqual(numbers.dtype, torch.float16)
        self.assertLess((numbers.float() - w).abs().max(), 0.3)
        eight = qt.int4_to_fp8(q, scales, 32)
        self.same(qt.fp8_to_fp16(eight, scales, 32), numbers)

    def test_conversions_equal_the_definition(self):
        for columns in (64, 33):
            x = torch.randn(6, columns).half()
            for name, op, back in (("fp8_e4m3", qt.fp16_to_fp8, qt.fp8_to_fp16),
                                   ("int4", qt.fp16_to_int4, qt.int4_to_fp16)):
                codes, expected = definitions.quantized(x.numpy(), name, 32)
                packed = definitions.nibbles(codes) if name == "int4" else codes
                for given in (x, x.t().contiguous().t(), x.reshape(2, 3, columns)):
                    shape = given.shape[:-1]
                    q = torch.empty(*shape, packed.shape[1], dtype=torch.uint8)
                    scales = torch.empty(*shape, expected.shape[1])
                    self.assertIsNone(op(given, q, scales, 32))
                    self.same(q, packed.reshape(q.shape))
                    self.same(scales, expected.reshape(scales.shape))
                    arguments = (columns,) if name == "int4" else ()
                    self.same(back(q, scales, 32, *arguments),
                              definitions.dequantized(codes, expected, name, 32).reshape(given.shape))

    def test_fp8_types_of_pytorch_are_taken(self):
        if not hasattr(torch, "float8_e5m2"):
            self.skipTest("this PyTorch has no FP8 type")
        x = torch.randn(4, 64).half()
        codes, _ = definitions.quantized(x.numpy(), "fp8_e5m2", 64)
        q = torch.empty(4, 64, dtype=torch.float8_e5m2)
        scales = torch.empty(4, 1)
        qt.fp16_to_fp8(x, q, scales, 64)
        self.same(q, codes)

    def test_convolutions_equal_those_of_golden(self):
        x = torch.randn(2, 70, 6, 5)
        w = torch.randn(3, 70, 3, 3)
        v = torch.tensor([0.1, 0.7])
        beta = torch.tensor([1.0, 0.5])
        bits = qt.pack_activations(x, v)
        words, alpha = qt.binarize_weights(w, 3)
        nhwc = x.permute(0, 2, 3, 1).contiguous()
        self.same(bits, golden.pack_activations(nhwc, v))
        expected = torch.from_dlpack(golden.abc_conv2d(nhwc, v, words, alpha, beta, stride=2, padding=1))
        y = qt.abc_conv2d(x, v, words, alpha, beta, stride=2, padding=(1, 1))
        self.same(y, expected.permute(0, 3, 1, 2))
        self.assertTrue(y.is_contiguous(memory_format=torch.channels_last))
        self.same(qt.binary_conv2d(bits, words, alpha, beta, channels=70, stride=2, padding=1), y)
        self.same(qt.BinaryConv2d(words, alpha, beta, channels=70, stride=2, padding=1)(bits), y)

    def test_int8_convolutions_equal_pytorchs_sums(self):
        x = torch.randint(-128, 128, (2, 6, 9, 7), dtype=torch.int8)
        w = torch.randint(-128, 128, (4, 3, 3, 3), dtype=torch.int8)
        bias = torch.randint(-500, 500, (4,), dtype=torch.int32)
        scales = torch.rand(4) * 0.001
        sums = torch.nn.functional.conv2d((x.double() + 3), w.double(), bias.double(), stride=2, padding=1, groups=2)
        levels = torch.round(sums.float() * scales[:, None, None]) + 5  # both products in float32, ties to even
        for given in (x, x.contiguous(memory_format=torch.channels_last)):
            y = qt.conv2d_int8(given, w, scales, bias, stride=2, padding=1, groups=2, x_zero_point=-3, y_zero_point=5)
            self.same(y, levels.clamp(-128, 127).to(torch.int8))
        sums = torch.nn.functional.conv2d(x.double(), w.double(), stride=(1, 2), padding=(0, 1), dilation=(2, 1), groups=2)
        y = qt.conv2d_int8(x, w, scales, stride=(1, 2), padding=(0, 1), dilation=(2, 1), groups=2)
        self.same(y, torch.round(sums.float() * scales[:, None, None]).clamp(-128, 127).to(torch.int8))
        y = qt.conv2d_int8(x, w, scales, bias, stride=2, padding=1, groups=2, x_zero_point=-3, y_zero_point=5, lo=5,
                           hi=200, out_dtype=torch.uint8)
        self.same(y, levels.clamp(5, 200).to(torch.uint8))

    def test_threads_change_no_bit_and_survive_fork(self):
        x, w = torch.randn(4, 256), torch.randn(64, 256)
        q, scales = qt.quantize_per_channel(w)
        expected = qt.linear_w8(x, q, scales)
        try:
            qt.set_threads(3)
            self.same(qt.linear_w8(x, q, scales), expected)
            child = os.fork()
            if child == 0:
                signal.alarm(60)  # a child that waits for threads which it does not have ends
                os._exit(0 if torch.equal(qt.linear_w8(x, q, scales), expected) else 1)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
        finally:
            qt.set_threads(1)
        # The threads of a Python thread end with it.
        def tasks():
            return len(os.listdir("/proc/self/task"))

        before = tasks()
        try:
            qt.set_threads(3)
            for _ in range(4):
                thread = threading.Thread(target=qt.linear_w8, args=(x, q, scales))
                thread.start()
                thread.join()
            for _ in range(1000):  # a thread that has ended leaves /proc a moment later
                if tasks() <= before:
                    break
                time.sleep(0.01)
            self.assertLessEqual(tasks(), before)
        finally:
            qt.set_threads(1)
        with self.assertRaisesRegex(qsim.BadInput, "set_threads: count is -1; allowed: 0 to 1024"):
            qt.set_threads(-1)


class Shapes(unittest.TestCase):
    def cases(self):
        """(operator, arguments) of each operator."""
        x, w = torch.randn(3, 64), torch.randn(5, 64)
        q, scales = qt.quantize_per_channel(w)
        narrow, narrow_scales = qt.quantize_to_int4(w, 32)
        half = torch.randn(3, 64).half()
        codes = torch.zeros(3, 64, dtype=torch.uint8)
        pictures = torch.randn(2, 70, 6, 5)
        words, alpha = qt.binarize_weights(torch.randn(3, 70, 3, 3), 2)
        v = torch.zeros(2)
        bytes_in = torch.randint(-9, 9, (2, 6, 9, 7), dtype=torch.int8)
        weights = torch.randint(-9, 9, (4, 6, 3, 3), dtype=torch.int8)
        return {
            "linear_w8": (x, q, scales, None, None, 0, torch.bfloat16),
            "linear_w8a8": (x, q, scales),
            "quantize_per_channel": (w, 32),
            "quantize_to_int4": (w, 64),
            "fp16_to_fp8": (half, codes, torch.ones(3, 2), 32),
            "fp16_to_int4": (half, torch.zeros(3, 32, dtype=torch.uint8), torch.ones(3, 2), 32),
            "int4_to_fp8": (narrow, narrow_scales, 32),
            "int4_to_fp16": (narrow, narrow_scales, 32, 63),
            "fp8_to_fp16": (codes, torch.ones(3, 1), 64),
            "pack_activations": (pictures, v),
            "binarize_weights": (torch.randn(3, 70, 3, 3), 2),
            "binary_conv2d": (qt.pack_activations(pictures, v), words, alpha, v, None, 70, [1, 2], [1], [1, 1]),
            "abc_conv2d": (pictures, v, words, alpha, v, None, [1, 2], [1], [1, 1]),
            "conv2d_int8": (bytes_in, weights, torch.ones(1), None, [2], [1], [1], 1, 0, 0, "float32", None, None,
                            torch.uint8),
        }

    def test_shapes_without_data_are_those_of_results(self):
        cases = self.cases()
        self.assertEqual(set(cases), set(qt._SCHEMAS) - {"binary_layer"})
        for name, arguments in cases.items():
            operator = getattr(torch.ops.qsim, name)
            found = operator(*arguments)
            meta = operator(*(a.to("meta") if isinstance(a, torch.Tensor) else a for a in arguments))
            for one, other in zip(*(part if isinstance(part, (tuple, list)) else (part,) for part in (found, meta))):
                if one is None:
                    self.assertIsNone(other)
                    continue
                self.assertEqual((one.shape, one.dtype, one.stride()), (other.shape, other.dtype, other.stride()), name)
                self.assertEqual(other.device.type, "meta")

    def test_torch_compile_keeps_the_results(self):
        if not hasattr(torch, "compile"):
            self.skipTest("this PyTorch has no torch.compile")
        for name, arguments in self.cases().items():
            torch._dynamo.reset()  # the lambda is one function to it, which it compiles a few times alone
            operator = getattr(torch.ops.qsim, name)
            compiled = torch.compile(lambda *given, operator=operator: operator(*given), backend="aot_eager",
                                     fullgraph=True)
            expected = operator(*arguments)
            found = compiled(*arguments)
            for one, other in zip(*(part if isinstance(part, (tuple, list)) else (part,) for part in (expected, found))):
                if one is not None:
                    self.assertTrue(torch.equal(one.view(torch.uint8) if one.element_size() == 1 else one,
                                                other.view(torch.uint8) if one.element_size() == 1 else other), name)

    def test_every_function_is_typed_and_documented(self):
        for name in qt.__all__:
            function = getattr(qt, name)
            self.assertTrue(function.__doc__, name)
            if inspect.isclass(function):
                continue
            signature = inspect.signature(function)
            self.assertNotIn(inspect.Parameter.empty,
                             [parameter.annotation for parameter in signature.parameters.values()], name)
            self.assertIsNot(signature.return_annotation, inspect.Signature.empty, name)


class Refusals(unittest.TestCase):
    def refused(self, message, work):
        with self.assertRaises(qsim.BadInput) as caught:
            work()
        self.assertEqual(str(caught.exception), message)

    def test_bad_arguments_are_told(self):
        x = torch.zeros(2, 32)
        w = torch.zeros(3, 32, dtype=torch.int8)
        scales = torch.ones(3)
        self.refused("a tensor of torch.float64 with 2 dimensions has no place in qsim; allowed: float32, float16, bfloat16, "
                     "int8, uint8, int32, int64, fp8_e4m3, fp8_e5m2, 0 to 16 dimensions", lambda: qt.linear_w8(x.double(), w, scales))
        self.refused("linear_w8: scales has the shape [2]; expected [3]",
                     lambda: qt.linear_w8(x, w, scales[:2]))
        self.refused("linear_w8: group_size is 33; allowed: 32, 64, 128, and 0 for one group",
                     lambda: qt.linear_w8(x, w, scales, group_size=33))
        half = x.half()
        q = torch.zeros(2, 32, dtype=torch.uint8)
        self.refused("quantize: scales has the shape [2, 2]; expected [2, 1]",
                     lambda: qt.fp16_to_fp8(half, q, torch.ones(2, 2), 32))
        self.refused("quantize: the values have the shape [2, 32]; expected [2, 16]",
                     lambda: qt.fp16_to_int4(half, q, torch.ones(2, 1), 32))
        self.refused("a tensor of codes has strides with gaps; this tensor takes none",
                     lambda: qt.fp16_to_fp8(half, torch.zeros(2, 64, dtype=torch.uint8)[:, ::2], torch.ones(2, 1), 32))
        self.refused("a tensor of torch.int8 has codes of another type; give uint8, or the type itself",
                     lambda: qt.fp16_to_fp8(half, q.to(torch.int8), torch.ones(2, 1), 32))
        self.refused("convert: groups of 24; allowed: multiples of 16 from 16 to 512, token and tensor",
                     lambda: qt.fp8_to_fp16(q, torch.ones(2, 2), 24))
        self.refused("q has rows of 32 bytes; 7 columns of 4 bits need 4", lambda: qt.int4_to_fp16(q, torch.ones(2, 1), 32, 7))
        self.refused("conv2d_int8: x has 2 dimensions; allowed: 4", lambda: qt.conv2d_int8(w, w, scales))
        self.refused("binary_layer: there is no layer 12345; BinaryConv2d makes and calls them",
                     lambda: real.binary_layer(x, x, 12345, [1, 1, 1]))

    def test_linear_layers_of_other_dimensions_are_refused(self):
        x = torch.zeros(2, 32)
        scales = torch.ones(3)
        short = mock.patch.multiple(real, _linear_entry=b"entry", _run_entry=lambda *_: -1)  # which refuses all
        for w, count in ((torch.zeros((), dtype=torch.int8), 0), (torch.zeros(32, dtype=torch.int8), 1),
                         (torch.zeros(1, 3, 32, dtype=torch.int8), 3)):
            for given in (x, x[None], x[0]):
                message = f"linear_w8: w has {count} dimensions; allowed: 2"
                self.refused(message, lambda: real.linear_w8(given, w, scales))
                with short:
                    self.refused(message, lambda: real.linear_w8(given, w, scales))
                self.refused(f"linear_w8a8: w has {count} dimensions; allowed: 2", lambda: real.linear_w8a8(given, w, scales))
        w = torch.zeros(3, 32, dtype=torch.int8)
        for shape in ((2, 0), (2, 5, 0), (0, 5, 0)):
            with self.assertRaises(qsim.BadInput):
                qt.linear_w8(torch.zeros(shape), w, scales)
            with self.assertRaises(qsim.BadInput):
                qt.linear_w8a8(torch.zeros(shape), w, scales)

    def test_tensors_of_two_devices_are_refused(self):
        if not torch.cuda.is_available():
            self.skipTest("no GPU")
        with self.assertRaisesRegex(qsim.BadInput, "all tensors of a call are on one device"):
            qt.linear_w8(torch.zeros(2, 32, device="cuda"), torch.zeros(3, 32, dtype=torch.int8), torch.ones(3))


if __name__ == "__main__":
    unittest.main()
