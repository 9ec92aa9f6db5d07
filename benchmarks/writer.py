# SPDX-License-Identifier: Apache-2.0
"""Measures `SummaryWriter` side by side with tensorboardX's and torch's: `python benchmarks/writer.py --help`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import machine
import report
from cases import CASES, Case
from metrics import Results
from peers import LIBRARIES


def main() -> None:
    options = _options()
    description = machine.describe(options.dir, machine.WRITING)
    print(f"## SummaryWriter{' (quick: too small to be quoted)' if options.quick else ''}\n")
    print(report.machine_lines(description))
    for warning in machine.warnings(description):
        print(f"- **{warning}**")
    print(flush=True)
    chosen = [case for case in CASES if not options.only or case.name in options.only]
    everything: dict[str, Results] = {}
    summary: list[str] = []
    for case in chosen:
        results = _run(case, options)
        everything[case.name] = results
        summary += report.verdicts(case.title, case.metrics, results)
        print(report.table(case.title, case.metrics, results), flush=True)
        if options.json:  # after each case, so that an interrupted run is not lost
            content = {"machine": description, "quick": options.quick, "cases": everything}
            options.json.write_text(json.dumps(content, indent=1), encoding="utf-8")
    print("### Targets\n")
    print("\n".join(f"- {line}" for line in summary))


def _run(case: Case, options: argparse.Namespace) -> Results:
    results: Results = {library: [] for library in LIBRARIES}
    rounds = case.rounds or options.rounds
    for number in range(rounds):
        for library in LIBRARIES:
            print(f"\r{case.name}: round {number + 1} of {rounds}, {library:20}", end="", file=sys.stderr, flush=True)
            results[library].append(case.run(library, quick=options.quick, folder=options.dir))
    print("\r" + " " * 70, end="\r", file=sys.stderr, flush=True)
    return results


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes and two rounds, to try the benchmark out")
    parser.add_argument("--rounds", type=int, help="how often each library runs each case (5; quick: 2)")
    parser.add_argument("--only", nargs="+", choices=[case.name for case in CASES], metavar="CASE", help="some cases")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every raw result and the machine")
    parser.add_argument("--dir", type=Path, help="where to log (the system's temporary folder): a disk, not tmpfs")
    options = parser.parse_args()
    options.rounds = options.rounds or (2 if options.quick else 5)
    return options


if __name__ == "__main__":
    main()
