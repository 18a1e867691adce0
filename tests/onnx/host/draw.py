"""Random numbers, shapes and attributes by seed."""
import numpy as np


class Draw:
    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def whole(self, low, high):
        return int(self.random.integers(low, high + 1))

    def pick(self, *choices):
        return choices[self.whole(0, len(choices) - 1)]

    def shape(self, low=1, high=4):
        return tuple(self.whole(1, 5) for _ in range(self.whole(low, high)))

    def real(self, *shape):
        return self.random.normal(0, 2, shape).astype(np.float32)

    def positive(self, *shape):
        return self.random.uniform(0.1, 3, shape).astype(np.float32)

    def integers(self, dtype, *shape, low=-20, high=20):
        low = max(low, np.iinfo(dtype).min)
        return self.random.integers(low, high + 1, shape).astype(dtype)

    def levels(self, dtype, *shape):
        limits = np.iinfo(dtype)
        return self.random.integers(limits.min, limits.max + 1, shape).astype(dtype)

    def bools(self, *shape):
        return self.random.integers(0, 2, shape).astype(bool)

    def any(self, *shape):
        kind = self.pick(np.float32, np.float32, np.int32, np.int64)
        return self.real(*shape) if kind == np.float32 else self.integers(kind, *shape)

    def like(self, array, *shape):
        return self.real(*shape) if array.dtype == np.float32 else self.integers(array.dtype, *shape)

    def axis(self, rank):
        return self.whole(-rank, rank - 1)

    def axes(self, rank):
        return sorted(int(a) for a in self.random.permutation(rank)[:self.whole(1, rank)])

    def broadcast(self):
        """Two shapes that broadcast to one."""
        shape = self.shape()
        other = tuple(self.pick(1, size, size) for size in shape)[self.whole(0, len(shape) - 1):]
        return (shape, other) if self.whole(0, 1) else (other, shape)

    def scale(self, *shape, times=1):
        return np.asarray(self.random.uniform(0.01, 0.1, shape) * times, np.float32)

    def zero(self, dtype):
        return np.asarray(self.levels(dtype))

    def window(self, rank, pool=False):
        kernel = [self.whole(1, 3) for _ in range(rank)]
        # No stride passes over an element: with automatic pads ONNX Runtime has no answer to that.
        attributes = {"kernel_shape": kernel, "strides": [self.whole(1, min(2, size)) for size in kernel]}
        if self.whole(0, 2) == 0:
            attributes["auto_pad"] = self.pick("SAME_UPPER", "SAME_LOWER", "VALID")
        else:
            attributes["pads"] = [self.whole(0, size - 1 if pool else 2) for size in kernel * 2]
        return attributes
