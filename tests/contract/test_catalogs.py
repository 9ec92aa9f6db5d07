# SPDX-License-Identifier: Apache-2.0
"""What every catalog does with runs, experiments and workspaces: the same suite on SQLite and on PostgreSQL."""

import math
from dataclasses import replace

import pytest

from aboard.catalog.catalog import Catalog
from aboard.errors import Conflict, InvalidValue, QueryError, UnknownName
from aboard.model.query.fields import parse_sort
from aboard.model.query.parser import parse_query
from aboard.model.runs import Attempt, Note, run_to_document
from aboard.model.states import RunState
from support.catalog_runs import START, WHOLE, hours, make_run, metric, names, put_named


def everything(catalog, limit=2, **asked):
    """All pages, one after the other."""
    found, after = [], None
    while True:
        page = catalog.runs.list(limit=limit, after=after, **asked)
        assert len(page.items) == limit or page.next is None
        found += names(page)
        after = page.next
        if after is None:
            return found


class TestPut:
    def test_everything_comes_back(self, catalog):
        put = catalog.runs.put(WHOLE)
        found = catalog.runs.get(put.number)
        assert math.isnan(found.hparams["nan"])
        assert math.isnan(found.metrics["loss"].last.value)
        long_key = next(name for name in found.hparams if name.startswith("kkk"))
        assert len(long_key) <= 500
        renamed = {**{key: value for key, value in found.hparams.items() if key != long_key}, "k" * 600: 1}
        expected = replace(WHOLE, number=1, experiment_number=1)
        assert run_to_document(replace(found, hparams=renamed)) == run_to_document(expected)
        assert catalog.runs.by_uid(WHOLE.uid) == found or math.isnan(found.hparams["nan"])

    def test_a_run_without_a_name_is_called_after_its_number(self, catalog):
        first, second = catalog.runs.put_many([make_run(), make_run()])
        assert (first.name, second.name) == ("run1", "run2")
        assert catalog.runs.put(make_run(uid=first.uid, status=RunState.RUNNING)).name == "run1"

    def test_putting_again_changes_nothing(self, catalog):
        first = catalog.runs.put(WHOLE)
        before = catalog.runs.get(first.number)
        for _ in range(3):
            assert catalog.runs.put(WHOLE).number == first.number
        assert repr(catalog.runs.get(first.number)) == repr(before)
        assert catalog.runs.count() == 1
        assert catalog.runs.put(make_run()).number == 2  # no number was wasted either

    def test_a_run_is_replaced_whole(self, catalog):
        number = catalog.runs.put(WHOLE).number
        less = make_run(uid=WHOLE.uid, hparams={"lr": "auto", "new": 1}, metrics={"loss": metric(7.0)}, tags={"x": "y"})
        catalog.runs.put(less)
        found = catalog.runs.get(number)
        assert found.hparams == {"lr": "auto", "new": 1}
        assert found.metrics == {"loss": metric(7.0)}
        assert (found.tags, found.notes, found.attempts) == ({"x": "y"}, (), ())
        assert (found.experiment, found.exit_code, found.details) == (None, None, {})
        assert found.name == "baseline"  # a document without a name takes none away

    def test_an_older_document_changes_nothing(self, catalog):
        run = make_run(status=RunState.RUNNING, revision=1)
        newer = replace(run, status=RunState.COMPLETED, revision=2, hparams={"lr": 2})
        number = catalog.runs.put(newer).number
        assert catalog.runs.put(run).number == number
        found = catalog.runs.get(number)
        assert (found.status, found.hparams) == (RunState.COMPLETED, {"lr": 2})

    def test_of_two_documents_at_once_the_newer_counts(self, catalog):
        old = make_run(status=RunState.RUNNING, revision=1)
        new = replace(old, status=RunState.COMPLETED, revision=2)
        for given in ([old, new], [new, old]):
            numbers = {run.number for run in catalog.runs.put_many(given)}
            assert numbers == {1}
            assert catalog.runs.get(1).status is RunState.COMPLETED

    def test_moving_to_another_workspace_takes_everything_along(self, catalog):
        number = catalog.runs.put(WHOLE).number
        catalog.runs.put(replace(WHOLE, workspace="Other"))
        moved = catalog.runs.get(number)
        assert (moved.workspace, moved.hparams["lr"]) == ("Other", 0.01)
        asked = {"where": parse_query("hparams.lr == 0.01 and metrics.loss.min == 1")}
        assert names(catalog.runs.list(workspaces=["other"], **asked)) == ["baseline"]
        assert names(catalog.runs.list(workspaces=["ws1"], **asked)) == []

    def test_names_of_workspaces_and_experiments_differ_by_more_than_capitals(self, catalog):
        put_named(catalog, "a", workspace="WS1", experiment="First")
        run = put_named(catalog, "b", workspace="ws1", experiment="FIRST")[0]
        found = catalog.runs.get(run.number)
        assert (found.workspace, found.experiment, found.experiment_number) == ("WS1", "First", 1)
        assert len(catalog.workspaces.list()) == 1

    def test_characters_that_a_database_cannot_hold(self, catalog):
        bad = "a\x00b\ud800c"
        run = catalog.runs.put(
            make_run(name=bad, hparams={bad: bad}, tags={bad: bad}, notes=(Note(text=bad),), user=bad)
        )
        found = catalog.runs.get(run.number)
        good = "a\ufffdb\ufffdc"
        assert (found.name, found.hparams, found.tags, found.user) == (good, {good: good}, {good: good}, good)
        assert names(catalog.runs.list(where=parse_query("user contains 'a\x00'"))) == [good]

    def test_names_of_any_length(self, catalog):
        long = "Ω" * 5000
        fields = dict.fromkeys(("name", "workspace", "experiment", "user", "host", "store", "reason"), long)
        run = catalog.runs.put(
            make_run(**fields, tags={long: long}, attempts=(Attempt(number=2**40, status=RunState.FAILED),))
        )
        found = catalog.runs.get(run.number)
        assert found.name.startswith("ΩΩΩ")
        assert len(found.name) <= 500
        assert found.reason == long
        assert [one.number for one in catalog.runs.named(long, long)] == [run.number]
        again = catalog.runs.put(make_run(**fields))
        assert again.experiment_number == run.experiment_number

    def test_what_is_no_uid(self, catalog):
        with pytest.raises(InvalidValue, match="is not a uid"):
            catalog.runs.put(make_run(uid="run\x001"))

    def test_many_at_once(self, catalog):
        given = [make_run(name=f"r{index}", hparams={"index": index}) for index in range(450)]
        put = catalog.runs.put_many([*given, given[0]])
        assert [run.number for run in put] == [*range(1, 451), 1]
        assert catalog.runs.count(where=parse_query("hparams.index >= 400")) == 50


