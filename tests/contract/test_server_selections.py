# SPDX-License-Identifier: Apache-2.0
"""What a person types as a selection, over HTTP; `make test-servers` has three servers over PostgreSQL."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from aboard.api.runs import SelectionResult
from aboard.catalog.catalog import Catalog
from aboard.catalog.runs import selections
from aboard.client.client import Client
from aboard.errors import Conflict, InvalidValue, QueryError, UnknownName
from aboard.model.people import Access
from aboard.model.selections import NumberKind, parse_selection
from aboard.model.states import RunState
from aboard.services.services import ServiceOptions, Services
from aboard.services.user_scope import UserScope
from aboard.store import Store, open_store
from support.catalog_runs import make_run
from support.stored_runs import folder_uri, serving_runs, store_run


@pytest.fixture
def catalog(served_catalog: Catalog) -> Catalog:
    return served_catalog


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(folder_uri(tmp_path), create=True)


@pytest.fixture
def client(catalog: Catalog, store: Store) -> Generator[Client]:
    """Runs 1 to 4 in ws1, the first two in exp1, and run5 in ws2, which is live."""
    for number, lr in ((1, 0.1), (2, 0.2), (3, 0.3), (4, 0.4)):
        experiment = "digits" if number < 3 else None
        catalog.runs.put(_stored(store, name=f"base-{number}", lr=lr, workspace="ws1", experiment=experiment))
    catalog.runs.put(_stored(store, name="Über 9", lr=0.9, workspace="WS2", status=RunState.RUNNING))
    with serving_runs(catalog, store.uri) as made:
        yield made


def _stored(store: Store, *, name: str, lr: float, workspace: str, **fields: Any):
    status = fields.pop("status", RunState.COMPLETED)
    uid = store_run(store, name=name, workspace=workspace, hparams={"lr": lr}, status=status, **fields)
    return make_run(
        uid=uid, name=name, workspace=workspace, hparams={"lr": lr}, store=store.uri, status=status, **fields
    )


def numbers(selected: SelectionResult) -> list[int]:
    return [run.number for run in selected.runs]


def test_every_kind_of_word_selects_its_runs(client: Client, store: Store):
    uid = client.runs.get("run3").uid
    expected: dict[tuple[str, ...], list[int]] = {
        ("run3,", "run1,", "3"): [3, 1],
        ("exp1",): [1, 2],
        ("JOB1", "run5"): [1, 2, 5],
        ("digits",): [1, 2],
        ("ws1/digits", "ws2/run5"): [1, 2, 5],
        ("run2-run900",): [2, 3, 4, 5],
        ("ws1/run2-run900",): [2, 3, 4],
        ("ws1/base-?",): [1, 2, 3, 4],
        ("*-3", "ÜBER*"): [3, 5],
        ("run*",): [1, 2, 3, 4, 5],
        ("run[1-3]*", "run1"): [1],
        ("über 9",): [5],
        (uid.lower(), "ws1\\BASE-4"): [3, 4],
        (store.uri,): [1, 2, 3, 4, 5],
        (f"{store.uri}/{uid}",): [3],
    }
    for typed, wanted in expected.items():
        assert numbers(client.runs.select(typed)) == wanted, typed
    assert client.runs.select("run[1-3]*,run1").empty == ("run[1-3]*",)
    assert numbers(client.runs.select("1", numbers=NumberKind.EXPERIMENT)) == [1, 2]
    assert numbers(client.runs.select("base-1", workspace="ws1")) == [1]
    assert numbers(client.runs.select(workspace="ws2")) == [5]


def test_a_filter_narrows_what_is_named(client: Client):
    assert numbers(client.runs.select(where="hparams.lr > 0.25")) == [3, 4, 5]
    assert numbers(client.runs.select("exp1, run4", where="hparams.lr > 0.15")) == [2, 4]
    assert numbers(client.runs.select(where="hparams.lr > 0.15 and hparams.lr < 0.35")) == [2, 3]
    assert numbers(client.runs.select("*", where="status == 'running'")) == [5]
    nothing = client.runs.select("exp1", where="hparams.lr > 7")
    assert (nothing.runs, nothing.empty) == ((), ("hparams.lr > 7",))
    with pytest.raises(InvalidValue, match="the filter is empty"):
        client.runs.select("run1", where=" ")
    with pytest.raises(QueryError, match=r"nearest: hparams\.lr"):
        client.runs.select(where="hparams.lrr > 1")


def test_what_is_told_of_a_run_says_where_its_files_are(client: Client, store: Store):
    (run,) = client.runs.select("run5").runs
    known = client.runs.get("run5")
    assert (run.uid, run.name, run.workspace, run.status) == (known.uid, "Über 9", "WS2", RunState.RUNNING)
    assert run.store == store.uri
    assert client.runs.select("run1").runs[0].experiment_number == 1


def test_the_same_selection_is_known_again_whatever_it_was_called(client: Client):
    one = client.runs.select(["base-1", "digits", "ws1/run3"])
    other = client.runs.select(["RUN3, job1", "1"])
    assert one.words == ("run1", "exp1", "run3")
    assert (one.key, one.live) == (other.key, True)
    client.runs.rename("base-1", "other")
    assert client.runs.select(one.words).key == one.key
    assert client.runs.select("run1, run3").live is False


def test_runs_that_join_later_are_in_experiments_patterns_and_filters_and_not_in_lists(
    client: Client, catalog: Catalog, store: Store
):
    with contextlib.closing(Services(catalog, ServiceOptions())) as opened:
        _joins_later(opened.seen_by(Access.whole("tester")), client, catalog, store)


def _joins_later(control: UserScope, client: Client, catalog: Catalog, store: Store) -> None:
    kept = [
        control.selections.settle(parse_selection(words, where))
        for words, where in ((["digits"], ""), (["ws1/base*"], ""), (["run2", "run4"], ""), ([], "hparams.lr > 0.85"))
    ]
    catalog.runs.put(_stored(store, name="base-6", lr=0.95, workspace="ws1", experiment="digits"))
    client.runs.delete("run2")
    found = [control.selections.resolve(selection) for selection in kept]
    assert [[run.number for run in one.runs] for one in found] == [[1, 6], [1, 3, 4, 6], [4], [5, 6]]
    assert found[2].empty == ("run2",)


def test_unknown_and_ambiguous_names_are_told_with_what_could_be_meant(client: Client, catalog: Catalog, store: Store):
    wrong: dict[str, str] = {
        "bsae-1": "(?s)there is no run 'bsae-1'.*nearest: base-1",
        "digit": "(?s)there is no run 'digit'.*digits",
        "run77": "(?s)there is no run 'run77'.*nearest: run",
        "ws2/run1": "(?s)no run run1 in the workspace ws2.*ws1/run1",
        "ws3/run*": "(?s)there is no workspace 'ws3'.*ws1",
        "exp9": "(?s)there is no experiment exp9.*exp1 in ws1",
        "ws2/exp1": "(?s)no experiment exp1 in the workspace ws2.*ws1/exp1",
    }
    for word, problem in wrong.items():
        with pytest.raises(UnknownName, match=problem):
            client.runs.select(["run1", word])
    catalog.runs.put(_stored(store, name="base-1", lr=1, workspace="ws2", experiment="base-3"))
    with pytest.raises(Conflict, match=r"(?s)2 runs are called 'base-1'.*run1 in ws1, run6 in"):
        client.runs.select("base-1")
    with pytest.raises(Conflict, match=r"(?s)2 runs and experiments are called 'base-3'.*run3 in ws1, exp2 in"):
        client.runs.select("base-3")
    assert numbers(client.runs.select("ws1/base-1, ws1/base-3")) == [1, 3]
    with pytest.raises(InvalidValue, match="no run is named"):
        client.runs.select([])


def test_a_pattern_a_range_or_an_experiment_without_runs_is_told(client: Client):
    client.experiments.add("ws1", "later")
    found = client.runs.select("nothing*, run70-run80, later, run1")
    assert (numbers(found), found.empty) == ([1], ("nothing*", "run70-run80", "exp2"))


def test_folders_that_no_run_is_in_are_kept_as_they_are(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    found = client.runs.select(["./plain/../logs/", "s3://bucket/path/", "run1"])
    assert (numbers(found), found.folders, found.live) == ([1], (f"{tmp_path}/logs", "s3://bucket/path"), True)
    with pytest.raises(InvalidValue, match="of which a filter knows nothing"):
        client.runs.select("./logs", where="hparams.lr > 0")
    with pytest.raises(InvalidValue, match="not a kind of store"):
        client.runs.select("ftp://host/x")


def test_runs_in_the_bin_are_selected_there_only(client: Client):
    client.runs.delete(["run1", "run3"])
    assert numbers(client.runs.select("exp1, ws1/*")) == [2, 4]
    with pytest.raises(UnknownName, match=r"(?s)run3 is in the bin.*runs restore run3"):
        client.runs.select("run3")
    with pytest.raises(UnknownName, match="run4 is not in the bin"):
        client.runs.select("run4", in_bin=True)
    assert numbers(client.runs.select("base-3, run1-run9", in_bin=True)) == [3, 1]


def test_a_word_like_run3_is_the_number_whether_or_not_a_run_has_it(client: Client, catalog: Catalog, store: Store):
    catalog.runs.put(_stored(store, name="run3", lr=1, workspace="ws2"))
    catalog.runs.put(_stored(store, name="run99", lr=1, workspace="ws1"))
    catalog.runs.put(_stored(store, name="2026-11", lr=1, workspace="ws1"))
    assert numbers(client.runs.select("run3, name:run3, ws2/name:RUN3, name:run99")) == [3, 6, 7]
    assert client.runs.get("name:run99").number == 7
    assert client.runs.get("2026-11").number == 8
    for look in (client.runs.select, client.runs.get, client.runs.delete, client.runs.metrics):
        with pytest.raises(UnknownName, match=r"(?s)there is no run 'run99'.*write name:run99 for the run"):
            look("run99")
        with pytest.raises(UnknownName, match=r"(?s)no run run3 in the workspace ws2.*write ws2/name:run3 for the run"):
            look("ws2/run3")
    with pytest.raises(UnknownName, match=r"nearest: .*name:run99"):
        client.runs.select("ruun99")


def test_a_number_in_the_bin_is_not_the_run_of_that_name(client: Client, catalog: Catalog, store: Store):
    catalog.runs.put(_stored(store, name="run1", lr=1, workspace="ws1"))
    client.runs.delete("run1")
    with pytest.raises(UnknownName, match=r"(?s)run1 is in the bin.*runs restore run1"):
        client.runs.select("run1")
    assert [run.number for run in client.runs.delete("run1").items] == [1]
    assert [run.number for run in client.runs.restore("run1").items] == [1]
    assert numbers(client.runs.select("run1, name:run1")) == [1, 6]


def test_an_experiment_is_found_by_a_name_like_job2300_until_one_has_that_number(
    client: Client, catalog: Catalog, store: Store
):
    catalog.runs.put(_stored(store, name="a", lr=1, workspace="ws1", experiment="job2300"))
    catalog.runs.put(_stored(store, name="b", lr=1, workspace="ws1", experiment="job4"))
    for word in ("job2300", "ws1/JOB2300", "name:job2300", "exp2"):
        assert client.runs.select(word).words == ("exp2",), word
    assert client.experiments.get("job2300").number == 2
    assert client.runs.count(experiment="job2300") == 1
    with pytest.raises(UnknownName, match=r"(?s)no experiment exp2300.*the newest are exp3 in ws1"):
        client.runs.select("exp2300")
    with pytest.raises(UnknownName, match="there is no workspace 'ws7'"):
        client.runs.select("ws7/job2300")
    assert client.runs.select("job4").words == ("exp3",)
    client.experiments.add("ws1", "another")
    assert client.runs.select("job4").words == ("exp4",)
    assert client.runs.select("name:job4").words == ("exp3",)
    client.experiments.delete("exp4")
    with pytest.raises(UnknownName, match=r"(?s)exp4 is in the trash.*experiments restore exp4"):
        client.runs.select("job4")


def test_what_changes_runs_or_experiments_takes_no_number_for_a_name(client: Client, catalog: Catalog, store: Store):
    catalog.runs.put(_stored(store, name="a", lr=1, workspace="ws1", experiment="job2300"))
    message = r"(?s)no experiment exp2300.*job2300 is a number; write name:job2300 for the experiment"
    for change in (
        lambda: client.runs.select("job2300", exact=True),
        lambda: client.experiments.get("job2300", exact=True),
        lambda: client.experiments.delete("job2300"),
        lambda: client.experiments.change("job2300", name="x"),
        lambda: client.experiments.restore("job2300"),
    ):
        with pytest.raises(UnknownName, match=message):
            change()
    assert client.experiments.delete("ws1/name:job2300").number == 2


def test_the_number_of_an_experiment_is_not_the_name_of_a_run(client: Client, catalog: Catalog, store: Store):
    catalog.runs.put(_stored(store, name="exp1", lr=1, workspace="ws1", experiment="run2"))
    with pytest.raises(UnknownName, match=r"(?s)exp1 is the number of an experiment.*write name:exp1 for the run"):
        client.runs.get("exp1")
    with pytest.raises(UnknownName, match=r"(?s)job9 is the number of an experiment.*run7"):
        client.runs.delete("job9")
    with pytest.raises(UnknownName, match=r"(?s)run2 is the number of a run.*write name:run2 for the experiment"):
        client.experiments.get("run2")
    assert client.runs.get("name:exp1").number == 6
    assert client.experiments.get("name:run2").number == 2


def test_more_runs_than_anybody_can_look_at_are_refused(client: Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(selections, "MOST_RUNS", 3)
    assert len(client.runs.select("run1-run3").runs) == 3
    with pytest.raises(InvalidValue, match="more than 3 runs are selected"):
        client.runs.select("run1-run4")
