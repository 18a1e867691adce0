"""ABC-Net's network for 32x32 pictures (Lin et al. 2017), as it is trained: straight-through gradients.

A first float convolution of 16 channels, eight binary convolutions of 32 to 64 channels, a dense layer. After each
convolution come max-pool (where the layer has one), batch norm, ReLU and quantizer, in this order.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass(frozen=True)
class AbcLayer:
    name: str
    inputs: int
    outputs: int
    pool: bool = False  # 2x2 after it


FIRST_CHANNELS = 16
LAYERS = (
    AbcLayer("abc1", FIRST_CHANNELS, 32),
    AbcLayer("abc2", 32, 32, pool=True),
    AbcLayer("abc3", 32, 48),
    AbcLayer("abc4", 48, 48, pool=True),
    AbcLayer("abc5", 48, 64),
    AbcLayer("abc6", 64, 64),
    AbcLayer("abc7", 64, 64, pool=True),
    AbcLayer("abc8", 64, 64),
)
DENSE_INPUTS = 64 * 4 * 4
CLASSES = 10

# Thresholds of M bases of normal weights, in standard deviations, that leave the least squared error (Max 1960).
NORMAL_U = {
    1: (0.0,),
    2: (-0.6120, 0.6120),
    3: (-0.9816, 0.0, 0.9816),
    4: (-1.2440, -0.3823, 0.3823, 1.2440),
    5: (-1.4468, -0.6589, 0.0, 0.6589, 1.4468),
}


def least_squares(gram, products):
    """alpha [C, M] with gram [C, M, M] alpha = products [C, M], by elimination without exchanges and without a
    library, so that a CUDA graph captures it. A base that repeats an earlier one has alpha 0."""
    count = gram.shape[1]
    rows = torch.cat((gram, products.unsqueeze(2)), 2)
    least = 1e-4 * gram[:, 0, 0]
    for i in range(count):
        pivot = rows[:, i, i]
        usable = pivot > least
        row = rows[:, i] * torch.where(usable, 1.0 / torch.where(usable, pivot, torch.ones_like(pivot)), torch.zeros_like(pivot)).unsqueeze(1)
        rows = rows - rows[:, :, i : i + 1] * row.unsqueeze(1)
        rows[:, i] = row
    return rows[:, :, -1]


@torch.no_grad()
def approximate_channels(weights, u):
    """(B [channels, M, most], alpha [channels, M]) of the channels of all weights, one after the other; `most` is the
    largest number of weights of a channel, and B is 0 beyond a channel's own. By output channel, u [M]:
    B_i = sign(W - mean + u_i std), and alpha has the least squared error."""
    most = max(w[0].numel() for w in weights)
    flat = torch.cat([F.pad(w.flatten(1).float(), (0, most - w[0].numel())) for w in weights])
    used = torch.cat([F.pad(torch.ones_like(w.flatten(1)), (0, most - w[0].numel())) for w in weights]).float()
    count = used.sum(1, keepdim=True)
    centred = (flat - flat.sum(1, keepdim=True) / count) * used
    std = (centred.square().sum(1, keepdim=True) / count).sqrt()
    moved = centred.unsqueeze(1) + u.view(1, -1, 1) * std.unsqueeze(1)
    bases = torch.where(moved >= 0, used.unsqueeze(1), -used.unsqueeze(1))
    gram, products = bases @ bases.transpose(1, 2), (bases @ flat.unsqueeze(2)).squeeze(2)
    return bases, least_squares(gram, products)


def approximate_weights(weights, u):
    """Of each weight [out, in, 3, 3]: (B [out, M, in * 9] of +1 and -1, alpha [out, M])."""
    bases, alpha = approximate_channels(weights, u)
    sizes = [len(w) for w in weights]
    return [(b[:, :, : w[0].numel()], a) for w, b, a in zip(weights, bases.split(sizes), alpha.split(sizes))]


def quantize_forward(x, v, beta):
    """ReLU, then sum of beta_j A_j with A_j = +1 where x + v_j > 0.5, else -1; x of any float type."""
    relu = x.float().clamp(min=0)
    result = torch.zeros_like(relu)
    for j in range(v.shape[0]):
        result = result + torch.where(relu + v[j] > 0.5, beta[j], -beta[j])
    return result.to(x.dtype)


def quantize_backward(grad, x, v, beta):
    """Gradients of A_j, which rises by 2, go to x and v_j where x + v_j is at most 1/2 from 0.5; none passes where ReLU
    gives 0."""
    grad, kind, x = grad.float(), x.dtype, x.float()
    relu, slope, grads_v, grads_beta = x.clamp(min=0), torch.zeros_like(x), [], []
    for j in range(v.shape[0]):
        moved = relu + v[j] - 0.5
        inside = torch.where(moved.abs() <= 0.5, 2 * beta[j], torch.zeros_like(beta[j]))
        slope = slope + inside
        grads_v.append((grad * inside).sum())
        grads_beta.append(torch.where(moved > 0, grad, -grad).sum())
    return torch.where(x > 0, grad * slope, torch.zeros_like(x)).to(kind), torch.stack(grads_v), torch.stack(grads_beta)


fused_forward, fused_backward = quantize_forward, quantize_backward


def compile_quantizers():
    """Fuses the two functions above for training in BF16 where this PyTorch can; else they stay as they are."""
    global fused_forward, fused_backward
    if hasattr(torch, "compile") and torch.cuda.is_available():
        torch._dynamo.config.cache_size_limit = 64  # one for each number of bases
        fused_forward = torch.compile(quantize_forward, dynamic=True)
        fused_backward = torch.compile(quantize_backward, dynamic=True)


class Quantize(torch.autograd.Function):
    """ReLU and quantizer, with straight-through gradients."""

    @staticmethod
    def forward(ctx, x, v, beta):
        ctx.save_for_backward(x, v, beta)
        return (fused_forward if x.dtype == torch.bfloat16 else quantize_forward)(x, v, beta)

    @staticmethod
    def backward(ctx, grad):
        x, v, beta = ctx.saved_tensors
        backward = fused_backward if x.dtype == torch.bfloat16 else quantize_backward
        grad_x, grad_v, grad_beta = backward(grad, x, v, beta)
        return grad_x, grad_v, grad_beta


class StraightThrough(torch.autograd.Function):
    """The approximation of a weight, whose gradient is the weight's."""

    @staticmethod
    def forward(ctx, weight, approximation):
        return approximation.reshape(weight.shape).to(weight.dtype)

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class Quantizer(nn.Module):
    """ReLU, then trained v and beta of N bases; thresholds begin evenly in the positive half of a normal distribution."""

    def __init__(self, bases):
        super().__init__()
        step = 1.6 / (bases + 1) if bases > 1 else 0.6
        thresholds = torch.arange(1, bases + 1) * step
        self.v = nn.Parameter(0.5 - thresholds)
        self.beta = nn.Parameter(torch.full((bases,), step / 2 if bases > 1 else 0.4))

    def forward(self, x):
        return Quantize.apply(x, self.v, self.beta)


