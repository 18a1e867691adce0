#!/usr/bin/env python3
"""Times INT4 weights that become FP8 before an FP8 product, beside the fused layer, on a GPU.

usage: measure.py BIN, the folder of golden_convert_cuda_check and golden_linear_cuda_check; without the second
the fused layer is left out. PyTorch with CUDA does the FP8 product (torch._scaled_mm: cuBLASLt).
"""
import pathlib
import re
import statistics
import subprocess
import sys

import torch

LAYERS = ((28672, 8192), (8192, 28672))  # input and output features
GROUP = 128
ROWS = (1, 16, 64, 256, 1024, 4096)
RUNS = 15
LAUNCHES = 20


def conversion_us(folder, features, channels):
    """INT4 times scales to E4M3, of all weights."""
    done = subprocess.run([folder / "golden_convert_cuda_check", "bench", "--bytes", str(2 * channels * features),
                           "--only", f"int4 to fp8_e4m3, groups of {GROUP}"],
                          capture_output=True, text=True, check=True)
    return float(re.search(r"([\d.]+) us  copy", done.stdout).group(1))


def fused_us(folder, features, channels, rows):
    """The fused layer, with weights that change before each launch; None where it is not measured."""
    program = folder / "golden_linear_cuda_check"
    if not program.exists():
        return None
    name = f"{features}x{channels} M={rows} fp16 int4 g{GROUP}"
    done = subprocess.run([program, "bench", "--only", name], capture_output=True, text=True, check=True)
    times = re.search(rf"^{name} +[\d.]+ +([\d.]+)", done.stdout, re.MULTILINE)
    return float(times.group(1)) if times else None


def median_us(call):
    """Of one call among others in a CUDA graph. Its operands are larger than the L2 cache."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(LAUNCHES):
            call()
    times = []
    for _ in range(RUNS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1000 / LAUNCHES)
    return statistics.median(times)


def product_us(features, channels, rows):
    """An FP8 product of `rows` tokens, a scale a token, to BF16. cuBLASLt takes multiples of 16 tokens."""
    torch.manual_seed(1)
    padded = (rows + 15) // 16 * 16
    x = torch.randn(padded, features, device="cuda").to(torch.float8_e4m3fn)
    weights = torch.randn(channels, features, device="cuda", dtype=torch.bfloat16).to(torch.float8_e4m3fn).t()
    x_scales = torch.rand(padded, 1, device="cuda")
    weight_scales = torch.ones(1, channels, device="cuda")
    return median_us(lambda: torch._scaled_mm(x, weights, scale_a=x_scales, scale_b=weight_scales,
                                              out_dtype=torch.bfloat16))


def measure(folder, features, channels):
    convert = conversion_us(folder, features, channels)
    print(f"{features} to {channels} features: INT4 to FP8 {convert:.1f} us")
    for rows in ROWS:
        product = product_us(features, channels, rows)
        fused = fused_us(folder, features, channels, rows)
        print(f"{rows:5} rows: FP8 product {product:8.1f} us, with the conversion {convert + product:8.1f} us"
              + ("" if fused is None else f", fused layer {fused:8.1f} us"))


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}; INT4 groups of {GROUP}")
    for layer in LAYERS:
        measure(folder, *layer)


if __name__ == "__main__":
    main()
