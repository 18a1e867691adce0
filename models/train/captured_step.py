"""One step of training: forward, backward, SGD, averaged weights. On a GPU it is captured once and is then one CUDA graph."""

from __future__ import annotations

import copy
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from augment import Recipe
from run_lane import Lane

MOMENTUM = 0.9
WARM_UP_STEPS = 3  # before a step is captured, of a process


def times(tensors: list[Tensor], factor: Tensor) -> Any:
    """For torch._foreach_mul: PyTorch 1.13 knows no single tensor there, which takes one kernel in place of many."""
    return factor if hasattr(torch.ops.aten._foreach_mul_, "Tensor") else [factor] * len(tensors)


class Descent:
    """SGD with Nesterov's momentum; weight decay on matrices and kernels. The rate is a tensor, so that a graph can read it."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.parameters: list[Tensor] = list(model.parameters())
        self.is_decayed = [parameter.dim() > 1 for parameter in self.parameters]
        self.decay = decay
        self.momenta = [torch.zeros_like(parameter) for parameter in self.parameters]
        self.negative_rate = torch.zeros((), device=self.parameters[0].device)

    @torch.no_grad()
    def step(self) -> None:
        gradients = [parameter.grad for parameter in self.parameters if parameter.grad is not None]
        if len(gradients) < len(self.parameters):
            raise RuntimeError("a parameter has no gradient")
        decayed = [tensor for tensor, chosen in zip(self.parameters, self.is_decayed) if chosen]
        torch._foreach_add_([g for g, chosen in zip(gradients, self.is_decayed) if chosen], decayed, alpha=self.decay)
        torch._foreach_mul_(self.momenta, MOMENTUM)
        torch._foreach_add_(self.momenta, gradients)
        torch._foreach_add_(gradients, self.momenta, alpha=MOMENTUM)
        torch._foreach_mul_(gradients, times(gradients, self.negative_rate))
        torch._foreach_add_(self.parameters, gradients)


class Averaged:
    """Moving averages of a network's parameters and batch statistics; of all else in its state the last.

    The first weights are forgotten: the share of the past grows with the step.
    """

    def __init__(self, model: nn.Module, share: float) -> None:
        self.model, self.most = model, share
        self.state = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
        parameters = {name for name, _ in model.named_parameters()}
        self.names = [name for name in self.state if name in parameters or name.endswith(("running_mean", "running_var"))]
        last = model.state_dict()
        self.own, self.last = [self.state[name] for name in self.names], [last[name] for name in self.names]
        self.share = torch.zeros((), device=self.own[0].device)

    def set_step(self, step: int) -> None:
        self.share.fill_(min(self.most, (1 + step) / (10 + step)) if self.most else 0.0)

    @torch.no_grad()
    def update(self) -> None:
        torch._foreach_mul_(self.own, times(self.own, self.share))
        torch._foreach_add_(self.own, torch._foreach_mul(self.last, times(self.last, 1 - self.share)))

    def full_state(self) -> dict[str, Tensor]:
        last = self.model.state_dict()
        for name in set(self.state) - set(self.names):
            self.state[name].copy_(last[name])
        return self.state

    def network(self) -> nn.Module:
        """A new one, in eval mode."""
        found = copy.deepcopy(self.model)
        found.load_state_dict(self.full_state())
        return found.eval()


class Step:
    """A network in training, and the memory that a step reads. `graph`: capture it, on a GPU, in its lane."""

    def __init__(self, model: nn.Module, recipe: Recipe, average: float, amp: bool, graph: bool) -> None:
        self.model, self.smoothing, self.amp = model.train(), recipe.label_smoothing, amp
        self.descent, self.averaged = Descent(model, recipe.weight_decay), Averaged(model, average)
        self.device = self.descent.negative_rate.device
        self.lane = Lane(self.device)
        self.captures = graph and self.device.type == "cuda"
        self.graph: Any = None
        self.inputs: tuple[Tensor, Tensor] | None = None
        self.runs = 0
        self.loss = torch.zeros(())

    def compute(self, images: Tensor, targets: Tensor) -> Tensor:
        for parameter in self.model.parameters():
            parameter.grad = None
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.amp, cache_enabled=False):
            logits = self.model(images)
        loss = F.cross_entropy(logits.float(), targets, label_smoothing=self.smoothing)
        loss.backward()  # type: ignore[no-untyped-call]
        self.descent.step()
        self.averaged.update()
        return loss.detach()

    def capture(self, images: Tensor, targets: Tensor) -> None:
        """What a graph reads and writes keeps its place. Nothing is computed yet."""
        self.inputs = (images.clone(memory_format=torch.preserve_format), targets.clone())
        for parameter in self.model.parameters():
            parameter.grad = None
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, stream=self.lane.stream):
            self.loss = self.compute(*self.inputs)

    def run(self, images: Tensor, targets: Tensor, rate: float, step: int) -> Tensor:
        """The loss, which the next run may overwrite. images [N, 3, H, W], channels last; targets [N, classes]: shares."""
        with self.lane.entered():
            self.descent.negative_rate.fill_(-rate)
            self.averaged.set_step(step)
            self.runs += 1
            if not self.captures or self.runs <= WARM_UP_STEPS:
                self.loss = self.compute(images, targets)
                return self.loss
            if self.inputs is None:
                self.capture(images, targets)
            else:
                self.inputs[0].copy_(images)
                self.inputs[1].copy_(targets)
            self.graph.replay()
        return self.loss

    def has_finite_weights(self) -> bool:
        """Waits for the device."""
        return all(bool(parameter.isfinite().all()) for parameter in self.descent.parameters)

    def state(self) -> dict[str, Any]:
        return {"model": self.model.state_dict(), "momenta": self.descent.momenta, "averaged": self.averaged.full_state()}

    @torch.no_grad()
    def load(self, state: dict[str, Any]) -> None:
        """What state() gave, into the memory that is there."""
        self.model.load_state_dict(state["model"])
        for own, given in zip(self.descent.momenta, state["momenta"]):
            own.copy_(given)
        for name, tensor in self.averaged.state.items():
            tensor.copy_(state["averaged"][name])
