"""What the training scripts share: Ctrl-C that ends at a whole step, a log, and a checkpoint that another run goes on from."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from types import FrameType
from typing import Any, Sequence

import torch

INTERRUPTED = 130  # the exit code after Ctrl-C


class Interrupt:
    """Remembers Ctrl-C, so that the step at hand is finished first. A second one ends the process at once."""

    def __init__(self) -> None:
        self.asked = False
        signal.signal(signal.SIGINT, self.ask)

    def ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        signal.signal(signal.SIGINT, lambda number, frame: os._exit(INTERRUPTED))


class Log:
    """A line for people on stdout, and one appended to --log: a JSON object, or in a .csv file the values of `columns`."""

    def __init__(self, path: Path | None, columns: Sequence[str] = ()) -> None:
        self.path, self.columns = path, columns
        self.is_csv = bool(columns) and path is not None and path.suffix == ".csv"
        if path is not None:
            with path.open("a") as file:  # refused now, not after a step
                if self.is_csv and file.tell() == 0:
                    file.write(",".join(columns) + "\n")

    def write(self, text: str, **values: Any) -> None:
        print(text, flush=True)
        if self.path:
            line = ",".join(str(values.get(column, "")) for column in self.columns) if self.is_csv else json.dumps(values)
            with self.path.open("a") as file:
                file.write(line + "\n")


class BadCheckpoint(ValueError):
    """The checkpoint is broken, or of a run with other options."""


class Checkpoint:
    """checkpoint.pt in a folder. `options`: what a run that goes on must have in common with the one that wrote it."""

    def __init__(self, folder: Path, options: dict[str, str]) -> None:
        self.path, self.options = folder / "checkpoint.pt", options

    def save(self, **state: Any) -> None:
        """Through a second file, so that there is a whole checkpoint at every moment."""
        written = self.path.with_suffix(".new")
        torch.save({**state, "options": self.options}, written)
        os.replace(written, self.path)

    def load(self, device: torch.device) -> dict[str, Any] | None:
        """What save() was given, or None without a file."""
        if not self.path.exists():
            return None
        try:
            state: dict[str, Any] = torch.load(self.path, map_location=device)
            found = state.pop("options")
        except Exception:  # of zipfile, pickle and PyTorch, with many lines
            raise BadCheckpoint(f"{self.path} cannot be read; delete it") from None
        if found != self.options:
            other = ", ".join(name for name in self.options if found.get(name) != self.options[name])
            raise BadCheckpoint(f"{self.path} is of a run with other options ({other}); name another --out, or delete it")
        return state


class Resumable:
    """A training: its subclass sets the first four and has the rest of its state; what a checkpoint holds is all of these."""

    checkpoint: Checkpoint
    log: Log
    device: torch.device
    steps: int
    step, seconds, recent = 0, 0.0, 0.0  # steps done, time in them, and the loss of late

    def state(self) -> dict[str, Any]:
        """What a subclass keeps beside the numbers here."""
        raise NotImplementedError

    def load(self, state: dict[str, Any]) -> None:
        """Takes what state() gave."""
        raise NotImplementedError

    def save(self) -> None:
        self.checkpoint.save(**self.state(), step=self.step, seconds=self.seconds, recent=self.recent)

    def resume(self) -> None:
        """Goes on from the checkpoint, if there is one. BadCheckpoint says why it cannot."""
        state = self.checkpoint.load(self.device)
        if state is None:
            return
        self.load(state)
        self.step, self.seconds, self.recent = state["step"], state["seconds"], state["recent"]
        self.log.write(f"resumed after {self.step} of {self.steps} steps", event="resumed", step=self.step)
