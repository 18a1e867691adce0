"""The layers of torchvision's networks as it runs them on a 224 x 224 picture, one line each: what the workloads of
models/networks must have. Prints them; --compare FILE compares them with that file instead (exit code 1: they differ).

usage: shapes.py [--compare FILE]     needs python3-torchvision; exit code 77, with words, where it is absent
"""
import sys
import unittest.mock

NETWORKS = ["mobilenet_v2", "resnet18", "resnet50", "squeezenet1_1", "vgg11", "vgg13", "vgg16", "vgg19"]


def pair(value):
    return tuple(value) if isinstance(value, tuple) else (value, value)


def line_of(module, output):
    """One layer's line, and its multiply-adds. Nothing for a layer that changes no shape."""
    from torch import nn
    shape = list(output.shape[1:])
    ofmap = "x".join(str(n) for n in (shape[1:] + shape[:1] if len(shape) == 3 else [1, 1] + shape))
    if isinstance(module, nn.Conv2d):
        kernel, stride, pad = pair(module.kernel_size), pair(module.stride), pair(module.padding)
        taps = module.in_channels // module.groups * kernel[0] * kernel[1]
        return (f"conv {module.in_channels} {module.out_channels} kernel {kernel[0]}x{kernel[1]} stride "
                f"{stride[0]}x{stride[1]} pad {pad[0]}x{pad[1]} groups {module.groups} to {ofmap}",
                taps * output.numel())
    if isinstance(module, nn.Linear):
        return f"linear {module.in_features} {module.out_features}", module.in_features * module.out_features
    if isinstance(module, nn.MaxPool2d):
        kernel, stride, pad = pair(module.kernel_size), pair(module.stride), pair(module.padding)
        return (f"max_pool kernel {kernel[0]}x{kernel[1]} stride {stride[0]}x{stride[1]} pad {pad[0]}x{pad[1]} to "
                f"{ofmap}", 0)
    return None, 0


def average_line(picture, output):
    """Nothing for an average over one pixel each, which VGG has."""
    if picture.shape == output.shape:
        return None
    return f"average_pool {picture.shape[2]}x{picture.shape[3]} to 1x1x{output.shape[1]}"


def lines_of(name):
    """The sorted lines of one network: layers that run at the same depth have no order. The first has the sums."""
    import torch
    from torchvision import models
    network = getattr(models, name)(weights=None).eval()
    lines, macs = [], []

    def record(module, _, output):
        line, count = line_of(module, output)
        lines.append(line)
        macs.append(count)

    def averaged(picture, size):  # mobilenet_v2 calls the function, others through a module
        output = average(picture, size)
        lines.append(average_line(picture, output))
        return output

    for module in network.modules():
        module.register_forward_hook(record)
    average = torch.nn.functional.adaptive_avg_pool2d
    with torch.no_grad(), unittest.mock.patch("torch.nn.functional.adaptive_avg_pool2d", averaged):
        network(torch.zeros(1, 3, 224, 224))
    lines = [line for line in lines if line]
    parameters = sum(p.numel() for p in network.parameters())
    return [f"parameters {parameters} macs {sum(macs)}"] + sorted(lines)


def table():
    return "".join(f"{name} {line}\n" for name in NETWORKS for line in lines_of(name))


def main(arguments):
    try:
        import torchvision
    except ImportError:
        print("skipped: there is no torchvision (Debian's python3-torchvision)")
        return 77
    found = table()
    if not arguments:
        print(found, end="")
        return 0
    with open(arguments[1], encoding="utf-8") as file:
        expected = file.read()
    print(f"torchvision {torchvision.__version__}: {found.count(chr(10))} lines, "
          f"{'equal' if found == expected else 'which differ from ' + arguments[1]}")
    return 0 if found == expected else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
