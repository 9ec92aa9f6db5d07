# SPDX-License-Identifier: Apache-2.0
"""Scripts run in processes of their own, and event files read without forgiving any damage."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tensorboard.compat.proto.event_pb2 import Event

FRAME_BYTES = 16  # of a record besides its content
Scalar = tuple[str, int, float]


@dataclass(frozen=True)
class Ended:
    """How a script ended and what it said."""

    code: int
    out: str
    err: str


def start(folder: Path, script: str, *arguments: object, **environment: str) -> subprocess.Popen[str]:
    """Start `script`, whose sys.argv[1:] is `arguments`; a file of its own, as multiprocessing's spawn needs."""
    path = folder / f"script_{time.monotonic_ns()}.py"
    path.write_text(textwrap.dedent(script), encoding="utf-8")
    return subprocess.Popen(
        [sys.executable, str(path), *map(str, arguments)],
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that what hangs can be ended with all its children
    )


def finish(process: subprocess.Popen[str], seconds: float = 60) -> Ended:
    """Wait for the end; a script that takes longer is taken for hung."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        pytest.fail(f"the script hung for {seconds} s; it said:\n{out[-2000:]}\n{err[-4000:]}")
    return Ended(process.returncode, out, err)


def run(folder: Path, script: str, *arguments: object, **environment: str) -> Ended:
    """Run `script` to its end."""
    return finish(start(folder, script, *arguments, **environment))


def succeed(folder: Path, script: str, *arguments: object, **environment: str) -> Ended:
    """Run `script`, which must end well."""
    ended = run(folder, script, *arguments, **environment)
    assert ended.code == 0, f"exit code {ended.code}\n{ended.out[-2000:]}\n{ended.err[-4000:]}"
    return ended


def until(condition: Callable[[], object], seconds: float = 60) -> None:
    """Wait until `condition` holds, which is asked less and less often: most of these ask a server."""
    end, pause = time.monotonic() + seconds, 0.01
    while not condition():
        assert time.monotonic() < end, f"did not come true in {seconds} s"
        time.sleep(pause)
        pause = min(pause * 1.4, 0.2)


def files(folder: Path) -> list[Path]:
    """Every event file below `folder`, in the order of their making."""
    found = [path for path in folder.rglob("*tfevents*") if path.is_file()]
    return sorted(found, key=lambda path: (path.name.split(".")[3], int(path.name.split(".")[-1])))


def events(path: Path, *, may_be_cut: bool = False) -> list[Event]:
    """Every event of a file, by TensorBoard's reader. All bytes must be whole records, except where the end is cut."""
    # Most tests of processes need no TensorBoard, whose import takes longer than they do.
    from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
    from tensorboard.compat.proto.event_pb2 import Event

    size = path.stat().st_size  # before it is read: the file may grow meanwhile
    records = list(RawEventFileLoader(str(path)).Load())
    read = sum(len(record) + FRAME_BYTES for record in records)
    assert read >= size or may_be_cut, f"{path}: readable up to byte {read} of {size}"
    parsed = [Event.FromString(record) for record in records]
    if parsed:
        assert parsed[0].file_version == "brain.Event:2"
        assert not any(event.file_version for event in parsed[1:])
    return parsed


def scalars(folder: Path, *, may_be_cut: bool = False) -> list[Scalar]:
    """(tag, step, value) of every scalar below `folder`, in file order, by TensorBoard's reader."""
    return [
        (value.tag, event.step, value.simple_value)
        for path in files(folder)
        for event in events(path, may_be_cut=may_be_cut)
        for value in event.summary.value
    ]


def steps(folder: Path, tag: str, *, may_be_cut: bool = False) -> list[int]:
    """The steps of one series, in the order in which they stand in the files."""
    return [step for name, step, _ in scalars(folder, may_be_cut=may_be_cut) if name == tag]


def many_steps(path: Path) -> dict[str, list[int]]:
    """The steps of every series of a file of millions, by aboard's own reader, which checks every checksum."""
    from aboard._native import scalars_in_records

    series: dict[str, list[int]] = {}
    rest = b""
    with path.open("rb") as file:
        while piece := file.read(8 << 20):
            data = rest + piece
            found, consumed = scalars_in_records(data)
            rest = data[consumed:]
            for tag, _, step, _ in found:
                series.setdefault(tag, []).append(step)
    assert not rest, f"{path}: {len(rest)} bytes at the end are no whole record"
    return series


def needs(reason_against: str) -> None:
    """Skip when there is a reason against; on CI nothing is skipped."""
    if reason_against and os.environ.get("CI") == "true":
        pytest.fail(f"on CI this must run: {reason_against}")
    if reason_against:
        pytest.skip(reason_against)
