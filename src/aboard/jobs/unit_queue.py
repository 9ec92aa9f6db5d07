# SPDX-License-Identifier: Apache-2.0
"""`python -m aboard.jobs.unit_queue FILE`: submits the units of a sweep, so many at a time, until all have ended.

It is a local unit itself: it lives on when the person's process ends. What it submits is found by its id, so a queue
that dies loses nothing that runs. A unit whose job was cancelled meanwhile is passed over.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from aboard.config.settings import load_settings
from aboard.errors import AboardError, ExecutorUnavailable
from aboard.executors.executor import Executor, status_after_revival
from aboard.executors.registry import make_executor
from aboard.jobs.records import JobRecords, unit_from_json, unit_to_json, write_owned
from aboard.model.units import UnitHandle, UnitSpec

_POLL_SECONDS = 0.2
_RETRY_SECONDS = 5.0
RESTARTS = 3
"""How often a queue, or another helper beside jobs, is started again when it was killed."""


def write_queue(path: Path, executor: Executor, specs: Sequence[UnitSpec], at_once: int, marks: Sequence[Path]) -> None:
    """Write down what a queue is to do; `marks` are files that, when they are there, take a unit out of it."""
    units = [{"unit": unit_to_json(spec), "mark": str(mark)} for spec, mark in zip(specs, marks, strict=True)]
    document = {"executor": executor.name, "options": executor.options, "at_once": at_once, "units": units}
    write_owned(path, json.dumps(document))


def work(path: Path) -> int:
    """Do it; 1 when a unit could not be submitted."""
    if not path.exists():  # it was killed when all had been done
        return 0
    document: dict[str, Any] = json.loads(path.read_text("utf-8"))
    executor = make_executor(document["executor"], document["options"])
    records = JobRecords(load_settings().home)
    running: list[UnitHandle] = []
    failed = 0
    for entry in document["units"]:
        while len(running) >= document["at_once"]:
            time.sleep(_POLL_SECONDS)
            running = [handle for handle in running if _is_live(executor, handle, records)]
        if not _is_wanted(Path(entry["mark"])):
            continue
        spec = unit_from_json(entry["unit"])
        try:
            running.append(_submitted(executor, spec))
            _say(f"{spec.name}: submitted")
        except AboardError as error:
            failed += 1
            _say(f"{spec.name}: {error}" + (f" ({error.hint})" if error.hint else ""))
    while running:
        running = [handle for handle in running if _is_live(executor, handle, records)]
        time.sleep(_POLL_SECONDS)
    path.unlink(missing_ok=True)  # it holds the environments of the units
    return 1 if failed else 0


def _is_wanted(mark: Path) -> bool:
    """Not when it was cancelled; nor when it was forgotten, which a queue may find that was started again."""
    return not mark.exists() and mark.with_suffix(".json").exists()


def _submitted(executor: Executor, spec: UnitSpec) -> UnitHandle:
    while True:
        try:
            return executor.submit(spec)
        except ExecutorUnavailable as error:
            _say(f"{spec.name}: {error}; trying again")
            time.sleep(_RETRY_SECONDS)


def _is_live(executor: Executor, handle: UnitHandle, records: JobRecords) -> bool:
    try:
        return not status_after_revival(executor, handle, lambda: records.is_wanted(handle.unit)).state.is_ended
    except ExecutorUnavailable:
        return True
    except AboardError:
        return False


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(work(Path(sys.argv[1])))