class TestNumbers:
    def test_numbers_are_never_given_again(self, catalog):
        first, second = catalog.runs.put_many([make_run(), make_run()])
        catalog.bin.delete_runs([second.number])
        catalog.bin.purge_runs()
        assert catalog.runs.put(make_run()).number == 3
        again = catalog.runs.put(replace(second, number=None, name=""))
        assert again.number == 4
        assert catalog.runs.put(make_run(number=2)).number == 5, "not even if a document asks for it"
        assert catalog.runs.get(first.number).uid == first.uid

    def test_not_even_after_opening_again(self, place):
        with Catalog.open(place) as catalog:
            number = catalog.runs.put(make_run()).number
            assert number is not None
            catalog.bin.delete_runs([number])
            catalog.bin.purge_runs()
        with Catalog.open(place) as catalog:
            assert catalog.runs.put(make_run()).number == number + 1

    def test_a_number_in_a_document_is_kept_if_it_was_nobodys(self, catalog):
        asked = catalog.runs.put_many([make_run(number=343, experiment="a", experiment_number=7), make_run(number=12)])
        assert [run.number for run in asked] == [343, 12]
        assert asked[0].experiment_number == 7
        taken = catalog.runs.put(make_run(number=12, experiment="b", experiment_number=7))
        assert (taken.number, taken.name, taken.experiment_number) == (344, "run344", 8)
        assert catalog.runs.put(make_run()).number == 345
        assert catalog.runs.put(make_run(number=2**62)).number == 346