class AbcNet(nn.Module):
    """float [N, 3, 32, 32] -> float logits [N, 10]. `bases` of weights and of activations; 0: all in float."""

    def __init__(self, bases):
        super().__init__()
        self.bases = bases
        self.first = nn.Conv2d(3, FIRST_CHANNELS, 3, padding=1, bias=False)
        self.convs = nn.ModuleList(nn.Conv2d(l.inputs, l.outputs, 3, padding=1, bias=False) for l in LAYERS)
        self.norms = nn.ModuleList(nn.BatchNorm2d(c) for c in (FIRST_CHANNELS, *(l.outputs for l in LAYERS)))
        self.quantizers = nn.ModuleList(Quantizer(bases) if bases else nn.ReLU() for _ in range(len(LAYERS) + 1))
        self.dense = nn.Linear(DENSE_INPUTS, CLASSES)
        self.register_buffer("u", torch.tensor(NORMAL_U.get(bases, ())), persistent=False)

    def weights(self):
        """What the convolutions multiply by: sum of alpha_i B_i, or the float weights."""
        floats = [conv.weight for conv in self.convs]
        if not self.bases:
            return floats
        with torch.autocast(floats[0].device.type, enabled=False):
            bases, alpha = approximate_channels([w.detach() for w in floats], self.u)
            sums = (bases * alpha.unsqueeze(2)).sum(1).split([len(w) for w in floats])
        return [StraightThrough.apply(w, s[:, : w[0].numel()]) for w, s in zip(floats, sums)]

    def forward(self, x):
        x = self.quantizers[0](self.norms[0](self.first(x)))
        for at, (layer, weight) in enumerate(zip(LAYERS, self.weights()), 1):
            x = F.conv2d(x, weight, padding=1)
            if layer.pool:
                x = F.max_pool2d(x, 2)
            x = self.quantizers[at](self.norms[at](x))
        return self.dense(x.flatten(1))
