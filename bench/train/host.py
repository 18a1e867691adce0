#!/usr/bin/env python3
"""Times what the host does for layers and for a chain in training: with tiny tensors, so that a device has next to nothing to do.

usage: host.py [--runs N] [--calls N] [--normalization] [--only TEXT] [--profile forward|step] [--json FILE]
Microseconds a call until it returns, which on a GPU is before its work is done: medians of N runs. `forward` is a module in
training mode, `step` forward and backward; of VGG-16's chain also loss and SGD. On a CPU the little arithmetic is in them. Needs PyTorch.
"""
import argparse
import cProfile
import json
import pathlib
import pstats
import statistics
import time

import torch
from torch import nn

import measuring
import network_cases

SCHEMA = "qsim.bench.train.host/1"
CHANNELS, SIZE = 16, 4
OPTIONS = {"learned": {"scale": "learned"}, "zero points": {"zero_points": True}, "one scale": {"per_channel": False}}


def modules():
    """By name: makes a module, and the shape of its input."""
    import qsim.torch as qt
    picture = (1, CHANNELS, SIZE, SIZE)
    found = {name: (lambda kind=kind: kind(CHANNELS, CHANNELS, 3, padding=1), picture)
             for name, kind in (("PyTorch Conv2d", nn.Conv2d), ("QuantizedConv2d", qt.QuantizedConv2d),
                                ("QuantizedConv2dReLU", qt.QuantizedConv2dReLU))}
    for name, options in OPTIONS.items():
        found[f"QuantizedConv2d, {name}"] = (lambda options=options: qt.QuantizedConv2d(CHANNELS, CHANNELS, 3, padding=1, **options),
                                             picture)
    found["PyTorch Linear"] = (lambda: nn.Linear(CHANNELS, CHANNELS), (1, CHANNELS))
    found["QuantizedLinear"] = (lambda: qt.QuantizedLinear(CHANNELS, CHANNELS), (1, CHANNELS))
    return found


def layer_works(make, shape, device):
    """forward and step of a layer."""
    module = make().to(device)
    x = torch.randn(shape, device=device, requires_grad=True)
    tensors = [x, *module.parameters()]
    gradient = torch.ones_like(module(x))

    def step():
        for tensor in tensors:
            tensor.grad = None
        module(x).backward(gradient)

    return {"forward": lambda: module(x), "step": step}


def normalized(layers):
    """The layers with a BatchNorm2d after each convolution."""
    found = []
    for layer in layers:
        found.append(layer)
        if isinstance(layer, nn.Conv2d):
            found.append(nn.BatchNorm2d(layer.out_channels).to(layer.weight.device))
    return found


def chain_works(subject, with_norm, device):
    """forward and step of VGG-16 with a 16th of its channels, for one picture of 32x32."""
    arguments = argparse.Namespace(device=device, batch=1, size=32, classes=10, width=16)
    if with_norm:
        import qsim.torch as qt
        layers = normalized(network_cases.layers(arguments))
        model = (qt.QuantizedSequential(*layers) if subject == network_cases.OURS else nn.Sequential(*layers)).to(device)
        arguments.batch = 2  # statistics of one value are refused
        case = network_cases.Case(subject, "channels last", "eager", "plain SGD", arguments)
        case.model = model.to(memory_format=torch.channels_last).train()
        case.optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, foreach=device == "cuda")
    else:
        case = network_cases.Case(subject, "channels last", "eager", "plain SGD", arguments)
    return {"forward": lambda: case.model(case.x), "step": case.step}


def works_of(device, with_norm):
    """By name of a row: what makes its works."""
    found = {name: (lambda make=make, shape=shape: layer_works(make, shape, device)) for name, (make, shape) in modules().items()}
    for subject in (network_cases.TF32, network_cases.OURS):
        for norm in (False, True) if with_norm else (False,):
            name = f"VGG-16, {subject}{', normalization' if norm else ''}"
            found[name] = lambda subject=subject, norm=norm: chain_works(subject, norm, device)
    return found


def microseconds(work, calls):
    """Of one call until it returns; the device has done all that came before."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(calls):
        work()
    return 1e6 * (time.perf_counter() - begin) / calls


def measured(work, arguments, is_chain):
    calls = max(arguments.calls // 10, 1) if is_chain else arguments.calls
    for _ in range(measuring.WARM_UP):
        microseconds(work, calls)
    return statistics.median(microseconds(work, calls) for _ in range(arguments.runs))


def profile(work, calls):
    """Prints the functions that take the most."""
    microseconds(work, calls)
    profiler = cProfile.Profile()
    profiler.enable()
    microseconds(work, calls)
    profiler.disable()
    pstats.Stats(profiler).sort_stats("tottime").print_stats(30)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--calls", type=int, default=50, help="of a run; of a chain a tenth; default: %(default)s")
    parser.add_argument("--normalization", action="store_true", help="the chain with BatchNorm2d too")
    parser.add_argument("--only", default="", help="rows whose name has this")
    parser.add_argument("--profile", choices=("forward", "step"), help="where the time of each row goes")
    parser.add_argument("--json", type=pathlib.Path)
    return parser.parse_args()


def main():
    arguments = parse()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_num_threads(1)
    rows = []
    for name, make in works_of(device, arguments.normalization).items():
        if arguments.only not in name:
            continue
        works = make()
        if arguments.profile:
            print(name)
            profile(works[arguments.profile], arguments.calls)
            continue
        is_chain = name.startswith("VGG")
        row = {"name": name, **{f"{key}_us": measured(work, arguments, is_chain) for key, work in works.items()}}
        rows.append(row)
        print(f"{name:40} forward {row['forward_us']:9.1f} us   step {row['step_us']:9.1f} us", flush=True)
    if arguments.json:
        result = {"schema": SCHEMA, "machine": measuring.machine(), "runs": arguments.runs, "calls": arguments.calls, "rows": rows}
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