class TestFind:
    def test_by_name(self, catalog):
        put_named(catalog, "Same", "other")
        put_named(catalog, "same", workspace="ws2")
        assert [run.number for run in catalog.runs.named("WS1", "SAME")] == [1]
        assert catalog.runs.named("ws1", "nobody") == []

    def test_what_is_not_there(self, catalog):
        with pytest.raises(UnknownName, match="there is no run run7"):
            catalog.runs.get(7)
        with pytest.raises(UnknownName, match="uid"):
            catalog.runs.by_uid(WHOLE.uid)
        with pytest.raises(UnknownName, match="there is no experiment exp7"):
            catalog.experiments.get(7)
        with pytest.raises(UnknownName, match=r"(?s)no workspace 'vision'.*aboard workspaces add NAME"):
            catalog.runs.list(workspaces=["vision"])
        put_named(catalog, "a", workspace="vision-team")
        with pytest.raises(UnknownName, match="there is no workspace 'vision-taem'\n  hint: nearest: vision-team"):
            catalog.runs.list(workspaces=["vision-taem"])


class TestList:
    def test_newest_first(self, catalog):
        put_named(catalog, "a", "b", "c")
        assert names(catalog.runs.list()) == ["c", "b", "a"]
        assert everything(catalog, 2) == ["c", "b", "a"]
        assert everything(catalog, 3) == ["c", "b", "a"]

    @pytest.mark.parametrize("few", [0, 1000])
    def test_by_a_metric(self, place, few):
        with Catalog.open(place, few=few) as catalog:
            for name, values in {
                "a": [2.0],
                "b": [1.0],
                "c": [],
                "d": [math.nan],
                "e": [2.0],
                "f": [-math.inf],
            }.items():
                catalog.runs.put(make_run(name=name, metrics={"loss": metric(*values)} if values else {}))
            assert everything(catalog, sort=parse_sort("metrics.loss")) == ["f", "b", "a", "e", "d", "c"]
            assert everything(catalog, sort=parse_sort("-metrics.loss")) == ["e", "a", "b", "f", "d", "c"]

    @pytest.mark.parametrize("few", [0, 1000])
    def test_by_a_hyperparameter_of_several_kinds(self, place, few):
        values = {
            "a": 3,
            "b": "adam",
            "c": None,
            "d": 0.5,
            "e": True,
            "f": "Zeta",
            "g": math.nan,
            "h": "ädam",
            "i": False,
        }
        with Catalog.open(place, few=few) as catalog:
            for name, value in values.items():
                catalog.runs.put(make_run(name=name, hparams={"x": value}))
            assert everything(catalog, sort=parse_sort("hparams.x")) == list("dafbhiegc")
            assert everything(catalog, sort=parse_sort("-hparams.x")) == list("adhbfeigc")

    @pytest.mark.parametrize("few", [0, 1000])
    def test_by_a_column(self, place, few):
        with Catalog.open(place, few=few) as catalog:
            for name, started in {"b": 3, "a": None, "d": 1, "c": 2}.items():
                at = None if started is None else START + hours(started)
                catalog.runs.put(make_run(name=name, started=at, workspace=f"ws{started or 0}"))
            assert everything(catalog, sort=parse_sort("started")) == ["d", "c", "b", "a"]
            assert everything(catalog, sort=parse_sort("-started")) == ["b", "c", "d", "a"]
            assert everything(catalog, sort=parse_sort("name")) == ["a", "b", "c", "d"]
            assert everything(catalog, sort=parse_sort("-workspace")) == ["b", "c", "d", "a"]
            assert everything(catalog, sort=parse_sort("number")) == ["b", "a", "d", "c"]

    def test_a_page_goes_on_where_it_ended_whatever_comes_and_goes(self, catalog):
        runs = put_named(catalog, "a", "b", "c", "d")
        page = catalog.runs.list(limit=2)
        catalog.bin.delete_runs([runs[2].number])  # the last one on the page
        put_named(catalog, "e")
        assert names(catalog.runs.list(limit=2, after=page.next)) == ["b", "a"]

    def test_only_the_named_values_are_read(self, catalog):
        catalog.runs.put(WHOLE)
        (run,) = catalog.runs.list(hparams=["lr"], metrics=[]).items
        assert (run.hparams, run.metrics, run.details) == ({"lr": 0.01}, {}, {})
        assert len(run.attempts) == 2

    def test_workspaces(self, catalog):
        put_named(catalog, "a", "b", hparams={"x": 1})
        put_named(catalog, "c", workspace="ws2", hparams={"x": 0})
        put_named(catalog, "d", workspace="ws3", hparams={"x": 2})
        assert names(catalog.runs.list(workspaces=["ws1"])) == ["b", "a"]
        asked = {"workspaces": ["ws1", "ws2"], "sort": parse_sort("hparams.x"), "where": parse_query("hparams.x < 2")}
        assert everything(catalog, **asked) == ["c", "a", "b"]
        assert names(catalog.runs.list(where=parse_query('workspace in ["ws2", "ws3"]'))) == ["d", "c"]
        assert catalog.runs.list(workspaces=[]).items == []

    def test_bad_marks_and_limits(self, catalog):
        put_named(catalog, "a", "b", "c")
        mark = catalog.runs.list(limit=1).next
        for after in ("", "nonsense", mark[:-3], "WzEsMl0"):
            with pytest.raises(InvalidValue, match="is not where a page of this list ended"):
                catalog.runs.list(after=after)
        with pytest.raises(InvalidValue, match="ended"):
            catalog.runs.list(after=mark, sort=parse_sort("name"))
        for limit in (0, -1, 1001):
            with pytest.raises(InvalidValue, match="a page cannot have"):
                catalog.runs.list(limit=limit)

    def test_relative_times_move_along(self, catalog):
        put_named(catalog, "old", created=START)
        put_named(catalog, "new", created=START + hours(48))
        query = parse_query("created > now - 1d")
        assert names(catalog.runs.list(where=query, now=START + hours(49))) == ["new"]
        assert names(catalog.runs.list(where=query, now=START + hours(23))) == ["new", "old"]


