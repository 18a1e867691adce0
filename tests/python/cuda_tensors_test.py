"""torch.ops.qsim.* whose weights are tensors on a GPU: the bits of the CPU, one kernel a call, any strides.

Skipped without a GPU, PyTorch for it, or CUDA kernels in libqsim_golden.
"""
import unittest

from on_cuda import CASES, SEED, Draws, bits, kernels_of, moved, needs_gpu, spread, torch

import qsim.torch as qt


def quantizer_case(draws):
    """(operator, arguments)"""
    w = draws.floats(draws.size(1, 40), draws.pick(draws.size(1, 300), draws.size(1, 5000)))
    if draws.size(0, 9) == 0:
        w = w * 1e-38  # scales that are subnormal, or 0
    if draws.size(0, 4) == 0:
        w[0] = 0
    w = w.to(draws.pick(torch.float32, torch.float16, torch.bfloat16))
    return draws.pick(qt.quantize_per_channel, qt.quantize_to_int4), (w, draws.pick(0, 32, 64, 128))


def window(draws, least_pad=0):
    """stride, padding, dilation, and the largest padded kernel that fits sizes of 6 and more."""
    return {name: [draws.size(low, high), draws.size(low, high)]
            for name, low, high in (("stride", 1, 3), ("padding", least_pad, 2), ("dilation", 1, 2))}


