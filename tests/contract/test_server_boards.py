# SPDX-License-Identifier: Apache-2.0
"""The life of boards through a real server over SQLite, or several over PostgreSQL (`make test-servers`)."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from aboard.catalog.catalog import Catalog
from aboard.client.client import Client
from aboard.errors import BoardLimitExceeded, Conflict, Forbidden, InvalidValue, UnknownName
from aboard.model.boards import BoardLimits, LineLevel
from aboard.model.selections import NumberKind
from aboard.model.states import RunState, UnitState
from aboard.services.boards.lifecycle import BoardRules
from aboard.store import Store, open_store
from support.board_pages import ask, event_stream, log, logged_run, shown_runs, until_answered, until_shown
from support.processes import until
from support.stored_runs import folder_uri, serving_runs, until_seen


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ABOARD_HOME", str(tmp_path / "home"))


@pytest.fixture
def catalog(served_catalog: Catalog) -> Catalog:
    return served_catalog


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(folder_uri(tmp_path), create=True)


@pytest.fixture
def client(catalog: Catalog, store: Store) -> Generator[Client]:
    """run1 and run2 in exp1 of ws1, run3 in ws2."""
    logged_run(store, name="one", experiment="digits", hparams={"lr": 0.01}, logdirs=("train", "test"))
    logged_run(store, name="two", experiment="digits", hparams={"lr": 0.5})
    logged_run(store, name="three", workspace="ws2")
    with serving_runs(catalog, store.uri) as made:
        until_seen(made)
        yield made


def _has_title(client: Client, uri: str, title: str, askers: ThreadPoolExecutor) -> bool:
    """Whether a board has become the one with this title; its page must be there all the time."""
    asked = [askers.submit(ask, client, uri) for _ in range(8)]
    assert {answer.result().status for answer in asked} == {200}
    return ask(client, f"{uri}data/environment").json["window_title"] == title


class TestALife:
    def test_from_its_making_to_its_end(self, client: Client):
        made = client.boards.create("exp1", description="digits")
        board = made.board
        assert uuid.UUID(board.id)
        assert len(board.name.split("-")) == 3
        assert (board.owner, board.state, board.workspace) == ("tester", UnitState.RUNNING, "ws1")
        assert (board.sources, board.experiments, board.runs, board.run_count) == (("exp1",), (1,), (), 2)
        assert (board.live, made.reopened, board.idle_timeout, board.expires) == (True, False, None, None)
        until_shown(client, board.uri, "ws1_one_train", "ws1_one_test", "ws1_two_train")
        assert ask(client, board.uri).body.startswith(b"<!doctype html>")

        stopped = client.boards.stop(board.id[:9])
        assert (stopped.state, stopped.exit_status, stopped.reason) == (
            UnitState.STOPPED,
            "stopped",
            "stopped by tester",
        )
        assert stopped.ended is not None
        again = client.boards.stop(board.id)
        assert replace(again, last_used=stopped.last_used) == stopped  # servers write down its uses by and by
        until_answered(client, board.uri, 409)
        assert b"is stopped" in ask(client, board.uri).body

        again = client.boards.start(board.name)
        assert (again.id, again.state, again.ended, again.reason) == (board.id, UnitState.RUNNING, None, "")
        until_shown(client, board.uri, "ws1_one_train", "ws1_one_test", "ws1_two_train")
        assert client.boards.kill(board.id).exit_status == "killed"
        assert client.boards.delete(board.id).id == board.id
        with pytest.raises(UnknownName, match="there is no board"):
            client.boards.get(board.id)
        until_answered(client, board.uri, 404)

    def test_its_log_says_what_happened(self, client: Client):
        board = client.boards.create("run1, run3").board
        client.boards.stop(board.id)
        client.boards.start(board.id)
        texts = ["created by tester: run1, run3", "stopped by tester", "started again by tester"]
        lines = client.boards.logs(board.id)
        assert [line.text for line in lines] == texts
        assert [line.text for line in client.boards.logs(board.id, tail=1)] == texts[-1:]
        assert [line.text for line in client.boards.logs(board.id, head=1)] == texts[:1]
        assert [line.text for line in client.boards.logs(board.id, after=lines[0].at, before=lines[2].at)] == texts[1:2]
        assert client.boards.logs(board.id, level=LineLevel.WARNING) == ()
        with pytest.raises(InvalidValue, match="both the first and the last"):
            client.boards.logs(board.id, head=1, tail=1)

    def test_lines_are_followed_until_the_end(self, client: Client):
        board = client.boards.create("run1").board
        lines = client.boards.follow_logs(board.id)
        assert next(lines).text == "created by tester: run1"
        client.boards.stop(board.id)
        assert [line.text for line in lines] == ["stopped by tester"]

    def test_changes_are_sent_as_events(self, client: Client):
        board = client.boards.create("run1").board
        with event_stream(client, "events") as changes:
            client.boards.stop(board.id)
            # Of several servers this one may hear only now that another has made the board.
            kind, facts = next(one for one in changes if one[0] == "board" and one[1]["changed"] != "create")
            assert (kind, facts["id"], facts["changed"], facts["state"]) == ("board", board.id, "stop", "stopped")

    def test_the_same_selection_opens_the_same_board(self, client: Client):
        first = client.boards.create(["run1", "exp1"]).board
        again = client.boards.create("JOB1, ws1/one", description="new words", idle_timeout="1h")
        assert (again.reopened, again.board.id, again.board.description) == (True, first.id, "new words")
        assert again.board.idle_timeout == 3600
        client.boards.stop(first.id)
        started = client.boards.create("exp1,run1")
        assert (started.board.id, started.board.state) == (first.id, UnitState.RUNNING)
        others = [
            client.boards.create("exp1, run1", template="{run}").board,
            client.boards.create("exp1, run1", where="hparams.lr > 0.1").board,
            client.boards.create("exp1, run1", settings={"tensorboard_args": ["--samples_per_plugin=images=9"]}).board,
        ]
        assert len({first.id, *(board.id for board in others)}) == 4

    def test_it_can_be_changed(self, client: Client):
        board = client.boards.create("exp1").board
        until_shown(client, board.uri, "ws1_one_train", "ws1_one_test", "ws1_two_train")
        changed = client.boards.change(board.id, template="{run}-{logdir}-{hparams.lr}", max_runtime="2h")
        assert (changed.max_runtime, changed.template) == (7200, "{run}-{logdir}-{hparams.lr}")
        until_shown(client, board.uri, "one-train-.01", "one-test-.01", "two-train-.5")
        assert client.boards.change(board.id, max_runtime=0).max_runtime is None

    def test_its_page_is_there_while_it_becomes_another(self, client: Client):
        board = client.boards.create("exp1").board
        assert ask(client, board.uri).status == 200
        with ThreadPoolExecutor(8) as askers:
            for words in ("first", "second"):
                assert client.boards.create("exp1", description=words).reopened
                until(lambda words=words: _has_title(client, board.uri, words, askers))

    def test_its_data_is_there_while_it_becomes_another(self, client: Client, tmp_path: Path):
        """Under the names before or those after, never fewer and never an error; under the same address."""
        log(open_store(folder_uri(tmp_path)), "plain", "a", range(3))
        board = client.boards.create(["exp1", str(tmp_path / "store/plain/tb")]).board
        before = {"ws1_one_train", "ws1_one_test", "ws1_two_train", "a"}
        until_shown(client, board.uri, *before)
        after = {"one-train", "one-test", "two-train"}
        seen, has_changed = list[tuple[int, frozenset[str]]](), threading.Event()

        def look() -> None:
            while not has_changed.is_set():
                answer = ask(client, f"{board.uri}data/plugin/scalars/tags")
                seen.append((answer.status, frozenset(answer.json) if answer.status == 200 else frozenset()))

        with ThreadPoolExecutor(4) as askers:
            looking = [askers.submit(look) for _ in range(4)]
            try:
                for template in ("{run}-{logdir}", "{workspace}_{run}_{logdir}") * 3 + ("{run}-{logdir}",):
                    title = f"named by {template}"
                    changed = client.boards.change(board.id, template=template, description=title)
                    assert (changed.id, changed.uri) == (board.id, board.uri)
                    until(lambda: ask(client, f"{board.uri}data/environment").json["window_title"] == title, 60)  # noqa: B023
            finally:
                has_changed.set()
            for one in looking:
                one.result()
        assert {status for status, _ in seen} == {200}
        assert all(len(names) == 4 for _, names in seen), {names for _, names in seen}
        until(lambda: all(after < shown_runs(client, board.uri) for _ in range(6)), 60)
        assert ask(client, f"{board.uri}data/plugin/scalars/scalars?run=one-train&tag=loss").status == 200

    def test_who_asks_while_it_is_stopped_is_answered_or_told_so(self, client: Client):
        board = client.boards.create("exp1").board
        until_shown(client, board.uri, "ws1_one_train", "ws1_one_test", "ws1_two_train")
        answers, is_over = list[tuple[int, bytes]](), threading.Event()

        def look() -> None:
            while not is_over.is_set():
                answer = ask(client, f"{board.uri}data/runs")
                answers.append((answer.status, b"is stopped" if b"is stopped" in answer.body else answer.body))

        with ThreadPoolExecutor(4) as askers:
            looking = [askers.submit(look) for _ in range(4)]
            for _ in range(6):
                client.boards.stop(board.id)
                client.boards.start(board.id)
            is_over.set()
            for one in looking:
                one.result()
        assert {status for status, _ in answers} <= {200, 409}
        assert {body for status, body in answers if status == 409} <= {b"is stopped"}
        assert all(body.count(b"ws1_") == 3 for status, body in answers if status == 200), set(answers)

    def test_who_asks_at_the_same_time_gets_one_board(self, client: Client):
        with ThreadPoolExecutor(8) as threads:
            made = list(threads.map(lambda _: client.boards.create("exp1"), range(8)))
        assert len({one.board.id for one in made}) == 1
        assert sum(not one.reopened for one in made) == 1


class TestFinding:
    def test_by_a_part_of_the_id_or_the_name(self, client: Client):
        boards = [client.boards.create(f"run{number}").board for number in (1, 2)]
        for board in boards:
            assert client.boards.get(board.id[:12]).id == client.boards.get(board.name.upper()).id == board.id
            for path in (f"/boards/{board.name}", f"/proxy/{board.id}/", f"/boards/{board.id[:12]}/"):
                assert ask(client, path).address == f"{client.url}{board.uri}"
        moved = ask(client, f"/proxy/{boards[0].id}/data/runs?x=1", follow=False)
        assert (moved.status, moved.headers["location"]) == (307, f"../../../boards/{boards[0].id}/data/runs?x=1")
        with pytest.raises(UnknownName, match="there is no board 'nobody'"):
            client.boards.get("nobody")

    def test_lists(self, client: Client):
        boards = [client.boards.create(f"run{number}").board for number in (1, 2, 3)]
        client.boards.stop(boards[0].id)
        ids = [board.id for board in boards]
        assert [board.id for board in client.boards.list().items] == ids
        assert [board.id for board in client.boards.list(sort_by="created", descending=True).items] == ids[::-1]
        assert [board.id for board in client.boards.list(sort_by="id").items] == sorted(ids)
        assert [board.id for board in client.boards.list(states=[UnitState.RUNNING]).items] == ids[1:]
        assert [board.id for board in client.boards.list(workspaces="ws2").items] == ids[2:]
        assert client.boards.list(owner="nobody").items == ()
        assert len(client.boards.list(everybody=True).items) == 3
        page = client.boards.list(limit=2)
        assert [board.id for board in client.boards.list(limit=2, after=page.next).items] == ids[2:]
        assert [board.id for board in client.boards.iterate()] == ids
        with pytest.raises(InvalidValue, match="not sorted by 'colour'"):
            client.boards.list(sort_by="colour")
        with pytest.raises(InvalidValue, match="not where a page"):
            client.boards.list(after="x")


class TestWhatItShows:
    def test_an_experiment_grows(self, client: Client, store: Store):
        board = client.boards.create("exp1").board
        until_shown(client, board.uri, "ws1_one_train", "ws1_one_test", "ws1_two_train")
        uid = logged_run(store, name="late", experiment="digits", status=RunState.RUNNING)
        until_shown(client, board.uri, "ws1_one_train", "ws1_one_test", "ws1_two_train", "ws1_late_train")
        until(lambda: client.boards.get(board.id).run_count == 3, 60)
        until(lambda: "1 run (run4) joined" in [line.text for line in client.boards.logs(board.id)], 60)
        log(store, uid, "train", range(5, 9))
        query = "data/plugin/scalars/scalars?run=ws1_late_train&tag=loss"
        # Of several servers each finds the new run by itself, and says 404 until then.
        until(lambda: (answer := ask(client, board.uri + query)).status == 200 and len(answer.json) == 9, 60)
        client.runs.delete("run4")
        until_shown(client, board.uri, "ws1_one_train", "ws1_one_test", "ws1_two_train")

    def test_a_filter_and_patterns_of_workspaces(self, client: Client):
        low = client.boards.create(where="hparams.lr < 0.1").board
        until_shown(client, low.uri, "ws1_one_train", "ws1_one_test")
        wide = client.boards.create("ws*/t*").board
        until_shown(client, wide.uri, "ws1_two_train", "ws2_three_train")
        assert [run.number for run in client.boards.runs(wide.id)] == [2, 3]
        assert client.boards.create("1", numbers=NumberKind.EXPERIMENT).board.experiments == (1,)

    def test_two_logdirs_never_share_a_name(self, client: Client, store: Store):
        logged_run(store, name="one", logdirs=("a/train", "b/train"))
        board = client.boards.create("run1, run4", template="{workspace}").board
        runs = ("one-run1_test", "one-run1_train", "one-run4_a/train", "one-run4_b/train")
        until_shown(client, board.uri, *(f"ws1_{run}" for run in runs))

    def test_of_too_many_runs_the_newest_are_shown(self, client: Client, monkeypatch: pytest.MonkeyPatch):
        from aboard.services.boards import hosted_board

        monkeypatch.setattr(hosted_board, "MOST_SHOWN", 2)
        board = client.boards.create("*").board
        until_shown(client, board.uri, "ws1_two_train", "ws2_three_train")
        assert client.boards.reading(board.id).problems == ("more than 2 runs are selected; the newest 2 are shown",)

    def test_a_value_that_a_run_lacks_is_called_none(self, client: Client):
        template = "{run}_{hparams.lr}_{experiment}_{metrics.acc.max}_{tags.best}"
        board = client.boards.create("run3", template=template).board
        until_shown(client, board.uri, "three_none_none_none_none")

    def test_a_renamed_run_is_called_so(self, client: Client):
        board = client.boards.create("run3").board
        until_shown(client, board.uri, "ws2_three_train")
        client.runs.rename("run3", "other")
        until_shown(client, board.uri, "ws2_other_train")

    def test_plain_folders_beside_runs(self, client: Client, tmp_path: Path):
        for name in ("a", "b"):
            log(open_store(str(tmp_path / "plain"), create=True), name, "x", range(3))
        both = client.boards.create(["run3", str(tmp_path / "plain" / "a")]).board
        until_shown(client, both.uri, "ws2_three_train", "tb/x")
        alone = client.boards.create(str(tmp_path / "plain")).board
        assert alone.workspace == "default"
        until_shown(client, alone.uri, "a/tb/x", "b/tb/x")
        named = client.boards.create(str(tmp_path / "plain"), template="{root}:{run}").board
        until_shown(client, named.uri, "plain:a/tb/x", "plain:b/tb/x")
        with pytest.raises(InvalidValue, match="there is no folder"):
            client.boards.create(str(tmp_path / "nowhere"))

    def test_hostile_names_are_only_names(self, client: Client, store: Store):
        name = "<script>alert(1)</script>".replace("/", "|") + "'\"&%00{run}"
        logged_run(store, name=name, workspace="ws1")
        board = client.boards.create("run4", description="<b>&amp;").board
        until_shown(client, board.uri, f"ws1_{name}_train")
        answer = ask(client, f"{board.uri}data/runs")
        assert answer.headers["content-type"].startswith("application/json")
        page = ask(client, board.uri).body
        assert b"<script>alert(1)" not in page
        assert b"<b>&amp;" not in page


class TestLimits:
    def test_of_all_people_together(self, catalog: Catalog, store: Store):
        for _ in range(2):
            logged_run(store)
        rules = BoardRules(limits=BoardLimits(total=1))
        with serving_runs(catalog, store.uri, boards=rules) as client:
            until_seen(client)
            board = client.boards.create("run1").board
            with pytest.raises(BoardLimitExceeded, match=f"(?s)1 are allowed in all.*{board.name}"):
                client.boards.create("run2")

    @pytest.fixture
    def few(self, catalog: Catalog, store: Store) -> Generator[Client]:
        for _ in range(4):
            logged_run(store)
        rules = BoardRules(limits=BoardLimits(server=2))
        with serving_runs(catalog, store.uri, boards=rules) as made:
            until_seen(made)
            yield made

    def test_too_many_are_refused_with_what_could_be_stopped(self, few: Client):
        first, second = (few.boards.create(f"run{number}").board for number in (1, 2))
        with pytest.raises(BoardLimitExceeded) as caught:
            few.boards.create("run3")
        assert (caught.value.code, caught.value.status) == ("TensorboardLimitExceeded", 429)
        assert first.name in caught.value.hint
        assert second.id[:8] in caught.value.hint
        assert few.boards.create("run1").reopened
        few.boards.stop(first.id)
        third = few.boards.create("run3").board
        with pytest.raises(BoardLimitExceeded):
            few.boards.start(first.id)
        few.boards.delete(third.id)
        assert few.boards.start(first.id).state is UnitState.RUNNING

    def test_it_holds_for_who_asks_at_the_same_time(self, few: Client):
        def create(number: int) -> bool:
            try:
                few.boards.create(f"run{number}")
            except BoardLimitExceeded:
                return False
            return True

        with ThreadPoolExecutor(4) as threads:
            assert sum(threads.map(create, range(1, 5))) == 2


class TestTheEnd:
    def test_after_its_longest_time(self, client: Client):
        board = client.boards.create("run1", max_runtime=1.0).board
        assert board.expires == board.started + timedelta(seconds=1)
        until(lambda: client.boards.get(board.id).state is UnitState.STOPPED, 60)
        ended = client.boards.get(board.id)
        assert (ended.exit_status, ended.reason) == ("expired", "its longest time to run, 1s, is over")
        assert client.boards.logs(board.id)[-1].text == ended.reason
        assert ask(client, board.uri).status == 409


class TestBadInput:
    def test_is_told(self, client: Client):
        wrong = {
            "no run is named": {},
            "there is no run 'nope'": {"sources": "nope"},
            "a brace that is never closed": {"sources": "run1", "template": "{run"},
            "an unknown field 'colour'": {"sources": "run1", "template": "{colour}"},
            "a board has no setting 'tensorbord_args'": {"sources": "run1", "settings": {"tensorbord_args": []}},
            "'--logdir=/etc' has no meaning": {"sources": "run1", "settings": {"tensorboard_args": ["--logdir=/etc"]}},
            "'image' is for boards that are processes": {"sources": "run1", "settings": {"image": "x"}},
            "max_runtime is 'soon'": {"sources": "run1", "max_runtime": "soon"},
            "idle_timeout is -5": {"sources": "run1", "idle_timeout": -5},
            "the description has 501 characters": {"sources": "run1", "description": "x" * 501},
        }
        for problem, given in wrong.items():
            with pytest.raises((InvalidValue, UnknownName), match=problem):
                client.boards.create(**given)
        with pytest.raises(Forbidden, match="plugin 'profile' may not be loaded"):
            client.boards.create("run1", settings={"plugins": ["profile"]})
        assert client.boards.list(everybody=True).items == ()

    def test_folders_outside_of_the_roots_are_not_shown(self, catalog: Catalog, store: Store, tmp_path: Path):
        inside, outside = tmp_path / "inside", tmp_path / "outside"
        for folder in (inside / "x", outside / "x"):
            folder.mkdir(parents=True)
        (inside / "way-out").symlink_to(outside)
        with serving_runs(catalog, store.uri, roots=[str(inside), "memory://bucket/logs"]) as client:
            assert client.boards.create(str(inside / "x")).board.state is UnitState.RUNNING
            assert client.boards.create("memory://bucket/logs/mine").board.state is UnitState.RUNNING
            for uri in (
                outside,
                inside / ".." / "outside",
                inside / "way-out",
                "memory://bucket/logs2",
                "memory://other/logs",
            ):
                with pytest.raises(Forbidden, match="this server does not show"):
                    client.boards.create(str(uri))

    def test_a_process_board_is_refused_clearly(self, client: Client):
        from aboard.api.boards import BoardCreated, NewBoard
        from aboard.model.boards import BoardKind

        with pytest.raises(InvalidValue, match="has no boards that are processes"):
            client._transport().send(
                BoardCreated, "POST", "boards", NewBoard(sources=("run1",), kind=BoardKind.PROCESS)
            )
        with pytest.raises(InvalidValue, match="has no boards that are processes"):
            client.boards.preview("run1", kind=BoardKind.PROCESS)
        with pytest.raises(InvalidValue, match="given to no executor"):
            client.boards.preview("run1")


def test_everything_is_there_after_a_restart(catalog: Catalog, store: Store):
    logged_run(store, name="one", experiment="e")
    with serving_runs(catalog, store.uri) as client:
        until_seen(client)
        running, stopped = client.boards.create("exp1").board, client.boards.create("run1").board
        client.boards.stop(stopped.id)
        until_shown(client, running.uri, "ws1_one_train")
    with serving_runs(catalog, store.uri) as client:
        until_shown(client, running.uri, "ws1_one_train")
        assert client.boards.get(stopped.id).state is UnitState.STOPPED
        logged_run(store, name="two", experiment="e")
        until_shown(client, running.uri, "ws1_one_train", "ws1_two_train")
        with pytest.raises(Conflict, match="is stopped"):
            client.boards.reading(stopped.id)
        until(lambda: client.boards.reading(running.id).runs == 2, 60)  # another process may have been asked before