class TestStatus:
    def test_a_life(self, catalog):
        number = catalog.runs.put(make_run(started=START)).number
        catalog.runs.change_status(number, RunState.RUNNING, at=START)
        run = catalog.runs.change_status(number, RunState.FAILED, at=START + hours(1), reason="oom", exit_code=1)
        assert (run.status, run.ended, run.reason, run.exit_code) == (RunState.FAILED, START + hours(1), "oom", 1)
        assert catalog.runs.count(where=parse_query('duration == 1h and status == "failed"')) == 1
        with pytest.raises(Conflict, match="run1 is failed and cannot become completed"):
            catalog.runs.change_status(number, RunState.COMPLETED)
        with pytest.raises(UnknownName):
            catalog.runs.change_status(99, RunState.RUNNING)

    def test_lost_and_heard_of_again(self, catalog):
        silent, lively = put_named(catalog, "a", "b", status=RunState.RUNNING, started=START, heartbeat=START)
        assert catalog.runs.heartbeat(lively.uid, START + hours(2)) is RunState.RUNNING
        catalog.runs.change_status(silent.number, RunState.LOST, at=START + hours(1))
        assert catalog.runs.heartbeat(silent.uid, START + hours(3)) is RunState.RUNNING
        found = catalog.runs.get(silent.number)
        assert (found.status, found.heartbeat, found.ended) == (RunState.RUNNING, START + hours(3), None)
        assert catalog.runs.count(where=parse_query("duration == 3h")) == 1
        catalog.runs.heartbeat(silent.uid, START)  # a late message
        assert catalog.runs.get(silent.number).heartbeat == START + hours(3)

    def test_the_document_has_the_last_word(self, catalog):
        run = make_run(status=RunState.RUNNING, heartbeat=START)
        number = catalog.runs.put(run).number
        catalog.runs.change_status(number, RunState.LOST, at=START + hours(1))
        catalog.runs.put(run)
        assert catalog.runs.by_uid(run.uid).status is RunState.RUNNING


