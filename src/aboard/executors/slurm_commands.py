# SPDX-License-Identifier: Apache-2.0
"""Slurm's own programs, and what they say, as errors with a next step."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

from aboard.errors import AboardError, ExecutorUnavailable, UnitRefused

_SECONDS = 60
_LARGEST_ARRAY = re.compile(r"^MaxArraySize\s*=\s*(\d+)", re.MULTILINE)
_FIELD = re.compile(r"(\w+(?:/\w+)?)=(\S*)")
_DOWN = (
    "Unable to contact slurm controller",
    "Connection refused",
    "Socket timed out",
    "Zero Bytes were transmitted",
    "configuration source",
    "Communication connection failure",
    "Protocol authentication error",
)
_NEXT_STEPS = {
    "invalid partition": "`sinfo -s` lists the partitions",
    "Invalid account": "`sacctmgr show associations user=$USER` lists your accounts",
    "Invalid qos": "`sacctmgr show qos` lists them",
    "time limit": "`sinfo -o '%P %l'` lists the limits of the partitions",
    "node configuration is not available": "no node there has that: `sinfo -o '%P %c %m %G'` lists what they have",
    "More processors": "`sinfo -o '%P %c'` lists how many the nodes have",
    "Invalid generic resource": "`sinfo -o '%P %G'` lists what the nodes have",
    "violates accounting": "a limit of your account or QOS is reached: wait for other jobs, or ask for less",
    "Invalid job array": "this cluster takes no such array: `scontrol show config | grep MaxArraySize` tells how many",
    "Invalid feature": "`sinfo -o '%P %f'` lists what the nodes have",
    "QOSMax": "a limit of your QOS is reached: wait for other jobs, or ask for less",
}
UNKNOWN_JOB = ("Invalid job id", "not found")  # the second of a task of an array


class SlurmRefused(UnitRefused):
    """What one of Slurm's programs said when it failed."""


def check_installed() -> None:
    """Refuse to submit where Slurm is not installed: nothing can have been taken, so nothing needs to be kept."""
    if shutil.which("sbatch") is None:
        hint = "Submit from a machine that has Slurm, or use another executor, as --executor local."
        raise SlurmRefused("Slurm is not installed on this machine: there is no program sbatch.", hint=hint)


def slurm(program: str, *arguments: str) -> str:
    """What the program prints; times are in UTC."""
    path = shutil.which(program)
    if path is None:
        hint = "use it on a machine that can submit to Slurm"
        raise ExecutorUnavailable(f"there is no program {program} here", hint=hint)
    # What a unit gets of aboard it gets through its own environment.
    environ = {name: value for name, value in os.environ.items() if not name.startswith("ABOARD_")}
    for name in ("SLURM_RESTART_COUNT", "SLURM_JOB_END_TIME"):
        environ.pop(name, None)  # of the job that this process may be part of; a new one inherits it
    if program != "sbatch":  # a job inherits what sbatch has
        environ.update(SLURM_TIME_FORMAT="standard", TZ="UTC")
    try:
        done = subprocess.run([path, *arguments], capture_output=True, timeout=_SECONDS, env=environ, check=False)
    except subprocess.TimeoutExpired as error:
        raise ExecutorUnavailable(f"{program} did not answer within {_SECONDS} s") from error
    if done.returncode != 0:
        raise _fault(program, (done.stderr or done.stdout).decode(errors="replace"))
    return done.stdout.decode(errors="replace")


def largest_array() -> int:
    """How many units one array can have here."""
    told = _LARGEST_ARRAY.search(slurm("scontrol", "show", "config"))
    return max(1, int(told[1])) if told else 1


def fields(line: str) -> dict[str, str]:
    """The fields of one line of `scontrol --oneliner`."""
    return dict(_FIELD.findall(line))


def _fault(program: str, said: str) -> AboardError:
    lines = [line.partition("error: ")[2] or line for line in said.strip().splitlines()]
    message = "; ".join(lines) or "no reason given"
    if any(text in said for text in _DOWN):
        hint = "`scontrol ping` tells whether the controller is up"
        return ExecutorUnavailable(f"Slurm does not answer: {message}", hint=hint)
    hint = next((step for text, step in _NEXT_STEPS.items() if text.lower() in said.lower()), "")
    return SlurmRefused(f"{program} refused: {message}", hint=hint)
