# SPDX-License-Identifier: Apache-2.0
"""Reading work sets from nothing, and once more with the index of the first time."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from metrics import Metric, Results, Target
from viewers import data_server
from viewers.programs import ABOARD, FAST, PROGRAMS, SLOW, Server
from viewers.settings import Settings, Table, check_read, run_worker, say
from viewers.worksets import ScalarSet, warm

_LEGACY_RUNS = {"A": 1, "B": 20, "C": 20}
_REPEATED = ("load_s", "cpu_s", "whole_s")  # told of a second opening, too
_READ_AGAIN = 0.01  # of the bytes at most, where an index is used

METRICS = (
    Metric("load_s", "reading, inside the process", "s", Target(10, FAST)),
    Metric("whole_s", "from the start of the process until all is read", "s"),
    Metric("cpu_s", "CPU of all threads, inside the process", "s"),
    Metric("same_s", "reading, where the peer too verifies every checksum and keeps every point", "s"),
    Metric("touch_s", "asking for the columns of every series afterwards", "s", has_ratios=False),
    Metric("keep_s", "writing the index afterwards", "s", has_ratios=False),
    Metric("again_s", "second opening, inside the process", "s", Target(50, FAST)),
    Metric("again_cpu_s", "second opening, CPU of all threads, inside the process", "s"),
    Metric("again_whole_s", "second opening, from the start of the process", "s"),
)


def measure(settings: Settings) -> list[Table]:
    return [_table(settings, work) for work in (settings.sets.a, settings.sets.b, settings.sets.c)]


def _table(settings: Settings, work: ScalarSet) -> Table:
    folder = work.below(settings.folder)
    warm(folder)
    results: Results = {program: [] for program in settings.programs}
    for _, program in settings.turns(f"decode {work.name}", [ABOARD, FAST]):
        results[program].append(_aboard(work, folder) if program == ABOARD else _fast(work, folder))
    notes = [f"{FAST}: its Rust data server alone, which has no index and reads all again at a second opening."]
    if not any("again_s" in result for result in results[ABOARD]):
        notes.append("Second opening: not measured, as aboard keeps no index of files that are this small.")
    if SLOW in results:
        runs = work.runs if settings.legacy == "whole" else _LEGACY_RUNS[work.name]
        part, part_folder = work.part(settings.folder, runs)
        say(f"decode {work.name}: {SLOW}, {part.runs} of {work.runs} runs")
        results[SLOW].append(_slow(part, part_folder, scale=work.total / part.total))
        say("")
        if part != work:
            notes.append(
                f"{SLOW}: read {part.runs} of {work.runs} runs, which it does one after another; scaled, once."
            )
    return Table(f"decode_{work.name}", f"Cold decode of {work}", METRICS, results, tuple(notes))


def _aboard(work: ScalarSet, folder: Path) -> dict[str, float]:
    result = run_worker("read", root=str(folder), index=False)
    check_read(work, result)
    result["same_s"] = result["load_s"]
    with TemporaryDirectory(prefix="bench-home-") as home:
        environment = {"ABOARD_HOME": home}
        result["keep_s"] = run_worker("read", environment, root=str(folder), index=True)["keep_s"]
        if any(path.is_file() for path in Path(home).rglob("*")):
            again = run_worker("read", environment, root=str(folder), index=True)
            check_read(work, again)
            if again["bytes_read"] > _READ_AGAIN * again["bytes"]:
                raise SystemExit(f"the second opening of {work} read {again['bytes_read']:,.0f} bytes again")
            result |= {f"again_{key.removeprefix('load_')}": again[key] for key in _REPEATED}
    return result


def _fast(work: ScalarSet, folder: Path) -> dict[str, float]:
    result = data_server.load(work, folder)
    result["same_s"] = data_server.load(work, folder, as_aboard=True)["load_s"]
    return result | {f"again_{key.removeprefix('load_')}": result[key] for key in _REPEATED}


def _slow(work: ScalarSet, folder: Path, *, scale: float) -> dict[str, float]:
    with Server(PROGRAMS[SLOW], folder) as server:
        loaded = server.wait_until_loaded()
        cpu = server.child.cpu_seconds()
    assert loaded.inside
    start_up = loaded.whole - loaded.inside
    return {"load_s": loaded.inside * scale, "whole_s": start_up + loaded.inside * scale, "cpu_s": cpu * scale}
