"""What the tests of qsim.torch on a GPU share."""
import os
import unittest

try:
    import torch
except ImportError:
    raise unittest.SkipTest("no PyTorch") from None

from qsim._library import has_cuda

SEED = int(os.environ.get("QSIM_TEST_SEED", "20261123"))
# Random cases of each operator; ./dev gpu-test asks for more.
CASES = int(os.environ.get("QSIM_CUDA_CASES", "200"))

needs_gpu = unittest.skipUnless(torch.cuda.is_available() and has_cuda(), "no GPU, or no CUDA kernels")


def bits(tensor):
    """The tensor's bytes, on the CPU."""
    return tensor.contiguous().view(torch.uint8).cpu()


def moved(arguments):
    """The same on the GPU."""
    return [a.cuda() if isinstance(a, torch.Tensor) else a for a in arguments]


def spread(tensor):
    """The same elements with gaps, and with axes in another order in memory."""
    axes = list(reversed(range(tensor.dim())))
    wide = torch.zeros([2 * size for size in tensor.permute(axes).shape], dtype=tensor.dtype, device=tensor.device)
    view = wide[tuple(slice(None, None, 2) for _ in axes)].permute(axes)
    view.copy_(tensor)
    return view


def kernels_of(work):
    """Names of what `work` does on the GPU."""
    activities = [torch.profiler.ProfilerActivity.CUDA, torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities) as profile:
        work()
        torch.cuda.synchronize()
    return [event.name for event in profile.events() if event.device_type == torch.autograd.DeviceType.CUDA]


class Draws:
    """Random numbers of one seed."""

    def __init__(self, seed=SEED):
        self.generator = torch.Generator().manual_seed(seed)

    def size(self, least, most):
        return int(torch.randint(least, most + 1, (1,), generator=self.generator))

    def pick(self, *of):
        return of[self.size(0, len(of) - 1)]

    def floats(self, *shape):
        return torch.randn(*shape, generator=self.generator)

    def integers(self, low, high, shape, dtype):
        return torch.randint(low, high, shape, generator=self.generator).to(dtype)
