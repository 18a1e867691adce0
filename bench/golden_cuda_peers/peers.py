#!/usr/bin/env python3
"""What the CUDA golden is measured against: cuDNN, cuBLASLt and PyTorch on the same GPU.

usage: peers.py layers [--batch 32] | sizes [--batch 1] | linear | network [--network vgg16] --batch N [--mode eager|default|max-autotune]
Random data, CUDA events around one CUDA graph that holds as many calls as take a millisecond (so that no
launch is counted, as for our own kernels), medians of 11 measurements, after a warm-up. `linear` has cold
caches: sets of buffers take turns, and between two uses of one at least three times the L2 cache is touched.
`_int_mm` takes what cuBLASLt's heuristic chooses. One JSON object a line on stdout.
Needs torch with CUDA; `network` also torchvision.
"""
import argparse
import json
import statistics
import sys

import torch

# VGG-16's convolutions by the names of models/workloads/vgg16.yaml: input and output channels, height
# and width. All 3x3, stride 1, pad 1. Layers of one shape are measured once.
LAYERS = (
    ("conv1", 3, 64, 224), ("conv2", 64, 64, 224),
    ("conv3", 64, 128, 112), ("conv4", 128, 128, 112),
    ("conv5", 128, 256, 56), ("conv6", 256, 256, 56), ("conv7", 256, 256, 56),
    ("conv8", 256, 512, 28), ("conv9", 512, 512, 28), ("conv10", 512, 512, 28),
    ("conv11", 512, 512, 14), ("conv12", 512, 512, 14), ("conv13", 512, 512, 14),
)
MIDDLE = LAYERS[1:]
# The layer that `qsim golden abc --sizes` times: 3x3, 64 to 64 channels, pad 1.
SIZES = (8, 16, 32, 64, 128, 256, 512)
# The linear layers of `golden_linear_cuda_check bench` and `golden_int8_linear_cuda_check bench`: input
# features, output features, rows of x.
LINEAR = (
    (8192, 28672, (1, 2, 4, 8, 16, 32, 64, 256)), (4096, 14336, (1,)), (8192, 8192, (1,)), (4096, 4096, (1, 16)),
    (2048, 8192, (1,)), (1024, 4096, (1,)), (512, 2048, (1,)), (28672, 8192, (1, 16)),
)
LEAST_INT8_ROWS = 17  # of _int_mm
LEAST_COLD_LAUNCHES = 32  # in a graph, as for ours
MEASUREMENTS = 11
LEAST_MS = 1.0
MOST_CALLS = 1000  # in a graph, as for ours


def elapsed_ms(work):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    work()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


def captured(works, repeats):
    """`repeats` turns of `works` as a CUDA graph's replay; warmed up on a stream of its own, as capturing wants."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            works[0]()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(repeats):
            for work in works:
                work()
    return graph.replay


def median_seconds(work):
    """Of one execution of `work`."""
    replay = captured([work], 1)
    for _ in range(3):
        replay()
    torch.cuda.synchronize()
    repeats = min(MOST_CALLS, int(LEAST_MS / max(elapsed_ms(replay), 1e-3)) + 1)
    several = captured([work], repeats)
    several()
    times = [elapsed_ms(several) / repeats for _ in range(MEASUREMENTS)]
    return statistics.median(times) / 1e3


def cold_sets(set_bytes):
    """How many sets of buffers of so many bytes need to take turns so that each is cold."""
    cache = torch.cuda.get_device_properties(0).L2_cache_size
    return max(2, -(-3 * cache // set_bytes) + 1)


def cold_seconds(works):
    """Of one call, where each of `works` has buffers of its own."""
    repeats = -(-LEAST_COLD_LAUNCHES // len(works))
    replay = captured(works, repeats)
    for _ in range(3):
        replay()
    times = [elapsed_ms(replay) / (repeats * len(works)) for _ in range(MEASUREMENTS)]
    return statistics.median(times) / 1e3


def fastest(candidates, measure=median_seconds):
    """(seconds, name) of the fastest; a candidate that this PyTorch lacks is said on stderr."""
    times = []
    for name, work in candidates:
        try:
            times.append((measure(work), name))
        except (RuntimeError, AttributeError, TypeError) as error:
            print(f"peers.py: {name}: {str(error).splitlines()[0]}", file=sys.stderr)
        torch.cuda.empty_cache()
    if not times:
        raise SystemExit("peers.py: no candidate ran")
    return min(times)


def emit(**row):
    print(json.dumps(row), flush=True)


def emit_layer(peer, layer, batch, ops, timed):
    seconds, how = timed
    emit(peer=peer, layer=layer, batch=batch, seconds=seconds, how=how, tops=ops / seconds / 1e12)


def cudnn_fp16(batch, inputs, outputs, size):
    """Convolution, bias and ReLU on fp16 NHWC: PyTorch's two ways to cuDNN."""
    def half(*shape):
        return torch.randn(*shape, device="cuda", dtype=torch.half)

    x = half(batch, inputs, size, size).to(memory_format=torch.channels_last)
    weight = (half(outputs, inputs, 3, 3) / (9 * inputs) ** 0.5).to(memory_format=torch.channels_last)
    bias = half(outputs)
    return fastest((
        ("conv2d, relu_", lambda: torch.nn.functional.conv2d(x, weight, bias, padding=1).relu_()),
        ("cudnn_convolution_relu", lambda: torch.cudnn_convolution_relu(
            x, weight, bias, (1, 1), (1, 1), (1, 1), 1)),
    ))


