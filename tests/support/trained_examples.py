# SPDX-License-Identifier: Apache-2.0
"""Scripts that train with a real framework under `aboard run`, and what the store and a board then show."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aboard.model.runs import RunRecord
from support.board_client import BoardClient, board_over, plugin
from support.runs import Ended, Kept, Machine, finish, well

EXAMPLES = Path(__file__).parents[2] / "examples"
# Frameworks load for many seconds where other programs keep the machine busy.
SECONDS = 240
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "1"}


@dataclass
class Trained:
    """A script that came to its end, and its store."""

    machine: Machine
    ended: Ended

    @property
    def kept(self) -> Kept:
        return Kept.at(self.machine.store)

    def runs(self) -> dict[str, RunRecord]:
        """All runs of the store by name."""
        kept = self.kept
        return {run.name: run for uid in kept.uids() for run in [kept.run(uid)]}

    def run(self, name: str = "example") -> RunRecord:
        return self.runs()[name]

    def board(self, name: str = "example") -> ShownBoard:
        """A board over what the store has of a run."""
        return ShownBoard(Path(self.machine.store) / self.run(name).uid / "tb")


class ShownBoard:
    """What TensorBoard's dashboards get to see."""

    def __init__(self, folder: Path) -> None:
        self._client = BoardClient(board_over(folder))

    def tags(self, dashboard: str) -> dict[str, set[str]]:
        """Tags by logdir; the run itself is `.`."""
        answer = self._get(dashboard, "tags")
        return {run: set(tags) for run, tags in answer.items() if tags}

    def curve(self, logdir: str, tag: str) -> list[tuple[int, float]]:
        """(step, value) as the chart gets them."""
        return [(step, value) for _, step, value in self._get("scalars", "scalars", run=logdir, tag=tag)]

    def steps(self, logdir: str, tag: str) -> list[int]:
        return [step for step, _ in self.curve(logdir, tag)]

    def graph(self, logdir: str) -> str:
        """The graph as text."""
        asked = plugin("graphs", "graph", run=logdir, limit_attr_size=1024, large_attrs_key="_too_large")
        answer = self._client.fetch(asked.path)
        assert answer.status == 200
        return answer.body.decode()

    def embeddings(self, logdir: str) -> dict[str, Any]:
        """What the projector knows of the embeddings of a logdir, by the folders of their files."""
        shown = self._get("projector", "info", run=logdir)["embeddings"]
        return {Path(one["tensorPath"]).parent.name: one for one in shown}

    def _get(self, *names: str, **query: object) -> Any:
        answer = self._client.fetch(plugin(*names, **query).path)
        assert answer.status == 200, answer
        return answer.json


def train(
    folder: Path, script: Path | str, *arguments: object, options: tuple[object, ...] = (), **environment: str
) -> Trained:
    """Run a script, or its text, under `aboard run` as the run `example`."""
    machine = Machine(folder / "machine", str(folder / "store"), dict(QUIET))
    path = script if isinstance(script, Path) else machine.script(script)
    given = ("--name", "example", "--resources-every", "0", "--no-code", *options)
    process = machine.start("run", *given, "--", sys.executable, path, *arguments, **environment)
    return Trained(machine, well_trained(finish(process, SECONDS)))


def train_alone(folder: Path, script: Path | str, *arguments: object, **environment: str) -> Trained:
    """Run a script, or its text, by itself."""
    machine = Machine(folder / "machine", str(folder / "store"), dict(QUIET))
    text = script.read_text(encoding="utf-8") if isinstance(script, Path) else script
    process = machine.start_python(text, *arguments, **environment)
    return Trained(machine, well_trained(finish(process, SECONDS)))


def well_trained(ended: Ended) -> Ended:
    well(ended)
    assert "aboard: warning" not in ended.err, ended.err
    return ended