class TestExperiments:
    def test_made_by_runs_and_by_hand(self, catalog):
        put_named(catalog, "a", experiment="one", status=RunState.RUNNING)
        put_named(catalog, "b", "c", experiment="one", status=RunState.FAILED)
        made = catalog.experiments.add("ws1", "two", description="why")
        assert (made.number, made.name, made.description, made.runs) == (2, "two", "why", {})
        one = catalog.experiments.named("WS1", "ONE")
        assert one.runs == {RunState.RUNNING: 1, RunState.FAILED: 2}
        assert [e.name for e in catalog.experiments.list(workspaces=["ws1"]).items] == ["two", "one"]

    def test_pages(self, catalog):
        catalog.workspaces.add("ws1")
        for name in "abc":
            catalog.experiments.add("ws1", name)
        page = catalog.experiments.list(limit=2)
        assert [e.name for e in page.items] == ["c", "b"]
        rest = catalog.experiments.list(limit=2, after=page.next)
        assert ([e.name for e in rest.items], rest.next) == (["a"], None)

    def test_renaming_and_describing(self, catalog):
        run = put_named(catalog, "a", experiment="one")[0]
        catalog.experiments.rename(1, "uno")
        assert catalog.runs.get(run.number).experiment == "uno"
        assert catalog.runs.count(where=parse_query('experiment == "uno"')) == 1
        described = catalog.experiments.describe(1, tags={"x": "y"}, description="text")
        assert (described.tags, described.description) == ({"x": "y"}, "text")
        catalog.experiments.add("ws1", "two")
        with pytest.raises(Conflict, match="there is an experiment 'UNO' already"):
            catalog.experiments.rename(2, "UNO")
        with pytest.raises(Conflict):
            catalog.experiments.add("ws1", "Two")
        with pytest.raises(InvalidValue, match="is not a name for an experiment"):
            catalog.experiments.rename(2, "a/b")
        with pytest.raises(UnknownName, match="exp9"):
            catalog.experiments.rename(9, "x")
        with pytest.raises(UnknownName, match="there is no experiment 'tow'\n  hint: nearest: two"):
            catalog.experiments.named("ws1", "tow")


class TestWorkspaces:
    def test_made_counted_renamed(self, catalog):
        catalog.workspaces.add("empty", description="nothing yet")
        put_named(catalog, "a", "b", experiment="e", bytes=2**40)
        empty, ws1 = catalog.workspaces.list()
        assert (empty.name, empty.description, empty.runs, empty.bytes) == ("empty", "nothing yet", 0, 0)
        assert (ws1.name, ws1.runs, ws1.experiments, ws1.bytes) == ("ws1", 2, 1, 2**41)
        catalog.workspaces.rename("ws1", "vision")
        assert {run.workspace for run in catalog.runs.list().items} == {"vision"}
        assert catalog.workspaces.describe("vision", "text").description == "text"
        for taken in ("EMPTY", "vision"):
            with pytest.raises(Conflict, match="already"):
                catalog.workspaces.add(taken)
        with pytest.raises(Conflict, match="already"):
            catalog.workspaces.rename("vision", "empty")
        with pytest.raises(InvalidValue):
            catalog.workspaces.add("a b")


