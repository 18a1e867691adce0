"""VGG-16 in training as network.py measures it: the network, who computes it, in which layout, with which optimizer."""
import contextlib

import torch
from torch import nn

import measuring
from fake_quantization import fake
from layer_cases import LAYOUTS

# Channels of VGG-16's convolutions; "pool" halves height and width.
VGG16 = (64, 64, "pool", 128, 128, "pool", 256, 256, 256, "pool", 512, 512, 512, "pool", 512, 512, 512, "pool")
PLAIN_AMP, FAKE_AMP, TF32, OURS = "PyTorch, AMP", "PyTorch, fake quantization, AMP", "PyTorch, TF32", "qsim"
SUBJECTS = (PLAIN_AMP, FAKE_AMP, TF32, OURS)
MOMENTA = {"plain SGD": 0.0, "momentum": 0.9}


def layers(arguments):
    """VGG-16 for pictures of so many pixels; `width` divides its channels, for a test."""
    channels, size, found = 3, arguments.size, []
    for item in VGG16:
        if item == "pool":
            found.append(nn.MaxPool2d(2))
            size //= 2
        else:
            found += [nn.Conv2d(channels, item // arguments.width, 3, padding=1, device=arguments.device), nn.ReLU()]
            channels = item // arguments.width
    found.append(nn.Flatten())
    inputs, hidden = channels * size * size, 4096 // arguments.width
    for outputs in (hidden, hidden, arguments.classes):
        found += [nn.Linear(inputs, outputs, device=arguments.device), nn.ReLU()]
        inputs = outputs
    return found[:-1]


def network(subject, arguments):
    torch.manual_seed(17)
    plain = nn.Sequential(*layers(arguments))
    for layer in plain:
        if hasattr(layer, "weight"):  # PyTorch's own start makes activations vanish with depth
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            nn.init.zeros_(layer.bias)
    if subject == FAKE_AMP:
        return fake(plain)
    if subject == OURS:
        import qsim.torch  # the peers do without it
        return qsim.torch.QuantizedSequential(*plain)
    return plain


class Case:
    """One subject with a network, an optimizer and pictures of its own."""

    def __init__(self, subject, layout, how, optimizer, arguments):
        self.key = f"{subject}|{layout}|{how}|{optimizer}"
        self.on_gpu = arguments.device == "cuda"
        self.amp = subject in (PLAIN_AMP, FAKE_AMP)
        model = network(subject, arguments).to(arguments.device, memory_format=LAYOUTS[layout]).train()
        self.optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=MOMENTA[optimizer], foreach=self.on_gpu)
        self.model = measuring.compiled(model) if how == "compiled" else model
        draw = torch.Generator(arguments.device).manual_seed(18)
        shape = (arguments.batch, 3, arguments.size, arguments.size)
        self.x = torch.randn(shape, device=arguments.device, generator=draw).to(memory_format=LAYOUTS[layout])
        self.labels = torch.randint(arguments.classes, (arguments.batch,), device=arguments.device, generator=draw)
        self.loss = torch.zeros((), device=arguments.device)
        self.work, self.calls = None, 1

    def autocast(self):
        if not self.amp:
            return contextlib.nullcontext()
        return torch.autocast("cuda" if self.on_gpu else "cpu", dtype=torch.bfloat16)

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        with self.autocast():
            loss = nn.functional.cross_entropy(self.model(self.x).float(), self.labels)
        loss.backward()
        self.optimizer.step()
        self.loss.copy_(loss.detach())

    def prepare(self, how):
        self.step()
        first = float(self.loss)
        self.work = measuring.captured(self.step) if how == "graph" else self.step
        self.calls = measuring.calls_of(self.work, self.on_gpu)
        for _ in range(5):
            self.work()
        last = float(self.loss)
        if not last < 1.5 * first:  # NaN too
            raise ValueError(f"{self.key}: the loss was {first:.4f} and is {last:.4f} after steps on the same pictures")
        return first, last

    def time(self):
        return measuring.elapsed_ms(self.work, self.calls, self.on_gpu)
