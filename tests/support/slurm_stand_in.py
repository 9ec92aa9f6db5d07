# SPDX-License-Identifier: Apache-2.0
"""Programs with the names of Slurm's that run the tasks of arrays as processes of this machine, and may fail to answer.

They know what `aboard.executors.Slurm` says to them and no more; what Slurm itself does is tried in `tests/cluster`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

PROGRAMS = ("sbatch", "squeue", "scontrol", "sacct", "scancel")
ANSWERS, UNTAKEN, UNHEARD, LATE, REFUSED = "answers", "untaken", "unheard", "late", "refused"
"""What becomes of a job: it is taken; it is not; only the answer is lost; it is taken after everybody gave up; no."""
_SILENT = "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)"
_NO = "sbatch: error: Batch job submission failed: Invalid qos specification"
_ARRAY = re.compile(r"--array=0-(\d+)")


class SlurmStandIn:
    """The jobs that were submitted, as a folder; the programs are below `bin` in it."""

    def __init__(self, folder: Path, *, largest_array: int = 1000, fates: tuple[str, ...] = ()) -> None:
        self.programs = folder / "bin"
        self._folder = folder
        self.programs.mkdir(parents=True)
        (folder / "config.json").write_text(json.dumps({"largest": largest_array, "fates": fates}))
        for name in PROGRAMS:
            program = self.programs / name
            program.write_text(f'#!/bin/sh\nexec {sys.executable} {__file__} "{folder}" {name} "$@"\n')
            program.chmod(0o755)

    @property
    def arrays(self) -> int:
        """How many were taken, also by those whose answer was lost."""
        return sum(job["fate"] not in (UNTAKEN, REFUSED) for job in _jobs(self._folder))

    def release(self) -> None:
        """Take what was submitted long ago."""
        for job in _jobs(self._folder):
            if job["fate"] == LATE:
                _start(self._folder, {**job, "fate": ANSWERS})


def _jobs(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(folder.glob("job-*.json"))]


def _start(folder: Path, job: dict[str, Any]) -> None:
    (folder / f"job-{job['number']}.json").write_text(json.dumps(job))
    for task in range(job["tasks"]):
        environ = {**os.environ, "SLURM_ARRAY_TASK_ID": str(task), "SLURM_JOB_ID": str(job["number"])}
        # By a shell that ends at once: nobody here waits for them.
        alone = 'setsid /bin/sh -c "$1" </dev/null >/dev/null 2>&1 &'
        subprocess.run(["/bin/sh", "-c", alone, "sh", job["script"]], env=environ, check=True)


def _sbatch(folder: Path, words: list[str]) -> int:
    fates: list[str] = json.loads((folder / "config.json").read_text())["fates"]
    number = len(_jobs(folder)) + 1
    fate = fates[number - 1] if number <= len(fates) else ANSWERS
    array = _ARRAY.search(" ".join(words))
    name = next(word.partition("=")[2] for word in words if word.startswith("--job-name="))
    tasks = int(array[1]) + 1 if array else 1
    job = {"number": number, "name": name, "tasks": tasks, "script": words[-1], "fate": fate}
    (folder / f"job-{number}.json").write_text(json.dumps(job))
    if fate in (ANSWERS, UNHEARD):
        _start(folder, job)
    if fate != ANSWERS:
        sys.stderr.write(f"{_NO if fate == REFUSED else _SILENT}\n")
        return 1
    sys.stdout.write(f"{number}\n")
    return 0


def _squeue(folder: Path, words: list[str]) -> int:
    known = [job for job in _jobs(folder) if job["fate"] in (ANSWERS, UNHEARD) and f"--name={job['name']}" in words]
    sys.stdout.write("".join(f"{job['number']}\n" for job in known))
    return 0


def _scontrol(folder: Path, words: list[str]) -> int:
    if words == ["show", "config"]:
        largest = json.loads((folder / "config.json").read_text())["largest"]
        sys.stdout.write(f"MaxArraySize            = {largest}\n")
    else:
        sys.stdout.write(f"JobId={words[-1]} JobState=RUNNING Reason=None Restarts=0 ExitCode=0:0\n")
    return 0


def _answer(folder: Path, program: str, words: list[str]) -> int:
    answers = {"sbatch": _sbatch, "squeue": _squeue, "scontrol": _scontrol}
    return answers[program](folder, words) if program in answers else 1


if __name__ == "__main__":
    sys.exit(_answer(Path(sys.argv[1]), sys.argv[2], sys.argv[3:]))
