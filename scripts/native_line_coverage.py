# SPDX-License-Identifier: Apache-2.0
"""Print which lines of native/core the C++ tests run: per file, and in all. Used by `scripts/test-native coverage`."""

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

CORE = Path(__file__).resolve().parents[1] / "native" / "core"


def executions(tree: Path) -> dict[Path, dict[int, int]]:
    """Return how often each line ran, by file. A line in a header counts once, whichever files include it."""
    counts: dict[Path, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    data = sorted(str(path) for path in tree.rglob("*.gcda"))
    if not data:
        raise SystemExit(f"native_line_coverage: no test has run in {tree}")
    answer = subprocess.run(["gcov", "--json-format", "--stdout", *data], check=True, capture_output=True, cwd=tree)
    for document in answer.stdout.splitlines():
        for file in json.loads(document)["files"]:
            path = (CORE.parents[1] / file["file"]).resolve()
            if path.parent != CORE:
                continue
            for line in file["lines"]:
                counts[path][line["line_number"]] += line["count"]
    return counts


def ranges(lines: list[int]) -> str:
    """Return line numbers as `3-5 9`."""
    parts: list[list[int]] = []
    for line in lines:
        if parts and parts[-1][1] == line - 1:
            parts[-1][1] = line
        else:
            parts.append([line, line])
    return " ".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)


def main() -> None:
    counts = executions(Path(sys.argv[1]).resolve())
    run_in_all, lines_in_all = 0, 0
    for path, lines in sorted(counts.items()):
        missed = sorted(number for number, count in lines.items() if count == 0)
        run = len(lines) - len(missed)
        run_in_all += run
        lines_in_all += len(lines)
        print(f"{path.name:26} {100 * run / len(lines):6.1f} %  of {len(lines):4}  {ranges(missed)}".rstrip())
    print(f"{'native/core':26} {100 * run_in_all / lines_in_all:6.2f} %  {run_in_all} of {lines_in_all} lines")


main()
