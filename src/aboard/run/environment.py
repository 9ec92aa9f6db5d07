# SPDX-License-Identifier: Apache-2.0
"""Environment variables of a run: where a command writes, under the names of aboard and of other systems."""

from __future__ import annotations

import getpass
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from aboard.run.spool import TENSORBOARD

SPOOL = "ABOARD_SPOOL"
RUN = "ABOARD_RUN"
RUN_UID = "ABOARD_RUN_UID"
ATTEMPT = "ABOARD_ATTEMPT"
WORKSPACE = "ABOARD_WORKSPACE"
EXPERIMENT = "ABOARD_EXPERIMENT"
OUTPUT_DIR = "ABOARD_OUTPUT_DIR"
TENSORBOARD_DIR = "ABOARD_TENSORBOARD_DIR"


@dataclass(frozen=True, kw_only=True)
class RunContext:
    """Which run a process belongs to, and where its files go on this machine."""

    spool: Path
    uid: str
    name: str
    workspace: str
    experiment: str = ""
    attempt: int = 1
    output: Path

    @property
    def tensorboard(self) -> Path:
        return self.output / TENSORBOARD

    @property
    def channels(self) -> dict[str, Path]:
        """The folders by which PAI tells a script where to put what."""
        return {
            "TENSORBOARD": self.tensorboard,
            **{name.upper(): self.output / name for name in ("model", "checkpoints")},
        }


def variables_of(place: RunContext) -> dict[str, str]:
    """What is set for the command of a run; all folders are below its output folder."""
    output, tensorboard = str(place.output), str(place.tensorboard)
    resuming = {"XT_RESUME_NAME": place.name} if place.attempt > 1 else {}
    return {
        SPOOL: str(place.spool),
        RUN: place.name,
        RUN_UID: place.uid,
        ATTEMPT: str(place.attempt),
        WORKSPACE: place.workspace,
        EXPERIMENT: place.experiment,
        OUTPUT_DIR: output,
        TENSORBOARD_DIR: tensorboard,
        "XT_OUTPUT_MNT": output,
        "XT_OUTPUT_DIR": output,
        "XT_RUN_NAME": place.name,
        "XT_WORKSPACE_NAME": place.workspace,
        "XT_EXPERIMENT_NAME": place.experiment,
        "XT_USERNAME": user_name(),
        "XT_NODE_ID": _node_id(),
        **({"XT_JOB_ID": job} if (job := _job_id(place)) else {}),
        **resuming,
        **{f"PAI_OUTPUT_{name}": str(folder) for name, folder in place.channels.items()},
        "AIP_TENSORBOARD_LOG_DIR": tensorboard,
        "TENSORBOARD_LOGGING_DIR": tensorboard,
    }


def _node_id() -> str:
    """Which of several machines of one job this is, as XT counts them; batch systems tell it by these names."""
    numbers = (os.environ.get(name, "") for name in ("NODE_RANK", "GROUP_RANK", "SLURM_NODEID"))
    return f"node{next((number for number in numbers if number.isdecimal()), '0')}"


def _job_id(place: RunContext) -> str:
    """What the runs of one experiment have in common; a batch system's own number goes before."""
    names = ("XT_JOB_ID", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID")
    return next((os.environ[name] for name in names if os.environ.get(name)), place.experiment)


def context_from(environ: Mapping[str, str]) -> RunContext | None:
    """The run that the environment speaks of, if this process was started by `aboard run`."""
    if not all(environ.get(name) for name in (SPOOL, RUN_UID, OUTPUT_DIR)):
        return None
    attempt = environ.get(ATTEMPT, "1")
    return RunContext(
        spool=Path(environ[SPOOL]),
        uid=environ[RUN_UID],
        name=environ.get(RUN, ""),
        workspace=environ.get(WORKSPACE, ""),
        experiment=environ.get(EXPERIMENT, ""),
        attempt=int(attempt) if attempt.isdecimal() else 1,
        output=Path(environ[OUTPUT_DIR]),
    )


def user_name() -> str:
    """Who runs this process; empty where nobody is known."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return str(os.getuid()) if hasattr(os, "getuid") else ""
