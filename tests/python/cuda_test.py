"""torch.ops.qsim.* on a GPU: the bits of the CPU, on the current stream, inside CUDA graphs, one kernel a call.

Skipped without a GPU, PyTorch for it, or CUDA kernels in libqsim_golden. What a call costs is printed as one line of
JSON: it is measured, not asserted.
"""
import json
import threading
import time
import unittest

from on_cuda import SEED, bits, kernels_of, moved, needs_gpu, torch

import qsim
import qsim.torch as qt
from qsim import _torch_operations as real


def layer(generator, rows, columns, channels, dtype, group, weight_bits):
    """(x, w, scales, bias, zero_points, group_size) on the CPU."""
    x = torch.randn(rows, columns, generator=generator).to(dtype)
    w = torch.randn(channels, columns, generator=generator)
    bias = torch.randn(channels, generator=generator)
    if weight_bits == 8:
        q, scales = qt.quantize_per_channel(w, group)
        return x, q, scales, bias, None, group
    q = torch.randint(0, 256, (channels, (columns + 1) // 2), generator=generator, dtype=torch.uint8)
    groups = -(-columns // group) if group else 1
    scales = torch.rand(channels, groups, generator=generator) + 0.5
    points = torch.randint(0, 16, (channels, groups), generator=generator, dtype=torch.uint8)
    return x, q, scales, bias, points, group


@needs_gpu
class Cuda(unittest.TestCase):
    def setUp(self):
        self.generator = torch.Generator().manual_seed(SEED)

    def draw(self, limit=300):
        """A random layer on the CPU."""
        def pick(*of):
            return of[int(torch.randint(len(of), (1,), generator=self.generator))]
        size = [int(torch.randint(1, limit, (1,), generator=self.generator)) for _ in range(2)]
        return layer(self.generator, pick(1, 2, 3, 7, 16, 40), *size, pick(torch.float16, torch.bfloat16, torch.float32),
                     pick(0, 32, 64, 128), pick(8, 4))

    def test_the_bits_are_those_of_the_cpu(self):
        print(f"seed {SEED}")
        for _ in range(400):
            arguments = self.draw()
            expected = qt.linear_w8(*arguments)
            self.assertTrue(torch.equal(bits(qt.linear_w8(*moved(arguments))), bits(expected)), [
                tuple(a.shape) if isinstance(a, torch.Tensor) else a for a in arguments])

    def test_conversions_have_the_bits_of_the_cpu(self):
        operators = {"fp8": (qt.fp16_to_fp8, qt.fp8_to_fp16, 1), "int4": (qt.fp16_to_int4, qt.int4_to_fp16, 2)}
        for name, (forth, back, of_a_byte) in operators.items():
            for group in (16, 48, 128, 512, 0):
                for shape in ((1, 64), (7, 520), (3, 5, 1000), (33, 4096)):
                    x = torch.randn(*shape, generator=self.generator).half()
                    q = torch.empty(*shape[:-1], shape[-1] // of_a_byte, dtype=torch.uint8)
                    scales = torch.empty(*shape[:-1], -(-shape[-1] // group) if group else 1)
                    forth(x, q, scales, group)
                    for given in (x.cuda(), x.cuda().transpose(0, -1).contiguous().transpose(0, -1)):
                        q_there, scales_there = torch.zeros_like(q).cuda(), torch.zeros_like(scales).cuda()
                        forth(given, q_there, scales_there, group)
                        self.assertTrue(torch.equal(q_there.cpu(), q), (name, group, shape))
                        self.assertTrue(torch.equal(scales_there.cpu(), scales), (name, group, shape))
                    self.assertTrue(torch.equal(bits(back(q_there, scales_there, group)), bits(back(q, scales, group))))
                    if name == "int4":
                        for times_scale in (False, True):
                            self.assertTrue(torch.equal(
                                bits(qt.int4_to_fp8(q_there, scales_there, group, times_scale)),
                                bits(qt.int4_to_fp8(q, scales, group, times_scale))))

    def test_conversions_are_one_kernel_inside_graphs_too(self):
        x = torch.randn(64, 1024, generator=self.generator).half().cuda()
        q = torch.empty(64, 1024, dtype=torch.uint8, device="cuda")
        scales = torch.empty(64, 8, device="cuda")
        qt.fp16_to_fp8(x, q, scales, 128)
        names = kernels_of(lambda: qt.fp16_to_fp8(x, q, scales, 128))
        self.assertEqual(len(names), 1, names)
        names = kernels_of(lambda: qt.fp8_to_fp16(q, scales, 128))
        self.assertEqual(len(names), 1, names)
        expected = q.clone()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            qt.fp16_to_fp8(x, q, scales, 128)
        q.zero_()
        graph.replay()
        self.assertTrue(torch.equal(q, expected))

    def test_binary_convolutions_have_the_bits_of_the_cpu(self):
        for channels, out, bases in ((3, 5, 1), (64, 64, 2), (130, 70, 3), (256, 128, 1)):
            x = torch.randn(2, channels, 9, 11, generator=self.generator)
            words, alpha = qt.binarize_weights(torch.randn(out, channels, 3, 3, generator=self.generator), bases)
            v, beta = torch.tensor([0.2, 0.8]), torch.tensor([1.0, 0.3])
            bias = torch.randn(out, generator=self.generator)
            bits_here = qt.pack_activations(x, v)
            bits_there = qt.pack_activations(x.cuda(), v)
            self.assertTrue(torch.equal(bits_there.cpu(), bits_here))
            self.assertTrue(torch.equal(qt.pack_activations(x.cuda()).cpu(), qt.pack_activations(x)))
            layer = qt.BinaryConv2d(words, alpha, beta, bias, channels=channels, stride=2, padding=1)
            expected = layer(bits_here)
            found = layer(bits_there)
            self.assertEqual(found.stride(), expected.stride())
            self.assertTrue(torch.equal(bits(found), bits(expected)))
            names = kernels_of(lambda: layer(bits_there))
            self.assertEqual(len(names), 1, names)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = layer(bits_there)
            graph.replay()
            self.assertTrue(torch.equal(bits(y), bits(expected)))

    def test_signed_weights_and_weights_without_zero_points(self):
        x, q, scales, bias, points, group = layer(self.generator, 3, 200, 48, torch.float16, 64, 4)
        for given in (None, (points.to(torch.int16) - 8).to(torch.int8)):
            arguments = (x, q, scales, bias, given, group)
            self.assertTrue(torch.equal(bits(qt.linear_w8(*moved(arguments))), bits(qt.linear_w8(*arguments))))

    def test_tensors_with_gaps_are_taken(self):
        x, w, scales, bias, _, _ = layer(self.generator, 3, 128, 48, torch.float16, 0, 8)
        expected = qt.linear_w8(x, w, scales, bias)
        x, w, scales, bias = moved((x.t().contiguous().t(), w.t().contiguous().t(), scales, bias))
        self.assertFalse(x.is_contiguous() or w.is_contiguous())
        self.assertTrue(torch.equal(bits(qt.linear_w8(x, w, scales, bias)), bits(expected)))

    def test_calls_are_on_the_current_stream(self):
        x, w, scales, _, _, _ = layer(self.generator, 1, 4096, 1024, torch.float16, 0, 8)
        expected = qt.linear_w8(x, w, scales)
        late, w, scales = moved((x, w, scales))
        late_x = torch.zeros_like(late)
        work = torch.randn(4096, 4096, device="cuda")
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(20):
                work = work @ work * 0.01
            late_x.copy_(late)  # after milliseconds on this stream
            y = qt.linear_w8(late_x, w, scales)
        self.assertFalse(stream.query(), "the call waited for the stream")
        stream.synchronize()
        self.assertTrue(torch.equal(bits(y), bits(expected)))

    def test_a_cuda_graph_captures_a_call(self):
        for weight_bits in (8, 4):
            arguments = layer(self.generator, 2, 512, 256, torch.float16, 128, weight_bits)
            x, *rest = moved(arguments)
            x_in = x.clone()
            warm = torch.cuda.Stream()
            with torch.cuda.stream(warm):
                qt.linear_w8(x_in, *rest)
            warm.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = qt.linear_w8(x_in, *rest)
            for _ in range(3):
                fresh = torch.randn(2, 512, generator=self.generator).half()
                x_in.copy_(fresh)
                graph.replay()
                torch.cuda.synchronize()
                self.assertTrue(torch.equal(bits(y), bits(qt.linear_w8(fresh, *arguments[1:]))))

    def test_a_call_is_one_kernel_and_no_copy(self):
        for rows in (1, 16):
            arguments = moved(layer(self.generator, rows, 1024, 512, torch.float16, 0, 8))
            qt.linear_w8(*arguments)
            names = kernels_of(lambda: qt.linear_w8(*arguments))
            self.assertEqual(len(names), 1, names)

    def test_torch_compile_keeps_one_kernel(self):
        if not hasattr(torch, "compile"):
            self.skipTest("this PyTorch has no torch.compile")
        arguments = moved(layer(self.generator, 1, 1024, 512, torch.float16, 0, 8))
        compiled = torch.compile(lambda *a: torch.ops.qsim.linear_w8(*a), backend="aot_eager", fullgraph=True)
        self.assertTrue(torch.equal(bits(compiled(*arguments)), bits(qt.linear_w8(*arguments))))
        names = kernels_of(lambda: compiled(*arguments))
        self.assertEqual(len(names), 1, names)

    def test_threads_with_streams_of_their_own(self):
        faults = []
        cases = [self.draw() for _ in range(4)]

        def work(arguments):
            expected = bits(qt.linear_w8(*arguments))
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                given = moved(arguments)
                for _ in range(50):
                    y = qt.linear_w8(*given)
                stream.synchronize()
            if not torch.equal(bits(y), expected):
                faults.append(1)

        threads = [threading.Thread(target=work, args=(case,)) for case in cases]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(faults, [])

    def test_two_devices_are_refused(self):
        x, w, scales, _, _, _ = layer(self.generator, 1, 64, 32, torch.float16, 0, 8)
        with self.assertRaisesRegex(qsim.BadInput, "all tensors of a call are on one device"):
            qt.linear_w8(x.cuda(), w, scales)

    def test_what_a_call_costs(self):
        x, w, scales, _, _, _ = moved(layer(self.generator, 1, 64, 16, torch.float16, 0, 8))
        half = torch.randn(64, 16, device="cuda").half()
        q, groups = torch.empty(16, 64, dtype=torch.uint8, device="cuda"), torch.empty(16, 1, device="cuda")
        short = half.t().contiguous()
        calls = {"qsim.linear_w8": lambda: torch.ops.qsim.linear_w8(x, w, scales), "torch.mm": lambda: torch.mm(x, half),
                 "qsim.linear_w8.default": lambda: torch.ops.qsim.linear_w8.default(x, w, scales),
                 "qsim.fp16_to_fp8": lambda: torch.ops.qsim.fp16_to_fp8(short, q, groups, 64),
                 "without the dispatcher": lambda: real.linear_w8(x, w, scales),
                 "torch.empty": lambda: torch.empty((1, 16), dtype=torch.float16, device="cuda")}
        found = {}
        for name, call in calls.items():
            best = float("inf")
            for _ in range(9):
                torch.cuda.synchronize()
                start = time.perf_counter()
                for _ in range(500):
                    call()
                best = min(best, (time.perf_counter() - start) / 500)
            found[name] = round(best * 1e6, 2)
        print(json.dumps({"microseconds_of_a_call": found, "torch": torch.__version__}))


if __name__ == "__main__":
    unittest.main()
