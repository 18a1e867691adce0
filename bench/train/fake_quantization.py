"""Fake quantization as PyTorch has it: its own operators in front of its own float convolution, on float tensors."""
import torch
from torch import nn
from torch.nn import functional

FUSED = (torch.float32, torch.float64)  # what PyTorch's fused operator takes on every device
_taken = {}  # by type and kind of device: whether fake_quantize_per_tensor_affine takes it


def takes(x):
    """Whether PyTorch's plain operator takes tensors as x; not all versions take bfloat16."""
    key = (x.dtype, x.device.type)
    if key not in _taken:
        ones = torch.ones(1, device=x.device)
        try:
            torch.fake_quantize_per_tensor_affine(ones.to(x.dtype), ones, ones.int(), -128, 127)
            _taken[key] = True
        except RuntimeError:
            _taken[key] = False
    return _taken[key]


class FakeQuantizer(nn.Module):
    """Quantizes and dequantizes by a moving average of ranges, symmetric; `channels`: a range each, for weights.

    For float32 it is one operator, the one of torch.ao's FusedMovingAvgObsFakeQuantize. 16-bit tensors of autocast take the
    plain operator after a maximum, or become float32 where PyTorch's plain operator does not take them.
    """

    def __init__(self, channels=None, averaging=0.01):
        super().__init__()
        self.per_channel, self.averaging = channels is not None, averaging
        places = channels if self.per_channel else 1
        for name, value in (("least", float("inf")), ("most", float("-inf"))):
            self.register_buffer(name, torch.full((places,), value))
        self.register_buffer("scale", torch.ones(places))
        self.register_buffer("zero_point", torch.zeros(places, dtype=torch.int32))
        self.register_buffer("enabled", torch.ones(1, dtype=torch.int64))
        self.lo, self.hi = (-127, 127) if self.per_channel else (-128, 127)

    def forward(self, x):
        if x.dtype not in FUSED and not takes(x):
            return self.forward(x.float()).to(x.dtype)
        if x.dtype in FUSED:
            return torch.fused_moving_avg_obs_fake_quant(
                x, self.enabled, self.enabled, self.least, self.most, self.scale, self.zero_point, self.averaging,
                self.lo, self.hi, 0, self.per_channel, True)
        with torch.no_grad():
            largest = x.detach().abs().amax().float().reshape(1)
            self.most.copy_(torch.where(torch.isinf(self.most), largest,
                                        self.most + self.averaging * (largest - self.most)))
            self.scale.copy_((self.most / self.hi).clamp(min=2.0**-24))
        return torch.fake_quantize_per_tensor_affine(x, self.scale, self.zero_point, self.lo, self.hi)


class FakeConv2d(nn.Conv2d):
    """nn.Conv2d of fake quantized x and weights."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.x_quantizer = FakeQuantizer()
        self.w_quantizer = FakeQuantizer(self.out_channels)

    def forward(self, x):
        return self._conv_forward(self.x_quantizer(x), self.w_quantizer(self.weight), self.bias)


class FakeLinear(nn.Linear):
    """nn.Linear of fake quantized x and weights."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.x_quantizer = FakeQuantizer()
        self.w_quantizer = FakeQuantizer(self.out_features)

    def forward(self, x):
        return functional.linear(self.x_quantizer(x), self.w_quantizer(self.weight), self.bias)


def fake(model):
    """Swaps the convolutions and linear layers of a model."""
    for name, child in model.named_children():
        if type(child) is nn.Conv2d:
            swapped = FakeConv2d(child.in_channels, child.out_channels, child.kernel_size, child.stride, child.padding,
                                 child.dilation, child.groups, child.bias is not None)
        elif type(child) is nn.Linear:
            swapped = FakeLinear(child.in_features, child.out_features, child.bias is not None)
        else:
            fake(child)
            continue
        swapped.load_state_dict(child.state_dict(), strict=False)
        setattr(model, name, swapped)
    return model
