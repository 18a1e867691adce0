#!/usr/bin/env python3
"""Times training on a CPU, qsim's layers beside PyTorch's float ones, in turn, and beside what so much work needs at least.

usage: cpu.py [--build DIR] [--rounds N] [--quick] [--figures]
`layer`: 3x3, 64 -> 64 channels, 56x56, batch 4; `vgg8`: a step of VGG-8 on 32 pictures, with loss and SGD. float32, one thread,
processor time, medians. A limit is the longer of two times, measured in the same rounds: as many multiply-adds between registers
(PyTorch's of float32; qsim's of int8 forward, of float32 for gradients), and a copy of the bytes that the work must read and write.
--figures: JSON a line, for bench/run.py.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LEAST_SECONDS = 0.02  # of a measurement


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", help="default: build/release")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--quick", action="store_true", help="small shapes, three rounds; for a test of this program")
    parser.add_argument("--figures", action="store_true")
    arguments = parser.parse_args()
    if arguments.quick and arguments.figures:
        parser.error("--quick gives no figures")
    os.environ.setdefault("QSIM_GOLDEN_LIBRARY", str(arguments.build / "golden/c_interface/libqsim_golden.so"))
    arguments.device = "cpu"
    arguments.shape = (2, 16, 16) if arguments.quick else (4, 64, 56)
    arguments.pictures = 4 if arguments.quick else 32
    arguments.rounds = 3 if arguments.quick else arguments.rounds
    return arguments


if __name__ == "__main__":  # options are told before PyTorch is loaded, which takes seconds
    OPTIONS = parse()
    sys.path += [str(ROOT / folder) for folder in ("python", "models/train", "bench/common")]

import torch  # noqa: E402
from torch import nn  # noqa: E402

from layer_cases import FLOAT, LAYOUTS, OURS, Case, check  # noqa: E402
from quantized_networks import Quantization, make_network  # noqa: E402


class Work:
    """`calls`: by who computes it. Multiply-adds forward and for gradients; `floats`: numbers read or written, each once."""

    def __init__(self, name, calls, forward, gradients, floats):
        self.name, self.calls, self.forward, self.gradients, self.floats = name, calls, forward, gradients, floats
        self.times = {who: [] for who in calls}

    def limit(self, who, rates):
        """Seconds."""
        forward = self.forward / rates["int8" if who == OURS else "float32"]
        return max(forward + self.gradients / rates["float32"], 4 * self.floats / rates["bytes"])


def layer_works(layout, arguments):
    cases = {who: Case(who, layout, "eager", arguments) for who in (FLOAT, OURS)}
    check(cases[OURS], OURS, layout, arguments)
    batch, channels, size = arguments.shape
    weights, pixels = 9 * channels * channels, batch * size * size
    products, tensor = pixels * weights, pixels * channels
    return [Work(f"layer forward, {layout}", {who: case.forward for who, case in cases.items()}, products, 0, 2 * tensor + weights),
            Work(f"layer step, {layout}", {who: case.step for who, case in cases.items()}, products, 2 * products, 4 * tensor + 2 * weights)]


def products_of(model, x):
    """Multiply-adds forward, and for gradients: twice as many, but for that of the pictures."""
    found = []

    def count(layer, _inputs, y):
        found.append(y.numel() * layer.weight[0].numel())

    hooks = [layer.register_forward_hook(count) for layer in model.modules() if isinstance(layer, (nn.Conv2d, nn.Linear))]
    model(x)
    for hook in hooks:
        hook.remove()
    return sum(found), 2 * sum(found) - found[0]


def network_work(layout, arguments):
    memory, calls = LAYOUTS[layout], {}
    draw = torch.Generator().manual_seed(18)
    x = torch.randn(arguments.pictures, 3, 32, 32, generator=draw).to(memory_format=memory)
    labels = torch.randint(10, (arguments.pictures,), generator=draw)
    for who, quantization in ((FLOAT, None), (OURS, Quantization())):
        torch.manual_seed(17)
        model = make_network("vgg8", 10, 32, 0.0, quantization).to(memory_format=memory).train()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
        if quantization is None:
            products, parameters = products_of(model, x), sum(parameter.numel() for parameter in model.parameters())

        def step(model=model, optimizer=optimizer):
            optimizer.zero_grad(set_to_none=True)
            nn.functional.cross_entropy(model(x), labels).backward()
            optimizer.step()

        calls[who] = step
    # Weights and their momenta are read and written, gradients written.
    return Work(f"vgg8 step, {layout}", calls, *products, x.numel() + 5 * parameters)


def seconds_of(call, calls):
    begin = time.process_time()
    for _ in range(calls):
        call()
    return (time.process_time() - begin) / calls


def repeats(call):
    """How many calls make a measurement long enough; they warm up too."""
    call()
    return max(1, int(LEAST_SECONDS / max(seconds_of(call, 1), 1e-6)) + 1)


def measure(works, arguments):
    """Each round: the rates of train_limits, and a time of each work."""
    counts = [{who: repeats(call) for who, call in work.calls.items()} for work in works]
    rates = []
    for _ in range(arguments.rounds):
        done = subprocess.run([arguments.build / "bin/train_limits"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(done.stderr.strip())
        rates.append(json.loads(done.stdout))
        for work, count in zip(works, counts):
            for who, call in work.calls.items():
                work.times[who].append(seconds_of(call, count[who]))
    return rates


def over(these, those):
    return [one / other for one, other in zip(these, those)]


def results(work, rates):
    """By name, a value a round."""
    plain, ours = work.times[FLOAT], work.times[OURS]
    limits = {who: [work.limit(who, rate) for rate in rates] for who in (FLOAT, OURS)}
    return {"pytorch": plain, "qsim": ours, "qsim_limit": limits[OURS], "qsim_over_pytorch": over(ours, plain),
            "pytorch_over_limit": over(plain, limits[FLOAT]), "qsim_over_limit": over(ours, limits[OURS])}


def show(works, rates):
    print(f"{'one thread':30} {'PyTorch ms':>10} {'qsim ms':>9} {'limit ms':>9} {'qsim/PyTorch':>13} {'PyTorch/limit':>14} {'qsim/limit':>11}")
    for work in works:
        found = {name: statistics.median(values) for name, values in results(work, rates).items()}
        print(f"{work.name:30} {1e3 * found['pytorch']:10.2f} {1e3 * found['qsim']:9.2f} {1e3 * found['qsim_limit']:9.2f} "
              f"{found['qsim_over_pytorch']:13.2f} {found['pytorch_over_limit']:14.2f} {found['qsim_over_limit']:11.2f}")
    rate = {name: 1e-9 * statistics.median(rate[name] for rate in rates) for name in ("int8", "float32", "bytes")}
    print(f"limits: {rate['int8']:.0f} G multiply-adds/s of int8 ({rates[0]['instructions'][0]}), {rate['float32']:.0f} of float32 "
          f"({rates[0]['instructions'][1]}), {rate['bytes']:.1f} GB/s read and written; medians of {len(rates)}, PyTorch {torch.__version__}")


def print_figures(works, rates):
    from emit import emit
    from figure import median_figure
    for work in works:
        for name, values in results(work, rates).items():
            is_ratio = "over" in name
            emit(median_figure(f"training/{work.name.replace(', ', '/').replace(' ', '_')}/{name}", values, "1" if is_ratio else "s",
                               "ratio" if is_ratio else "time"))


def main(arguments):
    torch.set_num_threads(1)
    works = [work for layout in LAYOUTS for work in (*layer_works(layout, arguments), network_work(layout, arguments))]
    rates = measure(works, arguments)
    (print_figures if arguments.figures else show)(works, rates)


if __name__ == "__main__":
    main(OPTIONS)
