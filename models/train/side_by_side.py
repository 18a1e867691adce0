"""Several trainings at once on one device: a step of each in turn, each in its lane, so that a GPU computes them beside each other.

A kernel that is too small for the GPU leaves room, which kernels of other runs fill. On a CPU nothing is gained.
"""

from __future__ import annotations

import time
from typing import Callable, Iterator

from quantized_training import Training
from run_lane import wait

ROUND_STEPS = 20  # of each run between two looks at the clock; the host is at most two rounds ahead


def finished_ones(waiting: Iterator[Callable[[], Training]], at_once: int, save_seconds: float,
                  ends: Callable[[list[Training]], bool]) -> Iterator[Training]:
    """Trains what `waiting` begins, `at_once` at a time; gives each that came to its end.

    All at hand are saved every save_seconds, and where ends(), which is asked once a round, ends this before they are done.
    """
    active: list[Training] = []
    marks: list[object] = []
    saved = time.perf_counter()
    while True:
        while len(active) < at_once and (begin := next(waiting, None)) is not None:
            active.append(begin())
        if not active:
            return
        started = time.perf_counter()
        for _ in range(ROUND_STEPS):
            for training in active:
                if training.step < training.steps:
                    training.advance()
        for mark in marks:  # of the round before
            wait(mark)
        marks = [training.lane.mark() for training in active]
        passed = time.perf_counter() - started
        for training in active:
            training.seconds += passed
        done = [training for training in active if training.step == training.steps]
        active = [training for training in active if training.step < training.steps]
        while done:
            yield done.pop(0)  # its memory is free when the caller has done
        is_end = ends(active)
        if is_end or time.perf_counter() - saved > save_seconds:
            for training in active:
                training.save()
            saved = time.perf_counter()
        if is_end:
            return
