# SPDX-License-Identifier: Apache-2.0
"""How often the executor of a board is asked while it starts, and how often a person is told of trouble with it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from aboard.catalog.catalog import Catalog
from aboard.errors import ExecutorUnavailable
from aboard.executors import Local, Slurm
from aboard.executors.executor import Executor
from aboard.model.boards import BoardKind, BoardRecord
from aboard.model.names import new_uid
from aboard.model.states import UnitState
from aboard.model.times import now
from aboard.model.units import UnitHandle, UnitStatus
from aboard.services.boards import process_board
from aboard.services.boards.executors import BoardExecutors
from aboard.services.boards.process_board import ProcessBoard

ROUND_SECONDS = 0.5


@dataclass
class Scheduler:
    """Says what it is told to, and counts how often it was asked; the clock is the one of the rounds."""

    says: UnitState | None = UnitState.PENDING
    """None: it does not answer."""
    clock: float = 1000.0
    asked: list[float] = field(default_factory=list[float])

    def status(self, *_: object) -> UnitStatus:
        self.asked.append(self.clock)
        if self.says is None:
            raise ExecutorUnavailable("the scheduler does not answer")
        return UnitStatus(state=self.says)


@pytest.fixture
def scheduler(monkeypatch: pytest.MonkeyPatch) -> Scheduler:
    made = Scheduler()
    monkeypatch.setattr(process_board, "time", SimpleNamespace(monotonic=lambda: made.clock))
    for kind in (Local, Slurm):
        monkeypatch.setattr(kind, "find", lambda self, unit: UnitHandle(executor=self.name, unit=unit))
        monkeypatch.setattr(kind, "logs", lambda *_, **__: iter(()))
        monkeypatch.setattr(kind, "status", made.status)
        monkeypatch.setattr(kind, "endpoint", lambda *_: None)
    return made


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    opened = Catalog.open(tmp_path / "catalog.db")
    opened.workspaces.add("ws1")
    yield opened
    opened.close()


class Rounds:
    """The rounds of a server over one board that is being started."""

    def __init__(self, catalog: Catalog, scheduler: Scheduler, folder: Path, executor: type[Executor]) -> None:
        added = catalog.boards.add(
            BoardRecord(
                id=str(uuid.uuid4()),
                name="calm-otter",
                workspace="ws1",
                sources=("run1",),
                created=now(),
                kind=BoardKind.PROCESS,
            )
        )
        claimed = catalog.boards.units.claim(added.id, new_uid(), "here:/home")
        assert claimed is not None
        self._unit = replace(claimed, executor=executor.name, mirror=str(folder))
        self._board = catalog.boards.get(added.id)
        self._catalog, self._scheduler = catalog, scheduler
        assert catalog.boards.units.note(self._unit)
        unused: Any = None
        self._looked_after = ProcessBoard(folder, catalog, unused, BoardExecutors())

    def go_on(self, seconds: float) -> list[float]:
        """When the scheduler was asked meanwhile, in seconds from here."""
        begin = self._scheduler.clock
        self._scheduler.asked.clear()
        while self._scheduler.clock < begin + seconds:
            self._looked_after.step(self._board, self._unit)
            self._scheduler.clock += ROUND_SECONDS
        return [at - begin for at in self._scheduler.asked]


def test_a_board_in_a_queue_is_asked_for_at_leisure_and_at_once_when_its_turn_has_come(
    catalog: Catalog, scheduler: Scheduler, tmp_path: Path
) -> None:
    rounds = Rounds(catalog, scheduler, tmp_path, Slurm)
    begun = rounds.go_on(10)
    assert begun[1] == ROUND_SECONDS
    assert len(begun) > 5
    rounds.go_on(60)
    waited = rounds.go_on(3600)
    assert len(waited) <= 3600 / 5 + 1
    scheduler.says = UnitState.STARTING
    first, second, *_ = rounds.go_on(10)
    assert first <= 5
    assert second - first == ROUND_SECONDS


def test_a_process_of_this_machine_is_asked_for_every_round(
    catalog: Catalog, scheduler: Scheduler, tmp_path: Path
) -> None:
    assert len(Rounds(catalog, scheduler, tmp_path, Local).go_on(60)) == 120


def test_trouble_is_told_once_as_long_as_it_is_the_same(
    catalog: Catalog, scheduler: Scheduler, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rounds = Rounds(catalog, scheduler, tmp_path, Slurm)
    for times in (1, 2):
        scheduler.says = None
        assert len(rounds.go_on(60)) > 1
        assert caplog.text.count("calm-otter stays as it is: the scheduler does not answer") == times
        scheduler.says = UnitState.PENDING
        rounds.go_on(10)
