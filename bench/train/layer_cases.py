"""The convolution that layer.py measures: who computes it, in which layout, and how it is launched."""
import torch
from torch import nn

import measuring
from fake_quantization import FakeConv2d

LAYOUTS = {"NCHW": torch.contiguous_format, "channels last": torch.channels_last}
FLOAT, FAKE, OURS = "PyTorch", "PyTorch, fake quantization", "qsim"
# By name: who computes, and the class's name in qsim.torch, or a class.
SUBJECTS = {
    FLOAT: nn.Conv2d,
    FAKE: FakeConv2d,
    "twin": "TorchConv2d",
    OURS: "QuantizedConv2d",
    "twin with ReLU": "TorchConv2dReLU",
    "qsim with ReLU": "QuantizedConv2dReLU",
}
PEERS = (FLOAT, FAKE)  # what cuDNN's search may change, and qsim has no part in
COMPILED = (FLOAT, FAKE, OURS)  # by torch.compile too, which takes seconds for each
# A result may be so far from float convolution's, relative to its length: 8 bits give less than 0.02.
MOST_APART = 0.1
MOST_APART_DX = 0.02


def module_of(subject, channels, device):
    """With the same weights for each subject."""
    kind = SUBJECTS[subject]
    if isinstance(kind, str):
        import qsim.torch  # the peers do without it
        kind = getattr(qsim.torch, kind)
    torch.manual_seed(17)
    weights = nn.Conv2d(channels, channels, 3, padding=1).state_dict()
    module = kind(channels, channels, 3, padding=1)
    module.load_state_dict(weights, strict=False)
    return module.to(device)


class Case:
    """One subject with tensors of its own."""

    def __init__(self, subject, layout, how, arguments):
        self.key = f"{subject}|{layout}|{how}"
        self.on_gpu = arguments.device == "cuda"
        batch, channels, size = arguments.shape
        module = module_of(subject, channels, arguments.device).to(memory_format=LAYOUTS[layout])
        self.parameters = list(module.parameters())
        self.module = measuring.compiled(module) if how == "compiled" else module
        draw = torch.Generator(arguments.device).manual_seed(18)
        self.x = torch.randn(batch, channels, size, size, device=arguments.device, generator=draw).to(
            memory_format=LAYOUTS[layout]).requires_grad_()
        y_layout = LAYOUTS["NCHW"] if layout == "NCHW" else LAYOUTS["channels last"]
        self.gradient = torch.randn(batch, channels, size, size, device=arguments.device, generator=draw).to(
            memory_format=y_layout)
        self.works = None

    def forward(self):
        return self.module(self.x)

    def step(self):
        self.x.grad = None
        for parameter in self.parameters:
            parameter.grad = None
        self.module(self.x).backward(self.gradient)

    def kept_bytes(self):
        """Of the tensors that forward keeps for backward, x among them if it is kept, without parameters; each memory once."""
        own = {parameter.data_ptr() for parameter in self.parameters}
        kept = {}

        def keep(tensor):
            if tensor.data_ptr() not in own:
                kept[tensor.data_ptr()] = tensor.numel() * tensor.element_size()
            # Nothing: a result that its own graph holds by Python would never be freed. Backward does not run.

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda _: None):
            y = self.forward()
        del y
        return sum(kept.values())

    def prepare(self, how):
        """What to time, and how many calls at once."""
        launch = measuring.captured if how == "graph" else lambda work: work
        works = {"forward": launch(self.forward), "step": launch(self.step)}
        self.works = {name: (work, measuring.calls_of(work, self.on_gpu)) for name, work in works.items()}

    def times(self):
        return {name: measuring.elapsed_ms(work, calls, self.on_gpu) for name, (work, calls) in self.works.items()}


def far(found, expected):
    """The length of the difference over that of what is expected."""
    return float((found.double() - expected.double()).norm() / expected.double().norm())


def check(case, subject, layout, arguments):
    """That the subject computes what float convolution does, but for quantization: else its time means nothing."""
    expected = Case(FLOAT, layout, "eager", arguments)
    for one in (case, expected):
        one.step()
    relu = subject.endswith("ReLU")
    wanted = expected.forward().detach()
    y = far(case.forward().detach(), wanted.relu() if relu else wanted)
    dx = 0.0 if relu else far(case.x.grad, expected.x.grad)
    if not (y <= MOST_APART and dx <= MOST_APART_DX):
        raise ValueError(f"{case.key}: y is {y:.3f} of its length from float convolution's, dx {dx:.3f}; "
                         f"allowed: {MOST_APART}, {MOST_APART_DX}")
    return y, dx
