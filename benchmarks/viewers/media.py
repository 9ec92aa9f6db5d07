# SPDX-License-Identifier: Apache-2.0
"""The content of work set E: what a run with many pictures and sounds looks like."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from aboard._native import EventLog
from aboard.events.audio import audio
from aboard.events.histogram import histogram
from aboard.events.image import encode_png, image_summary
from aboard.events.tensor import text

_RUNS = 4
_VARIANTS = 8  # different contents of each tag, which take turns
_SIDE = 256
_RATE = 16_000
_SCALARS_PER_STEP = 10


def write_media(place: Path, megabytes: int) -> None:
    """Event files of about so many megabytes, in a few runs."""
    steps = list(_steps())
    size = sum(map(len, (summary for step in steps for summary in step))) / len(steps)
    per_run = max(1, int(megabytes * 1e6 / size / _RUNS))
    for run in range(_RUNS):
        folder = place / f"run{run}"
        folder.mkdir(parents=True)
        log = EventLog(os.fsencode(folder), "benchmark")
        for step in range(per_run):
            wall_time = 1_700_000_000.0 + 60 * run + step
            for summary in steps[step % _VARIANTS]:
                log.add_summary(summary, step, wall_time)
            for number in range(_SCALARS_PER_STEP):
                log.add_scalar(f"loss/{number}", 1 / (1 + step), step, wall_time)
            log.flush()  # the writer's memory is limited, and so is this loop's
        log.close()


def _steps() -> Iterator[list[bytes]]:
    """What one step logs besides scalars, in some variants."""
    rng = np.random.default_rng(1)
    for _ in range(_VARIANTS):
        yield [
            *(_picture(f"picture/{name}", rng) for name in ("input", "output")),
            audio("sound", rng.uniform(-1, 1, _RATE).astype(np.float32), sample_rate=_RATE),
            *(histogram(f"weights/{layer}", rng.standard_normal(1000), "tensorflow") for layer in range(4)),
            text("sample", "The quick brown fox jumps over the lazy dog. " * 40),
        ]


def _picture(tag: str, rng: np.random.Generator) -> bytes:
    pixels = rng.integers(0, 256, (_SIDE, _SIDE, 3), np.uint8)
    return image_summary(tag, encode_png(pixels), height=_SIDE, width=_SIDE, channels=3)
