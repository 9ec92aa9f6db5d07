# SPDX-License-Identifier: Apache-2.0
"""The cases: what each runs, which of its numbers are shown, and which of them have a target."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from metrics import BEST_PEER, ITSELF, Metric, Target
from peers import TORCH
from processes import run_imports, run_worker


class Run(Protocol):
    def __call__(self, library: str, *, quick: bool, folder: Path | None) -> dict[str, float]: ...


@dataclass(frozen=True)
class Case:
    name: str
    title: str
    metrics: tuple[Metric, ...]
    run: Run
    rounds: int | None = None  # None: as many as asked for


def _call_metrics(
    call: Target | None = None,
    p50: Target | None = None,
    p99: Target | None = None,
    closed: Target | None = None,
    cpu: Target | None = None,
) -> tuple[Metric, ...]:
    return (
        Metric("call_us", "calling thread, mean in a tight loop", "µs", call),
        Metric("p50_us", "calling thread, p50 of single calls", "µs", p50),
        Metric("p99_us", "calling thread, p99 of single calls", "µs", p99),
        Metric("call_cpu_us", "calling thread, CPU in a tight loop", "µs"),
        Metric("first_us", "first call of the process", "µs"),
        Metric("flushed_us", "wall until `flush()` returns, per call", "µs"),
        Metric("closed_us", "wall until `close()` returns, per call", "µs", closed),
        Metric("cpu_us", "CPU of all threads until closed, per call", "µs", cpu),
        Metric("disk_bytes", "bytes on disk per call", "B"),
    )


_SCALAR = _call_metrics(call=Target(50, TORCH), p99=Target(5, ITSELF), cpu=Target(20, TORCH))
_HISTOGRAM = _call_metrics(p50=Target(5, BEST_PEER), closed=Target(5, BEST_PEER))
_IMAGE = (
    *_call_metrics(p50=Target(1, BEST_PEER), closed=Target(1, BEST_PEER)),
    Metric("png_bytes", "bytes of one PNG", "B"),
)
_PACE = (
    Metric("p50_us", "calling thread, p50 of single calls", "µs"),
    Metric("p99_us", "calling thread, p99 of single calls", "µs"),
    Metric("net_us", "CPU of all threads per call, pacing subtracted", "µs"),
    Metric("paced_ms", "CPU per second, pacing included", "ms", has_ratios=False),
    Metric("asleep_us", "the clock after the same sleep (subtracted above)", "µs", has_ratios=False),
    Metric("pacing_ms", "CPU per second, pacing alone", "ms", has_ratios=False),
    Metric("idle_ms", "CPU per second, open writer that is given nothing", "ms", has_ratios=False),
)
_MEMORY = (
    Metric("peak_mib", "growth of RSS, largest while logging", "MiB", has_ratios=False),
    Metric("left_mib", "growth of RSS that remains after `close()`", "MiB", has_ratios=False),
    Metric("call_us", "calling thread, mean", "µs"),
    Metric("closed_us", "wall until `close()` returns, per call", "µs"),
    Metric("cpu_us", "CPU of all threads until closed, per call", "µs"),
)
_IMPORT = (
    Metric("import_ms", "import, above its host's", "ms", Target(50, ITSELF)),
    Metric("import_cpu_ms", "import, CPU above its host's", "ms"),
    Metric("ready_ms", "import and a first point written, above its host's import", "ms"),
    Metric("ready_cpu_ms", "import and a first point written, CPU above its host's", "ms"),
    Metric("host_ms", "host alone (numpy; for torch numpy and torch)", "ms", has_ratios=False),
)


def _calls(workload: str, title: str, metrics: tuple[Metric, ...]) -> Case:
    return Case(workload, title, metrics, partial(_run_calls, workload))


def _run_calls(workload: str, library: str, *, quick: bool, folder: Path | None) -> dict[str, float]:
    return run_worker("calls", library, workload, quick=quick, folder=folder)


def _run_pace(library: str, *, quick: bool, folder: Path | None) -> dict[str, float]:
    return run_worker("pace", library, "scalar", quick=quick, folder=folder, seconds=0.5 if quick else 3.0)


def _run_memory(library: str, *, quick: bool, folder: Path | None) -> dict[str, float]:
    calls = 50_000 if quick else 2_000_000
    return run_worker("memory", library, "scalar", quick=quick, folder=folder, calls=calls)


def _run_imports(library: str, *, quick: bool, folder: Path | None) -> dict[str, float]:
    return run_imports(library, repetitions=3 if quick else 5, folder=folder)


CASES = (
    _calls("scalar", "`add_scalar`, one tag, Python floats", _SCALAR),
    _calls("scalar_20_tags", "`add_scalar`, 20 tags, Python floats", _SCALAR),
    _calls("scalar_numpy", "`add_scalar`, one tag, `numpy.float32` values", _SCALAR),
    _calls("scalar_torch", "`add_scalar`, one tag, torch tensors of no dimension", _SCALAR),
    Case("pace", "`add_scalar`, 1000 calls a second", _PACE, _run_pace),
    _calls("scalars", "`add_scalars`, 5 keys", _call_metrics()),
    _calls("text", "`add_text`, 240 characters", _call_metrics()),
    _calls("histogram", "`add_histogram`, 1,000,000 normal float32", _HISTOGRAM),
    _calls("image_noise", "`add_image`, 3×512×512 float32 noise", _IMAGE),
    _calls("image_smooth", "`add_image`, 3×512×512 uint8 smooth picture", _IMAGE),
    Case("import", "Importing `SummaryWriter`", _IMPORT, _run_imports),
    Case("memory", "Memory while logging scalars without pause", _MEMORY, _run_memory, rounds=1),
)
