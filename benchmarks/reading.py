# SPDX-License-Identifier: Apache-2.0
"""Measures reading and boards side by side with stock TensorBoard: `python benchmarks/reading.py --help`."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import machine
import report
from viewers import answers, boards, curves, decoding, following, media_memory, opening, starting
from viewers.settings import Settings, Table

CASES: dict[str, Callable[[Settings], list[Table]]] = {
    "charts": opening.measure_charts,
    "table": opening.measure_table,
    "decode": decoding.measure,
    "start": starting.measure,
    "boards": boards.measure,
    "curves": curves.measure,
    "media": media_memory.measure,
    "following": following.measure,
    "answers-c": answers.measure_c,
    "answers-a": answers.measure_a,
    "answers-b": answers.measure_b,
}


def main() -> None:
    options = _options()
    # Blocks are left on the way out, and with them all processes end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    folder = options.dir.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    settings = Settings(options.rounds, options.quick, folder, options.legacy)
    description = machine.describe(folder, machine.READING)
    print(f"## Reading and boards{' (quick: too small to be quoted)' if options.quick else ''}\n")
    print(report.machine_lines(description))
    for warning in machine.warnings(description):
        print(f"- **{warning}**")
    print(flush=True)
    everything: dict[str, object] = {}
    summary: list[str] = []
    began = time.monotonic()
    for name in options.only or CASES:
        for table in CASES[name](settings):
            everything[table.name] = table.results
            summary += report.verdicts(table.title, table.metrics, table.results)
            print(report.table(table.title, table.metrics, table.results, table.notes), flush=True)
        if options.json:  # after each case, so that an interrupted run is not lost
            content = {"machine": description, "quick": options.quick, "legacy": options.legacy, "cases": everything}
            options.json.write_text(json.dumps(content, indent=1), encoding="utf-8")
    print("### Targets\n")
    print("\n".join(f"- {line}" for line in summary))
    print(f"\nMeasured in {(time.monotonic() - began) / 60:.1f} minutes.")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sets and two rounds, to try the benchmark out")
    parser.add_argument("--rounds", type=int, help="how often each program runs each case (5; quick: 2)")
    parser.add_argument("--only", nargs="+", choices=list(CASES), metavar="CASE", help=f"some of: {', '.join(CASES)}")
    parser.add_argument(
        "--legacy",
        choices=("none", "part", "whole"),
        default="part",
        help="how much --load_fast=false reads, 10,000 points a second: a part and scaled (default), all, or nothing",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every raw result and the machine")
    parser.add_argument(
        "--dir",
        type=Path,
        default=Path(tempfile.gettempdir(), "aboard-benchmark"),
        help="where the work sets are, 2.5 GB, written when missing (%(default)s): a disk, not tmpfs",
    )
    options = parser.parse_args()
    options.rounds = options.rounds or (2 if options.quick else 5)
    return options


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("interrupted")
