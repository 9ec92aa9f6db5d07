# SPDX-License-Identifier: Apache-2.0
"""Who may see and change which board: what one may not see is as if it did not exist, on both databases."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from aboard.api.boards import BoardChange, NewBoard
from aboard.catalog.catalog import Catalog
from aboard.errors import Forbidden, UnknownName
from aboard.model.people import Access, Role
from aboard.model.states import UnitState
from aboard.services.services import ServiceOptions, Services
from support.catalog_runs import make_run

ROOT = Access.whole("root")
ANN = Access(name="ann", roles={"ws1": Role.VIEWER})
BOB = Access(name="bob", roles={"ws2": Role.ADMIN})
CARL = Access(name="carl", roles={"ws1": Role.EDITOR})
DORA = Access(name="dora", roles={"ws1": Role.ADMIN})


@pytest.fixture
def control(catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Services]:
    """run1 in exp1 of ws1, run2 in ws2."""
    monkeypatch.setenv("ABOARD_HOME", str(tmp_path / "home"))
    catalog.runs.put(make_run(name="one", workspace="ws1", experiment="e"))
    catalog.runs.put(make_run(name="two", workspace="ws2"))
    made = Services(catalog, ServiceOptions())
    yield made
    made.close()


def make(control: Services, access: Access, *sources: str, **fields: Any) -> str:
    return control.boards.create(NewBoard(sources=sources, **fields), access)[0].board.id


def sees(control: Services, board: str, access: Access) -> bool:
    """By every way there is to a board."""
    ways = [
        lambda: control.boards.get(board, access),
        lambda: control.boards.get(board[:10], access),
        lambda: control.boards.runs(board, access),
        lambda: control.boards.lines(board, access),
        lambda: control.boards.reading(board, access),
        lambda: control.hosting.use(board, access),
    ]
    seen = {board in [one.id for one in control.boards.list(access, everybody=True).items]}
    for way in ways:
        try:
            way()
            seen.add(True)
        except UnknownName:
            seen.add(False)
    assert len(seen) == 1, f"{access.name} sees {board} in some ways and not in others"
    return seen.pop()


def test_a_board_is_seen_by_who_sees_all_that_it_shows(control: Services):
    first, both = make(control, ANN, "exp1"), make(control, ROOT, "run1", "run2")
    assert [sees(control, first, who) for who in (ROOT, ANN, BOB, CARL)] == [True, True, False, True]
    assert [sees(control, both, who) for who in (ROOT, ANN, BOB, CARL)] == [True, False, False, False]


def test_what_one_may_not_see_cannot_be_put_on_a_board(control: Services):
    for source in ("run2", "ws2/two", "two", "exp7"):
        with pytest.raises(UnknownName):
            make(control, ANN, source)
    with pytest.raises(UnknownName, match="there is no workspace 'ws2'"):
        make(control, ANN, "run1", workspace="ws2")
    assert control.boards.list(ROOT, everybody=True).items == []


def test_patterns_never_find_what_their_maker_could_not_see(control: Services):
    board = make(control, ANN, "*")
    control.catalog.runs.put(make_run(name="three", workspace="ws2"))
    control.catalog.runs.put(make_run(name="four", workspace="ws1"))
    for who in (ANN, ROOT):
        assert [run.name for run in control.boards.runs(board, who)] == ["one", "four"]
    wide = make(control, ROOT, "*")
    assert wide != board
    assert [run.name for run in control.boards.runs(wide, ROOT)] == ["one", "two", "three", "four"]


def test_a_run_that_moves_away_leaves_or_takes_the_board_with_it(control: Services):
    narrow, board = make(control, CARL, "run1"), make(control, ROOT, "run1")
    hosted = control.hosting.use(board, ANN)
    control.catalog.runs.put(make_run(uid=control.catalog.runs.get(1).uid, number=1, name="one", workspace="ws2"))
    hosted.look(control.place_of)
    with pytest.raises(UnknownName):
        control.hosting.use(board, ANN)
    with pytest.raises(UnknownName):
        control.boards.runs(board, ANN)
    assert control.boards.runs(narrow, ANN) == control.boards.runs(narrow, CARL) == []


def test_a_board_that_has_shown_hidden_runs_stays_hidden(control: Services):
    """Its sources, description, filter and log are about them, also when they are gone."""
    board = make(control, ROOT, "run1", "run2", workspace="ws1")
    control.hosting.use(board, ROOT)
    control.catalog.bin.delete_runs([2])
    control.hosting._look(control.hosting.use(board, ROOT))
    assert [run.name for run in control.boards.runs(board, ROOT)] == ["one"]
    assert [sees(control, board, who) for who in (ROOT, ANN)] == [True, False]
    assert "ws2" in control.boards.get(board, ROOT).shown


@pytest.mark.parametrize(
    ("sources", "where"),
    [
        (("ws1/one*", "ws2/none*"), ""),
        (("run1", "ws2/run5-run9"), ""),
        (("run1",), 'workspace == "ws1" or workspace == "WS2"'),
        (("run1",), 'workspace not in ["ws2", "other"]'),
    ],
)
def test_a_board_that_names_a_hidden_workspace_is_hidden(control: Services, sources: tuple[str, ...], where: str):
    board = make(control, ROOT, *sources, where=where, workspace="ws1", description="about ws2")
    assert control.boards.get(board, ROOT).shown in ((), ("ws1",))
    assert [sees(control, board, who) for who in (ROOT, ANN, CARL)] == [True, False, False]


def test_a_name_that_its_maker_could_not_see_hides_no_board(control: Services):
    """A mistyped workspace, or a pattern for several, is no reason to keep people from their own boards."""
    for sources, where in ((("exp1",), 'workspace != "ws2"'), (("exp1",), 'workspace != "typo"'), (("ws*/one",), "")):
        board = make(control, ANN, *sources, where=where)
        assert [sees(control, board, who) for who in (ROOT, ANN, CARL, BOB)] == [True, True, True, False]


def test_watchers_hear_of_no_board_that_names_a_hidden_workspace(control: Services):
    before = control.changes.position
    make(control, ROOT, "run1", "ws2/none*", workspace="ws1")
    (change,) = [one for one in control.changes.since(before).changes if one.kind == "board"]
    assert "ws2" in change.beside


def test_rights_are_those_of_the_new_workspaces_before_their_runs_are_shown(
    control: Services, monkeypatch: pytest.MonkeyPatch
):
    board = make(control, ROOT, "ws*/*")
    hosted = control.hosting.use(board, ROOT)
    control.catalog.workspaces.add("ws3")
    control.catalog.runs.put(make_run(name="three", workspace="ws3"))
    control.catalog.runs.put(make_run(uid=control.catalog.runs.get(1).uid, number=1, name="one", workspace="ws2"))
    meanwhile: list[frozenset[str]] = []
    show = hosted._runs.show

    def recorded(*arguments: Any) -> None:
        meanwhile.append(hosted.shown)
        show(*arguments)
        meanwhile.append(hosted.shown)

    monkeypatch.setattr(hosted._runs, "show", recorded)
    hosted.look(control.place_of)
    # Runs of the workspaces before and after may be on the board while it changes.
    assert meanwhile == [{"ws1", "ws2", "ws3"}] * 2
    assert hosted.shown == {"ws2", "ws3"}


def test_an_answer_into_which_another_workspace_came_is_not_given(control: Services):
    board = make(control, ROOT, "run1")

    def answer() -> None:
        with control.hosting.held(board, ANN) as hosted:
            moved = make_run(uid=control.catalog.runs.get(1).uid, number=1, name="one", workspace="ws2")
            control.catalog.runs.put(moved)
            hosted.look(control.place_of)

    with pytest.raises(UnknownName):
        answer()


def test_a_workspace_that_is_renamed_keeps_its_boards(control: Services):
    board = make(control, ANN, "ws1/*", "exp1")
    control.catalog.workspaces.rename("ws1", "Lab")
    renamed = Access(name="ann", roles={"lab": Role.VIEWER})
    assert [run.name for run in control.boards.runs(board, renamed)] == ["one"]
    assert control.boards.get(board, renamed).sources == ("lab/*", "exp1")
    assert make(control, renamed, "LAB/*", "exp1") == board
    control.catalog.workspaces.add("ws1")
    assert not sees(control, board, ANN)


def test_only_its_owner_and_administrators_change_a_board(control: Services):
    board = make(control, ANN, "exp1")
    for change in (
        lambda: control.boards.stop(board, CARL),
        lambda: control.boards.start(board, CARL),
        lambda: control.boards.delete(board, CARL),
        lambda: control.boards.change(board, BoardChange(description="mine"), CARL),
    ):
        with pytest.raises(Forbidden, match="belongs to ann"):
            change()
    with pytest.raises(UnknownName):
        control.boards.stop(board, BOB)
    assert control.boards.stop(board, DORA).reason == "stopped by dora"
    assert control.boards.start(board, ANN).state is UnitState.RUNNING
    assert [line.text for line in control.boards.lines(board, ANN)][1:] == ["stopped by dora", "started again by ann"]
    recorded = {(entry.actor, entry.action) for entry in control.catalog.audit.list(target=f"board {board}").items}
    assert recorded == {("ann", "board.create"), ("dora", "board.stop"), ("ann", "board.start")}


def test_each_person_has_a_board_of_their_own(control: Services):
    assert make(control, ANN, "exp1") == make(control, ANN, "exp1") != make(control, CARL, "exp1")
    assert [board.owner for board in control.boards.list(CARL).items] == ["carl"]
    assert [board.owner for board in control.boards.list(CARL, owner="ann").items] == ["ann"]
