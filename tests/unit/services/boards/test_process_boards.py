# SPDX-License-Identifier: Apache-2.0
"""Boards that are processes, looked after by several server processes of one host."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from aboard.catalog.catalog import Catalog
from aboard.model.boards import BoardKind, BoardRecord, BoardUnit
from aboard.model.names import new_uid
from aboard.model.states import UnitState
from aboard.model.times import now
from aboard.services.boards.folders import OpenFolders
from aboard.services.boards.process_board import ProcessBoard
from aboard.services.boards.process_boards import ProcessBoards, ProcessOptions

BOARD = "0b7ac6a4-9c3c-4d4e-8a52-0f3f5a2f8a11"


def test_a_unit_that_another_server_claims_during_a_round_is_not_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[tuple[str, UnitState | None]] = []

    def step(_: ProcessBoard, board: BoardRecord, unit: BoardUnit) -> bool:
        steps.append((unit.unit, board.state))
        return False

    def leave(_: ProcessBoard, unit: BoardUnit) -> bool:
        steps.append((unit.unit, None))
        return True

    monkeypatch.setattr(ProcessBoard, "step", step)
    monkeypatch.setattr(ProcessBoard, "leave", leave)
    with Catalog.open(tmp_path / "catalog.sqlite") as catalog:
        catalog.workspaces.add("lab")
        made = BoardRecord(
            id=BOARD,
            name="board",
            workspace="lab",
            sources=("run1",),
            created=now(),
            kind=BoardKind.PROCESS,
            state=UnitState.PENDING,
        )
        catalog.boards.add(made)
        options = ProcessOptions(home=tmp_path)
        boards = ProcessBoards(catalog, OpenFolders(None), dict, options, lambda *_: None)
        (tmp_path / "process-boards").mkdir()
        assert boards._place is not None
        boards._place.mkdir()
        units, list_units = catalog.boards.units, catalog.boards.units.list
        claimed = new_uid()

        def list_after_claim() -> Sequence[BoardUnit]:
            units.claim(BOARD, claimed, boards.host)
            return list_units()

        monkeypatch.setattr(units, "list", list_after_claim)
        boards._round()
        boards._threads.shutdown()
        boards.stop(1)
        assert steps == [(claimed, UnitState.STARTING)]