def cublaslt_int8(batch, inputs, outputs, size):
    """The product alone, int32 out: neither im2col nor requantization is counted."""
    def int8(rows, columns):
        return torch.randint(-128, 128, (rows, columns), device="cuda", dtype=torch.int8)

    a = int8(batch * size * size, 9 * inputs)
    row_major = int8(9 * inputs, outputs)
    column_major = row_major.t().contiguous().t()
    return fastest((
        ("_int_mm, weights row-major", lambda: torch._int_mm(a, row_major)),
        ("_int_mm, weights column-major", lambda: torch._int_mm(a, column_major)),
    ))


def run_layers(batch):
    measured = {}
    for layer, *shape in MIDDLE:
        ops = 2 * 9 * batch * shape[0] * shape[1] * shape[2] ** 2
        for peer, measure in (("cudnn_fp16", cudnn_fp16), ("cublaslt_int8", cublaslt_int8)):
            key = (peer, *shape)
            if key not in measured:
                measured[key] = measure(batch, *shape)
            emit_layer(peer, layer, batch, ops, measured[key])


def run_sizes(batch):
    for size in SIZES:
        ops = 2 * 9 * batch * 64 * 64 * size**2
        emit_layer("cudnn_fp16", f"{size}x{size}", batch, ops, cudnn_fp16(batch, 64, 64, size))


def linear_layer(rows, inputs, outputs, element, product):
    """(seconds, name) of y = x W^T with cold caches, W as [N, K] and as [K, N]: the faster one."""
    def random(*shape):
        if element == torch.int8:
            return torch.randint(-127, 128, shape, device="cuda", dtype=element)
        return torch.randn(*shape, device="cuda", dtype=element)

    size = torch.empty((), dtype=element).element_size()
    sets = cold_sets(size * (inputs * outputs + rows * (inputs + outputs)))
    xs = [random(rows, inputs) for _ in range(sets)]
    by_channel = [random(outputs, inputs).t() for _ in range(sets)]
    by_feature = [w.contiguous() for w in by_channel]
    ys = [product(x, w) for x, w in zip(xs, by_channel)]

    def calls(weights):
        return [lambda x=x, w=w, y=y: product(x, w, out=y) for x, w, y in zip(xs, weights, ys)]

    return fastest((("W as [N, K]", calls(by_channel)), ("W as [K, N]", calls(by_feature))), cold_seconds)


def run_linear():
    for inputs, outputs, all_rows in LINEAR:
        for rows in all_rows:
            ops = 2 * rows * inputs * outputs
            layer = f"{inputs}x{outputs} M={rows}"
            emit_layer("cublas_fp16", layer, rows, ops,
                       linear_layer(rows, inputs, outputs, torch.half, torch.matmul))
            if rows >= LEAST_INT8_ROWS:
                emit_layer("cublaslt_int8", layer, rows, ops,
                           linear_layer(rows, inputs, outputs, torch.int8, torch._int_mm))


def run_network(name, batch, mode):
    from torchvision import models  # the other commands do without torchvision

    network = getattr(models, name)(weights=None).half().cuda().eval().to(memory_format=torch.channels_last)
    x = torch.randn(batch, 3, 224, 224, device="cuda", dtype=torch.half)
    x = x.to(memory_format=torch.channels_last)
    # Its CUDA graph is made here, as for eager mode.
    modes = {"default": {}, "max-autotune": {"mode": "max-autotune-no-cudagraphs"}}
    if mode in modes:
        network = torch.compile(network, dynamic=False, **modes[mode])
    with torch.inference_mode():
        seconds = median_seconds(lambda: network(x))
    emit(peer="pytorch_fp16", layer=name, batch=batch, seconds=seconds, how=mode,
         images_per_second=batch / seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("layers", "sizes", "linear", "network"))
    parser.add_argument("--network", choices=("vgg16", "resnet18", "resnet50", "mobilenet_v2"), default="vgg16")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--mode", choices=("eager", "default", "max-autotune"), default="eager")
    args = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("peers.py: PyTorch sees no GPU")
    torch.manual_seed(7)
    torch.backends.cudnn.benchmark = True
    if args.what == "layers":
        run_layers(args.batch)
    elif args.what == "sizes":
        run_sizes(args.batch)
    elif args.what == "linear":
        run_linear()
    else:
        run_network(args.network, args.batch, args.mode)


if __name__ == "__main__":
    main()
