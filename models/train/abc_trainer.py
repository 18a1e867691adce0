"""One network in training on one device, beside others: its optimizer, its teacher, and their CUDA graphs."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F

from abc_network import CLASSES, AbcNet
from augment import Recipe

SGD_MOMENTUM = 0.9
ADAM_MOMENTS = (0.9, 0.999)
SLOW = 0.1  # v and beta act on a whole layer: their share of the learning rate
TEACHER_SHARE = 0.5  # of the loss
TEMPERATURE = 3.0
WARM_UPS = 3  # steps that are taken back
RECIPE = Recipe("abc", cutout_px=0, dropout=0.0, peak_learning_rate=0.1, weight_decay=2e-4)


@dataclass(frozen=True)
class Method:
    """How a network is trained: in float by SGD with Nesterov momentum, with bases by Adam and with a teacher."""

    name: str
    bases: int  # 0: in float
    peak: float  # learning rate


FLOAT = Method("float", 0, 0.1)


def captured(work, stream, state):
    """`work` as a CUDA graph of the stream; the tensors of `state` stay as they are."""
    kept = [t.detach().clone() for t in state]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(WARM_UPS):
            work()
        with torch.no_grad():
            for tensor, value in zip(state, kept):
                tensor.copy_(value)
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            work()
    return graph


def replay(graph, stream):
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        graph.replay()


class Trainer:
    """One network with its optimizer; on a GPU a training step is a CUDA graph on a stream of its own. All parameters
    are in one array, so that the optimizer is a few kernels."""

    def __init__(self, method, images, labels, rate, seed, initial=None, teacher=None):
        """`rate`: the share of the peak learning rate. `initial`: the state of a network whose layers this one begins
        with. `teacher`: logits of these images."""
        torch.manual_seed(seed)
        self.method, self.bases, self.teacher = method, method.bases, teacher
        self.device = images.device
        self.images, self.labels, self.rate = images, labels, rate
        self.model = AbcNet(method.bases).to(self.device)
        if initial is not None:
            self.model.load_state_dict(initial, strict=False)  # it has no quantizers
        named = list(self.model.named_parameters())
        self.parameters = [p for _, p in named]
        self.flat = torch.cat([p.detach().flatten() for p in self.parameters])
        for p, part in zip(self.parameters, self.flat.split([p.numel() for p in self.parameters])):
            p.data = part.view_as(p)
        self.scales = torch.cat([torch.full_like(p, SLOW if ".v" in n or ".beta" in n else 1.0).flatten() for n, p in named])
        self.scales = self.scales.detach() * method.peak
        self.decays = torch.cat([torch.full_like(p, RECIPE.weight_decay if p.dim() > 1 else 0.0).flatten() for p in self.parameters]).detach()
        self.moments = torch.zeros_like(self.flat)
        self.squares = torch.zeros_like(self.flat)
        self.steps = torch.zeros((), device=self.device)
        self.loss = torch.zeros((), device=self.device)  # a mean over about 100 steps
        self.graph = None
        if self.device.type == "cuda":
            self.stream = torch.cuda.Stream()
            state = (*self.model.state_dict().values(), self.moments, self.squares, self.steps, self.loss)
            self.graph = captured(self.compute, self.stream, state)

    def compute(self):
        """Forward, backward, and one step of the optimizer."""
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.device.type == "cuda", cache_enabled=False):
            logits = self.model(self.images).float()
        loss = F.cross_entropy(logits, self.labels, label_smoothing=RECIPE.label_smoothing)
        gradients = torch.autograd.grad(self.with_teacher(loss, logits), self.parameters)
        with torch.no_grad():
            self.update(torch.cat([g.reshape(-1).float() for g in gradients]))
            self.loss.lerp_(loss, 0.01)

    def with_teacher(self, loss, logits):
        """The loss, or a mean of it and the distance from the teacher (Hinton et al. 2015)."""
        if not self.bases:
            return loss
        ours, theirs = (F.log_softmax(x / TEMPERATURE, 1) for x in (logits, self.teacher))
        distance = F.kl_div(ours, theirs, reduction="batchmean", log_target=True) * TEMPERATURE**2
        return (1 - TEACHER_SHARE) * loss + TEACHER_SHARE * distance

    def update(self, gradient):
        """Adam with decoupled decay, or SGD with Nesterov momentum."""
        if not self.bases:
            gradient = gradient + self.decays * self.flat
            self.moments.mul_(SGD_MOMENTUM).add_(gradient)
            self.flat.sub_((gradient + SGD_MOMENTUM * self.moments) * (self.rate * self.scales))
            return
        first, second = ADAM_MOMENTS
        self.steps.add_(1)
        self.moments.lerp_(gradient, 1 - first)
        self.squares.mul_(second).addcmul_(gradient, gradient, value=1 - second)
        mean = self.moments / (1 - first**self.steps)
        square = self.squares / (1 - second**self.steps)
        self.flat.sub_((mean / (square.sqrt() + 1e-8) + self.decays * self.flat) * (self.rate * self.scales))

    def step(self):
        if self.graph is None:
            self.compute()
            return
        replay(self.graph, self.stream)

    @torch.no_grad()
    def top1(self, images, labels):
        self.model.eval()
        right = sum(int((self.model(x).argmax(1) == y).sum()) for x, y in zip(images.split(500), labels.split(500)))
        self.model.train()
        return right / len(labels)


class Teacher:
    """The logits of a trained network on the images of a step."""

    def __init__(self, state, images):
        self.images = images
        self.model = AbcNet(0).to(images.device).eval()
        self.model.load_state_dict(state)
        self.logits = torch.zeros(len(images), CLASSES, device=images.device)
        self.graph = None
        if images.is_cuda:
            self.stream = torch.cuda.Stream()
            self.graph = captured(self.compute, self.stream, ())

    @torch.no_grad()
    def compute(self):
        kind = self.images.device.type
        with torch.autocast(kind, dtype=torch.bfloat16, enabled=kind == "cuda", cache_enabled=False):
            self.logits.copy_(self.model(self.images))

    def step(self):
        if self.graph is None:
            self.compute()
            return
        replay(self.graph, self.stream)
        torch.cuda.current_stream().wait_stream(self.stream)