class TestReindex:
    def documents(self, *runs):
        return [run_to_document(run) for run in runs]

    def test_an_empty_catalog_is_rebuilt_from_documents(self, new_place):
        runs = [replace(WHOLE, uid=make_run().uid, name="", hparams={"i": index}) for index in range(5)]
        with Catalog.open(new_place()) as first:
            first.runs.put_many([make_run(workspace="other"), *runs])
            docs = self.documents(*(first.runs.by_uid(run.uid) for run in reversed(runs)))
            before = [first.runs.by_uid(run.uid) for run in runs]
        with Catalog.open(new_place()) as second:
            result = second.reindex(docs, store=WHOLE.store)
            assert (result.written, result.missing, result.problems) == (5, 0, [])
            after = [second.runs.by_uid(run.uid) for run in runs]
        assert repr(after) == repr(before)  # names and numbers included; repr, because NaN is not equal to itself

    def test_the_catalog_becomes_equal_to_the_store(self, catalog):
        store = "s3://bucket"
        kept, changed, gone = catalog.runs.put_many([make_run(name=name, store=store) for name in "abc"])
        put_named(catalog, "elsewhere", store="s3://other")
        documents = self.documents(kept, replace(changed, status=RunState.COMPLETED), make_run(name="new"))
        result = catalog.reindex(iter(documents), store=store)
        assert (result.written, result.missing) == (3, 1)
        assert names(catalog.runs.list(sort=parse_sort("name"))) == ["a", "b", "elsewhere", "new"]
        assert catalog.runs.get(changed.number).status is RunState.COMPLETED
        assert names(catalog.runs.list(in_bin=True)) == ["c"]
        again = catalog.reindex(self.documents(kept, changed, gone, make_run(name="d")), store=store)
        assert (again.written, again.missing) == (4, 1)
        assert names(catalog.runs.list(sort=parse_sort("name"))) == ["a", "b", "c", "d", "elsewhere"]
        assert catalog.runs.by_uid(gone.uid).number == gone.number

    def test_a_bad_document_does_not_hide_the_others(self, catalog):
        bad, good = catalog.runs.put_many([make_run(name="bad", store="s"), make_run(name="good", store="s")])
        documents = [{**run_to_document(bad), "status": "nonsense"}, run_to_document(good)]
        result = catalog.reindex(documents, store="s")
        assert (result.written, result.missing) == (1, 0)
        ((uid, problem),) = result.problems
        assert uid == bad.uid
        assert "'nonsense' is not a state of a run" in problem
        assert catalog.runs.count() == 2

    def test_a_document_without_a_uid_keeps_all_from_being_taken_for_missing(self, catalog):
        put_named(catalog, "a", store="s")
        result = catalog.reindex([{"name": "broken"}, "text"], store="s")
        assert (result.written, result.missing, len(result.problems)) == (0, 0, 2)
        assert catalog.runs.count() == 1

    def test_a_listing_that_breaks_takes_nothing_for_missing(self, catalog):
        a, _ = put_named(catalog, "a", "b", store="s")

        def broken():
            yield run_to_document(a)
            raise OSError("the store does not answer")

        with pytest.raises(OSError, match="does not answer"):
            catalog.reindex(broken(), store="s")
        assert catalog.runs.count() == 2

    def test_deleted_by_a_person_stays_deleted(self, catalog):
        run = put_named(catalog, "a", store="s")[0]
        catalog.bin.delete_runs([run.number])
        catalog.reindex(self.documents(run), store="s")
        assert catalog.runs.count() == 0


class TestFields:
    def test_names(self, catalog):
        put_named(catalog, "a", hparams={"lr": 1, "b": 2}, metrics={"loss": metric(1.0)})
        put_named(catalog, "b", workspace="ws2", hparams={"lr": 1, "z": 2})
        assert catalog.fields.hparams() == ["b", "lr", "z"]
        assert catalog.fields.hparams(["ws1"]) == ["b", "lr"]
        assert catalog.fields.metrics(["ws1"]) == ["loss"]

    def test_tags_are_those_of_runs_that_are_seen_and_not_in_the_bin(self, catalog):
        put_named(catalog, "a", tags={"team": "vision", "best": ""})
        put_named(catalog, "b", workspace="ws2", tags={"team": "text", "other": ""})
        (deleted,) = put_named(catalog, "c", tags={"gone": ""})
        catalog.bin.delete_runs([deleted.number])
        assert catalog.fields.tags() == ["best", "other", "team"]
        assert catalog.fields.tags(["ws1"]) == ["best", "team"]
        assert catalog.seen_by(frozenset({"ws2"})).fields.tags() == ["other", "team"]

    def test_a_metric_of_a_stage_is_told_for_its_bare_name(self, catalog):
        put_named(catalog, "a", metrics={name: metric(1.0) for name in ("cpu", "los", "test/loss", "train/loss")})
        with pytest.raises(QueryError) as caught:
            catalog.fields.check(parse_query("metrics.loss.min < 1"), "metrics.loss.min < 1")
        assert caught.value.hint == "nearest: metrics.test/loss.min, metrics.train/loss.min"

    def test_an_unknown_name_is_told_with_the_nearest(self, catalog):
        put_named(catalog, "a", hparams={"learning_rate": 1}, metrics={"loss": metric(1.0)})
        text = "hparams.learning_rate > 0 and metrics.los.min < 1"
        with pytest.raises(QueryError) as caught:
            catalog.fields.check(parse_query(text), text)
        assert caught.value.problem == "no run has metrics.los"
        assert text[caught.value.start : caught.value.end] == "metrics.los.min"
        assert caught.value.hint == "nearest: metrics.loss.min"
        catalog.fields.check(parse_query("hparams.learning_rate > 0"), "")
        assert names(catalog.runs.list(where=parse_query(text))) == []  # listing itself does not mind
