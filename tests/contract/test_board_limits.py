# SPDX-License-Identifier: Apache-2.0
"""When boards end by themselves, by a clock that the test sets, on both databases."""

from __future__ import annotations

from collections.abc import Generator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from aboard.api.boards import NewBoard
from aboard.catalog.catalog import Catalog
from aboard.model.boards import BoardRecord
from aboard.model.people import Access
from aboard.model.states import UnitState
from aboard.model.times import now
from aboard.services.boards.expiry import BoardExpiry
from aboard.services.services import ServiceOptions, Services
from support.catalog_runs import make_run

SOMEONE = Access.whole("someone")
HOUR = 3600.0


@pytest.fixture
def control(catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Services]:
    """With run1 and run2."""
    monkeypatch.setenv("ABOARD_HOME", str(tmp_path / "home"))
    catalog.runs.put_many([make_run(name="one"), make_run(name="two")])
    made = Services(catalog, ServiceOptions())
    yield made
    made.close()


def look_at(control: Services, *, hours: float) -> list[str]:
    """The ids of the boards that a keeper ends which looks at them so much later."""
    ended: list[str] = []

    def note(board: BoardRecord, _: str) -> None:
        ended.append(board.id)

    ahead = timedelta()
    keeper = BoardExpiry(control.catalog, control.hosting, note, lambda _: None, clock=lambda: now() + ahead)
    ahead = timedelta(hours=hours)  # after the keeper began: boards are not idle before there is a server
    keeper.round()
    return ended


def make(control: Services, source: str, **fields: Any) -> str:
    return control.boards.create(NewBoard(sources=(source,), **fields), SOMEONE)[0].board.id


def test_a_board_that_nobody_uses_ends_and_one_in_use_goes_on(control: Services) -> None:
    used, unused = (make(control, source, idle_timeout=HOUR) for source in ("run1", "run2"))
    for board in (used, unused):
        control.hosting.use(board, SOMEONE)
    control.hosting.close_board(unused)  # as when nobody looked at it for long
    assert look_at(control, hours=0.9) == []
    assert look_at(control, hours=2) == [unused]
    ended = control.boards.get(unused, SOMEONE)
    assert (ended.state, ended.exit_status, ended.reason) == (UnitState.STOPPED, "idle", "nobody used it for 1h")
    going_on = control.boards.get(used, SOMEONE)
    assert going_on.state is UnitState.RUNNING
    assert going_on.last_used is not None
    assert going_on.last_used > ended.created


def test_a_board_ends_after_its_longest_time_though_it_is_used(control: Services) -> None:
    board = make(control, "run1", max_runtime=HOUR)
    control.hosting.use(board, SOMEONE)
    assert look_at(control, hours=0.9) == []
    assert look_at(control, hours=1.1) == [board]
    ended = control.boards.get(board, SOMEONE)
    assert (ended.exit_status, ended.reason) == ("expired", "its longest time to run, 1h, is over")
