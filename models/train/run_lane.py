"""Where the work of one run is enqueued, so that several trainings on one device compute what each would compute alone."""

from __future__ import annotations

import contextlib
import hashlib
from typing import Any, Iterator

import torch


def drawn_seed(*parts: object) -> int:
    """32 bits, which is what a generator on a CPU takes: of other parts others."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:4], "little")


class Lane:
    """On a GPU a stream and random numbers of its own; on a CPU nothing, as one step ends before the next begins.

    PyTorch's operations draw from the device's one generator, and a CUDA graph reads at each replay the state that the generator
    had when it was captured. Inside entered() that state is this lane's. PyTorch before 2.4 cannot exchange it: there runs
    beside each other disturb each other's numbers.
    """

    def __init__(self, device: torch.device) -> None:
        self.stream: Any = None
        self.shared: Any = None
        if device.type == "cuda":
            self.stream = torch.cuda.Stream(device)
            if hasattr(torch.Generator, "graphsafe_set_state"):
                self.shared = torch.cuda.default_generators[self.stream.device_index]
                self.own = torch.Generator(device)

    @contextlib.contextmanager
    def entered(self, waits: bool = False) -> Iterator[None]:
        """What is enqueued inside follows all that was enqueued before. `waits`: at its end for the device, so that all may use it."""
        with contextlib.ExitStack() as stack:
            if self.stream is not None:
                before = torch.cuda.current_stream(self.stream.device)
                if before != self.stream:
                    self.stream.wait_stream(before)
                stack.enter_context(torch.cuda.stream(self.stream))
            if self.shared is not None:
                stack.callback(self.shared.graphsafe_set_state, self.shared.graphsafe_get_state())
                self.shared.graphsafe_set_state(self.own)
            yield
            if waits:
                wait(self.mark())

    def mark(self) -> Any:
        """What wait() waits for: all that is enqueued by now."""
        return None if self.stream is None else self.stream.record_event()


def wait(mark: Any) -> None:
    if mark is not None:
        mark.synchronize()