def conv_case(draws):
    """(arguments, options) of conv2d_int8"""
    groups = draws.pick(1, 1, 1, 2, 5, 16)
    channels = groups * draws.pick(1, 3, 16, 32, 33, 64)
    out = groups * draws.pick(1, 5, 8, 24, 70)
    kernel = [draws.size(1, 3), draws.size(1, 3)]
    signed = draws.size(0, 1) == 0
    x = draws.integers(-128, 128, (draws.size(1, 3), channels, draws.size(6, 15), draws.size(6, 15)), torch.int64)
    x = x.to(torch.int8) if signed else (x + 128).to(torch.uint8)
    w = draws.integers(-128, 128, (out, channels // groups, *kernel), torch.int8)
    scales = torch.rand(draws.pick(1, out), generator=draws.generator) * draws.pick(1e-3, 1e-5, 1.0, 1e10)
    far = draws.size(0, 9) == 0
    bias = draws.integers(-2**31, 2**31, (out,), torch.int32) if far else draws.integers(-999, 999, (out,), torch.int32)
    out_dtype = draws.pick(torch.int8, torch.uint8)
    low = 0 if out_dtype is torch.uint8 else -128
    options = dict(window(draws), groups=groups, out_dtype=out_dtype,
                   x_zero_point=draws.size(-128, 127) if signed else draws.size(0, 255),
                   y_zero_point=draws.size(low, low + 255), rounding=draws.pick("float32", "half_even", "half_up", "floor"))
    if draws.size(0, 1) == 0:
        options.update(lo=low + draws.size(0, 90), hi=low + 255 - draws.size(0, 90))
    return (x, w, scales, draws.pick(None, bias)), options


def binary_case(draws):
    """(x, v, words, alpha, beta, bias), channels, options"""
    channels, out = draws.pick(1, 3, 64, 65, 128, 200), draws.pick(1, 7, 64, 70)
    x = draws.floats(draws.size(1, 2), channels, draws.size(6, 12), draws.size(6, 12))
    words, alpha = qt.binarize_weights(draws.floats(out, channels, draws.size(1, 3), draws.size(1, 3)), draws.size(1, 4),
                                       draws.size(0, 1) == 0)
    bases = draws.size(1, 4)
    bias = draws.floats(out)
    return (x, draws.floats(bases), words, alpha, draws.floats(bases), draws.pick(None, bias)), channels, window(draws)


def signs_of(data):
    """A picture [1, 64, 1, W] of 1 and -1 whose packed signs are these bytes."""
    ones = (data[:, None] >> torch.arange(8, dtype=torch.uint8) & 1).flatten()
    ones = torch.cat([ones, ones.new_zeros(-len(ones) % 64)])
    return (ones.float() * 2 - 1).reshape(1, 1, -1, 64).permute(0, 3, 1, 2)


def packed_bytes(signs, count):
    """The first bytes of packed signs."""
    return qt.pack_activations(signs).view(torch.uint8).flatten()[:count]


@needs_gpu
class Tensors(unittest.TestCase):
    def setUp(self):
        self.draws = Draws()
        print(f"seed {SEED}, {CASES} cases")

    def same(self, found, expected, what):
        for one, other in zip(*(part if isinstance(part, (tuple, list)) else (part,) for part in (found, expected))):
            self.assertEqual((one.dtype, one.shape, one.stride()), (other.dtype, other.shape, other.stride()), what)
            self.assertTrue(torch.equal(bits(one), bits(other)), what)

    def test_quantizers_have_the_bits_of_the_cpu(self):
        for case in range(CASES):
            operator, (w, group) = quantizer_case(self.draws)
            expected = operator(w, group)
            given = spread(w.cuda()) if case % 3 == 0 else w.cuda()
            self.same(operator(given, group), expected, (case, operator.__name__, w.shape, w.dtype, group))

    def test_int8_activations_have_the_bits_of_the_cpu(self):
        for case in range(CASES):
            x = self.draws.floats(self.draws.pick(1, 3, 16, 40), self.draws.pick(64, self.draws.size(1, 600)))
            x = x.to(self.draws.pick(torch.float32, torch.float16, torch.bfloat16))
            w, scales = qt.quantize_per_channel(self.draws.floats(self.draws.size(1, 90), x.shape[1]))
            given = (x, w, scales, self.draws.pick(None, self.draws.floats(w.shape[0])), self.draws.pick(None, 0.05))
            there = moved(given)
            if case % 3 == 0:
                there[:3] = [spread(a) for a in there[:3]]
            self.same(qt.linear_w8a8(*there), qt.linear_w8a8(*given), (case, x.shape, x.dtype, w.shape))

    def test_constant_weights_change_no_bit(self):
        # Each y is the next one's x, and nothing waits between the kernels: a kernel whose weights are constant has
        # read them while the one before still writes its x.
        for columns in (64, 1000, 4096):
            for rows in (1, 5, 40):
                q, scales = qt.quantize_per_channel(self.draws.floats(columns, columns))
                x = self.draws.floats(rows, columns).half()
                scales /= columns ** 0.5
                on_cpu, given = x, x.cuda()
                there = moved((q, scales))
                torch.cuda.synchronize()  # the promise: the copies have ended
                chains = []
                for constant in (True, False):
                    y, chain = given, []
                    for _ in range(6):
                        y = qt.linear_w8(y, *there, constant_weights=constant)
                        chain.append(y)
                    chains.append(chain)
                for promised, other in zip(*chains):
                    on_cpu = qt.linear_w8(on_cpu, q, scales)
                    self.same(promised, on_cpu, (columns, rows))
                    self.same(other, on_cpu, (columns, rows))
                self.assertTrue(torch.isfinite(on_cpu).all() and on_cpu.any(), (columns, rows))

    def test_tables_of_a_binary_layer_that_a_kernel_has_just_written_are_read_after_it(self):
        words, alpha = qt.binarize_weights(self.draws.floats(64, 128, 3, 3), 2)
        layer = qt.BinaryConv2d(words, alpha, torch.tensor([1.0, 0.4]), channels=128, padding=1)
        given = qt.pack_activations(self.draws.floats(2, 128, 9, 9), torch.tensor([0.1, 0.6]))
        expected, there = layer(given), given.cuda()
        self.same(layer(there), expected, "the layer's own tables")
        planned, size = layer._plan(there)
        signs = signs_of(planned.packed.cpu()).cuda()
        written = []  # kept, so that no later one has memory with the tables in it
        torch.cuda.synchronize()
        for _ in range(20):
            written.append(packed_bytes(signs, planned.packed.numel()))
            self.same(torch.ops.qsim.binary_layer(there, written[-1], planned.number, size), expected, "written tables")
        self.assertTrue(torch.equal(written[-1], planned.packed))

    def test_weights_that_are_not_finite_have_a_defined_result(self):
        for bad in (float("nan"), float("inf"), -float("inf")):
            w = self.draws.floats(2, 64)
            w[1, 40] = bad
            values, scales = qt.quantize_per_channel(w.cuda(), 32)
            self.assertTrue(torch.isnan(scales[1, 1]) and torch.isfinite(scales.flatten()[:3]).all())
            self.assertTrue((values[1, 32:] == 0).all())
            values, scales = qt.quantize_to_int4(w.cuda(), 32)
            self.assertTrue(torch.isnan(scales[1, 1]) and (values[1, 16:] == 0).all())

    def test_int8_convolutions_have_the_bytes_of_the_cpu(self):
        for case in range(CASES):
            arguments, options = conv_case(self.draws)
            expected = qt.conv2d_int8(*arguments, **options)
            given = moved(arguments)
            if case % 3 == 1:
                given[0] = given[0].contiguous(memory_format=torch.channels_last)
                given[1] = given[1].contiguous(memory_format=torch.channels_last)
            elif case % 3 == 2:
                given = [spread(a) if a is not None else a for a in given]
            self.same(qt.conv2d_int8(*given, **options), expected, (case, [
                tuple(a.shape) if a is not None else a for a in arguments], options))

    def test_binary_convolutions_have_the_bits_of_the_cpu(self):
        for case in range(CASES):
            arguments, channels, options = binary_case(self.draws)
            x, v, *weights = arguments
            what = (case, [tuple(a.shape) if a is not None else a for a in arguments], options)
            expected = qt.abc_conv2d(*arguments, **options)
            given = moved(arguments)
            if case % 2 == 1:
                given = [spread(a) if a is not None else a for a in given]
            self.same(qt.abc_conv2d(*given, **options), expected, what)
            self.same(qt.abc_conv2d(given[0], v, *given[2:], **options), expected, what)  # v on the CPU
            packed = qt.pack_activations(given[0], given[1])
            self.same(packed, qt.pack_activations(x, v), what)
            self.same(qt.pack_activations(given[0]), qt.pack_activations(x), what)
            if case % 2 == 1:
                packed = spread(packed)
            self.same(qt.binary_conv2d(packed, *given[2:], channels=channels, **options), expected, what)

    def short_calls(self):
        """A call of each operator."""
        w = self.draws.floats(48, 640).cuda()
        x, conv_weights = moved((self.draws.integers(-9, 9, (2, 32, 9, 9), torch.int8),
                                 self.draws.integers(-9, 9, (24, 32, 3, 3), torch.int8)))
        scales = torch.full((24,), 0.01).cuda()
        words, alpha = qt.binarize_weights(self.draws.floats(24, 70, 3, 3), 2)
        picture, v, words, alpha, beta = moved((self.draws.floats(2, 70, 9, 9), torch.tensor([0.1, 0.6]), words, alpha,
                                                torch.tensor([1.0, 0.4])))
        packed = qt.pack_activations(picture, v)
        return {"quantize_per_channel": lambda: qt.quantize_per_channel(w, 64),
                "quantize_to_int4": lambda: qt.quantize_to_int4(w.t(), 0),
                "conv2d_int8": lambda: qt.conv2d_int8(x, conv_weights, scales, padding=1),
                "pack_activations": lambda: qt.pack_activations(picture, v),
                "binary_conv2d": lambda: qt.binary_conv2d(packed, words, alpha, beta, channels=70, padding=1),
                "abc_conv2d": lambda: qt.abc_conv2d(picture, v, words, alpha, beta, padding=1)}

    def test_a_call_is_one_kernel_also_in_graphs_and_compiled(self):
        for name, call in self.short_calls().items():
            expected = call()
            names = kernels_of(call)
            self.assertEqual(len(names), 1, (name, names))
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                found = call()
            for part in found if isinstance(found, (tuple, list)) else (found,):
                part.zero_()
            graph.replay()
            self.same(found, expected, name)
            if hasattr(torch, "compile"):
                torch._dynamo.reset()
                compiled = torch.compile(lambda call=call: call(), backend="aot_eager", fullgraph=True)
                self.same(compiled(), expected, name)
                names = kernels_of(compiled)
                self.assertEqual(len(names), 1, (name, names))

    def test_calls_are_on_the_current_stream(self):
        for name, call in self.short_calls().items():
            expected = call()
            torch.cuda.synchronize()
            stream = torch.cuda.Stream()
            work = torch.randn(4096, 4096, device="cuda")
            with torch.cuda.stream(stream):
                for _ in range(10):
                    work = work @ work * 0.01
                found = call()
            self.assertFalse(stream.query(), (name, "the call waited for the stream"))
            stream.synchronize()
            self.same(found, expected, name)


if __name__ == "__main__":
    unittest.main()
