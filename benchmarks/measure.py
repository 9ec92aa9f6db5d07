# SPDX-License-Identifier: Apache-2.0
"""Clocks: loops without calls of their own, latencies of single calls, CPU time of all threads, memory."""

from __future__ import annotations

import math
import os
import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_LOOP = """
def run(begin, end, {names}):
    for step in range(begin, end):
        {statement}
"""
_LATENCIES = """
def run(begin, end, clock, append, {names}):
    for step in range(begin, end):
        start = clock()
        {statement}
        append(clock() - start)
        {between}
"""
_PACED = """
def run(begin, end, clock, append, sleep, period, {names}):
    due = clock()
    for step in range(begin, end):
        due += period
        sleep(max(0, due - clock()) / 1e9)
        start = clock()
        {statement}
        append(clock() - start)
"""


class Statement:
    """One line of Python over `step`, put into loops as source, so that nothing but the line is between two clocks."""

    def __init__(self, source: str, names: dict[str, Any], *, between: str = "pass") -> None:
        """`between` runs after each call whose latency is taken, untimed."""
        self._source, self._names, self._between = source, names, between

    def repeat(self, begin: int, end: int) -> None:
        self._compiled(_LOOP)(begin, end)

    def latencies(self, begin: int, end: int) -> array[int]:
        """Nanoseconds of each call, including those of the clock."""
        taken = array("q")
        self._compiled(_LATENCIES, clock=time.perf_counter_ns, append=taken.append)(begin, end)
        return taken

    def paced(self, begin: int, end: int, *, per_second: int) -> array[int]:
        """Nanoseconds of each call, when calls are this frequent and the thread sleeps in between."""
        taken = array("q")
        run = self._compiled(
            _PACED,
            clock=time.perf_counter_ns,
            append=taken.append,
            sleep=time.sleep,
            period=1_000_000_000 // per_second,
        )
        run(begin, end)
        return taken

    def _compiled(self, template: str, **tools: Any) -> Callable[[int, int], None]:
        names = ", ".join(self._names) or "_=None"
        source = template.format(statement=self._source, between=self._between, names=names)
        space: dict[str, Any] = {}
        exec(compile(source, "<measured>", "exec"), space)
        run, bound = space["run"], {**tools, **self._names}
        return lambda begin, end: run(begin, end, **bound)


def clock_overhead() -> int:
    """Nanoseconds that `latencies` shows for a statement that does nothing."""
    return percentile(Statement("pass", {}).latencies(0, 20_000), 50)


def percentile(values: array[int], percent: float) -> int:
    """The smallest value that `percent` of all do not exceed; of few values the 99th is the largest."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


@dataclass(frozen=True)
class Instant:
    wall: float
    cpu: float  # of all threads, user and system, ended threads too
    thread_cpu: float  # of the calling thread

    @classmethod
    def now(cls) -> Instant:
        return cls(time.perf_counter(), time.process_time(), time.thread_time())

    def __sub__(self, earlier: Instant) -> Instant:
        return Instant(self.wall - earlier.wall, self.cpu - earlier.cpu, self.thread_cpu - earlier.thread_cpu)


def resident_bytes() -> int:
    """Memory of this process that is in RAM now."""
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
