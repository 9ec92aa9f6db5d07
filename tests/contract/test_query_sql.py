# SPDX-License-Identifier: Apache-2.0
"""Filters and orders mean the same in SQLite, in PostgreSQL and in memory, for runs of every odd kind.

Both ways of making a page are compared: sorting few candidates, and walking along an index.
"""

import math
import random
import shutil
from collections.abc import Generator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aboard.catalog.catalog import Catalog
from aboard.catalog.runs.runs import Runs
from aboard.model.names import run_name
from aboard.model.query.evaluate import compile_query, values_of
from aboard.model.query.fields import parse_sort
from aboard.model.query.parser import parse_query
from aboard.model.query.tree import ColumnField, HparamField
from aboard.model.runs import Attempt, Note, RunRecord
from aboard.model.states import RunState
from aboard.services.folders.run_table import RunTable, TableRun
from support.catalog_runs import START, hours, make_run, metric
from support.empty_catalogs import EmptyCatalogs
from support.hypothesis_profiles import examples

RUNS = 50
NOW = START + timedelta(days=5)
NUMBERS = [0, 1, -1, 0.5, 0.01, 1e300, -1e-300, 2**53 + 1, 10**400, math.inf, -math.inf, math.nan]
TEXTS = [
    *("", "a", "A", "ab", "aB", "b", "ä", "Ä", "ß", "z", "%", "_", "a%b", "a_b"),
    *("*", "a*b", "[a]", "a?", "\\", "🎈", "1", "x" * 100),
]
ODD = [None, True, False, "x" * 99 + "y", "0.01"]


def _population() -> list[RunRecord]:
    """Runs whose fields hold every kind of value, or nothing, by chance that is always the same."""
    chance = random.Random(7)

    def some(values):
        return chance.choice([None, *values])

    def run() -> RunRecord:
        hparams = {name: chance.choice([*NUMBERS, *TEXTS, *ODD]) for name in ("x", "odd key") if chance.random() < 0.8}
        hparams |= {"lr": chance.choice([0.1, 0.01, 1])} if chance.random() < 0.7 else {}
        metrics = {}
        for name in ("loss", "val/acc"):
            values = [chance.choice(NUMBERS) for _ in range(chance.randrange(4))]
            metrics |= (
                {name: metric(*(min(value, math.inf) if value != 10**400 else 2.0 for value in values))}
                if values
                else {}
            )
        started = some([START + hours(count) for count in range(4)])
        return make_run(
            name=chance.choice(TEXTS) or "n",
            workspace=chance.choice(["ws1", "ws2"]),
            experiment=some(["e1", "E 2"]),
            user=some(TEXTS) or "",
            status=chance.choice(list(RunState)),
            created=START + hours(chance.randrange(100)),
            started=started,
            ended=started + hours(chance.randrange(3)) if started and chance.random() < 0.5 else None,
            exit_code=some([0, 1, -9]),
            bytes=some([0, 2**53, 2**62]),
            hparams=hparams,
            metrics=metrics,
            tags={name: chance.choice(TEXTS) for name in ("t", "a b") if chance.random() < 0.5},
            notes=tuple(Note(text=chance.choice(TEXTS)) for _ in range(chance.randrange(3))),
            attempts=tuple(Attempt(number=n, status=RunState.FAILED) for n in range(1, 1 + chance.randrange(3))),
        )

    return [run() for _ in range(RUNS)]


class TableRecord:
    """A record as a run of a table."""

    def __init__(self, run: RunRecord) -> None:
        self._run = run

    def __getattr__(self, name: str) -> object:
        return getattr(self._run, name)

    def record(self, hparams: Sequence[str] | None, metrics: Sequence[str] | None) -> RunRecord:
        return self._run


class Catalogs:
    """The same runs in both databases, each opened both ways."""

    def __init__(self, places: dict[str, str]) -> None:
        self.opened = {
            f"{kind} {way}": Catalog.open(place, beside_server=True, few=few)
            for kind, place in places.items()
            for way, few in (("sorted", 10_000), ("walked", 0))
        }
        given = _population()
        in_sqlite, in_postgresql = (self.opened[f"{kind} sorted"].runs.put_many(given) for kind in places)
        assert [run.number for run in in_sqlite] == [run.number for run in in_postgresql]
        self.runs = in_sqlite  # as they were given, with their numbers
        in_memory = [cast(TableRun, TableRecord(run)) for run in self.runs]
        self.tables = {
            **{name: catalog.runs for name, catalog in self.opened.items()},
            "memory": RunTable(lambda: in_memory),
        }

    def __repr__(self) -> str:
        return "catalogs"


@pytest.fixture(scope="module")
def catalogs(
    tmp_path_factory: pytest.TempPathFactory, empty_file: Path, empty_catalogs: EmptyCatalogs
) -> Generator[Catalogs]:
    file, url = tmp_path_factory.mktemp("query") / "catalog.sqlite", empty_catalogs.take()
    shutil.copyfile(empty_file, file)
    made = Catalogs({"sqlite": str(file), "postgresql": url})
    yield made
    for catalog in made.opened.values():
        catalog.close()
    empty_catalogs.give_back(url)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def one_of(*texts: str) -> st.SearchStrategy[str]:
    return st.sampled_from(texts)


numbers = one_of(
    "0", "1", "-1", "0.5", "0.01", "1e300", str(2**53), str(2**53 + 1), "inf", "-inf", "9" * 99, str(2**62)
)
texts = one_of(*map(_quoted, TEXTS))
patterns = one_of(*map(_quoted, ["%", "a%", "%b", "_", "%_%", "A%", "a\\%b", "%ä%", "%%", "%ß", *TEXTS[:18]]))
orders = one_of("==", "!=", "<", "<=", ">", ">=")
among = one_of("in", "not in")
searches = one_of("like", "ilike", "contains", "startswith", "endswith", "not like", "not ilike", "not contains")
hparam_fields = one_of("hparams.x", 'hparams."odd key"', "hparams.lr", "hparams.absent")
metric_parts = one_of("last", "last", "min", "max", "count", "step", "min_step")
metric_fields = st.tuples(one_of("metrics.loss", "metrics.val/acc", "metrics.absent"), metric_parts).map(".".join)
text_fields = one_of("name", "user", "experiment", "workspace", "note", "tags.t", 'tags."a b"', "host")
number_fields = one_of("number", "exit_code", "duration", "attempts", "bytes", "experiment_number")
time_fields = one_of("created", "started", "ended")
times = one_of('"2026-11-01"', '"2026-11-02"', '"2026-11-01T14:00Z"', "now", "now - 4d", "now - 90h", "now + 1d")
anything = st.one_of(hparam_fields, metric_fields, text_fields, number_fields, time_fields)


def listed(values):
    return st.lists(values, min_size=1, max_size=3).map(lambda some: f"[{', '.join(some)}]")


def spaced(*parts):
    return st.tuples(*parts).map(" ".join)


conditions = st.one_of(
    spaced(hparam_fields, orders, st.one_of(numbers, texts)),
    spaced(hparam_fields, one_of("==", "!="), one_of("true", "false")),
    spaced(hparam_fields, among, listed(st.one_of(numbers, texts, st.just("true")))),
    spaced(st.one_of(hparam_fields, text_fields), searches, patterns),
    spaced(metric_fields, orders, numbers),
    spaced(metric_fields, among, listed(numbers)),
    spaced(st.one_of(hparam_fields, metric_fields), one_of("is nan", "is not nan")),
    spaced(text_fields, orders, texts),
    spaced(text_fields, among, listed(texts)),
    spaced(number_fields, orders, numbers),
    spaced(number_fields, among, listed(numbers)),
    spaced(time_fields, orders, times),
    spaced(anything, one_of("is none", "is not none")),
    spaced(st.just("status"), one_of("==", "!=", "<"), one_of(*(f'"{state}"' for state in RunState))),
    spaced(one_of('"t"', '"a b"', '"absent"'), one_of("in tags", "not in tags")),
)
filters = st.recursive(
    conditions,
    lambda part: st.one_of(
        spaced(part, st.just("and"), part),
        spaced(part, st.just("or"), part),
        part.map(lambda text: f"not ({text})"),
        part.map(lambda text: f"({text})"),
    ),
    max_leaves=5,
)
columns = one_of(
    "number", "name", "status", "user", "created", "started", "duration", "bytes", "workspace", "experiment"
)
sorts = st.tuples(one_of("", "-"), st.one_of(columns, hparam_fields, metric_fields)).map("".join)


def expected_order(runs: list[RunRecord], text: str) -> list[RunRecord]:
    """Numbers, then texts by their beginning, then flags, each with the run's number; then the rest, newest first."""
    sort = parse_sort(text)

    def phase(value):
        if isinstance(sort.field, ColumnField):
            return 0
        return 2 if isinstance(value, bool) else (1 if isinstance(value, str) else 0)

    phases: dict[int, list] = {0: [], 1: [], 2: []}
    rest = []
    for run in runs:
        values = [value for value in values_of(sort.field, run) if not (isinstance(value, float) and math.isnan(value))]
        if not values:
            rest.append(run)
            continue
        value = values[0]
        index = phase(value)
        if index == 1 and isinstance(sort.field, HparamField):
            value = str(value)[:64]
        elif isinstance(value, (int, float)) and isinstance(sort.field, HparamField) and not isinstance(value, bool):
            value = math.inf if isinstance(value, int) and value > 10**308 else float(value)
        phases[index].append((value, run.number, run))
    ordered = []
    for some in phases.values():
        ordered += [run for _, _, run in sorted(some, key=lambda entry: entry[:2], reverse=sort.descending)]
    return ordered + sorted(rest, key=lambda run: run.number, reverse=True)


def all_pages(runs: Runs | RunTable, limit: int, **asked) -> list[str]:
    found, after = [], None
    while True:
        page = runs.list(limit=limit, after=after, hparams=[], metrics=[], **asked)
        found += [run.uid for run in page.items]
        after = page.next
        if after is None:
            return found


@examples(20)
@example(where="not (hparams.x == 1 or user == 'a')", workspaces=["ws1"], sort="-hparams.x", limit=9)
@example(where="hparams.x != 0.5 and metrics.loss.min < 1", workspaces=None, sort="metrics.loss.last", limit=9)
@example(where='hparams.x > "x" and hparams.x not like "a%"', workspaces=None, sort='hparams."odd key"', limit=50)
@example(where="metrics.loss.last > 0 and metrics.loss.last <= 1", workspaces=["ws1"], sort="metrics.loss", limit=9)
@example(where='hparams.x >= "a" and hparams.lr > 0', workspaces=None, sort="-hparams.x", limit=9)
@example(where="note != 'a' and duration >= 0", workspaces=["ws2"], sort="-started", limit=9)
@given(
    where=filters,
    workspaces=st.sampled_from([None, ["ws1"], ["ws2", "ws1"]]),
    sort=sorts,
    limit=st.sampled_from([9, 60]),
)
def test_all_answers_are_equal(catalogs, where, workspaces, sort, limit):
    runs, query = catalogs.runs, parse_query(where)
    inside = [run for run in runs if workspaces is None or run.workspace in workspaces]
    holding = [run for run in inside if compile_query(query, NOW)(run)]
    expected = [run.uid for run in expected_order(holding, sort)]
    asked = {"where": query, "workspaces": workspaces, "now": NOW}
    for name, table in catalogs.tables.items():
        assert all_pages(table, limit, sort=parse_sort(sort), **asked) == expected, name
        assert table.count(**asked) == len(expected), name


@examples(100)
@given(where=filters)
def test_each_filter_holds_for_the_same_runs(catalogs, where):
    runs, query = catalogs.runs, parse_query(where)
    expected = sum(compile_query(query, NOW)(run) for run in runs)
    for name in ("sqlite walked", "postgresql walked"):
        assert catalogs.opened[name].runs.count(where=query, now=NOW) == expected, name


def test_values_never_become_part_of_the_sql(catalogs):
    opened = catalogs.opened
    hostile = "x' OR 1=1; DROP TABLE runs; --"
    for text in (f'name == "{hostile}"', f'hparams."{hostile}" == "{hostile}"', f'tags."{hostile}" like "{hostile}"'):
        for catalog in opened.values():
            assert catalog.runs.list(where=parse_query(text)).items == []
            assert catalog.runs.list(sort=parse_sort(f'hparams."{hostile}"'), limit=1).items
            assert catalog.runs.count() == RUNS


def test_runs_are_named_after_their_numbers_in_both(catalogs):
    opened = catalogs.opened
    for name in ("sqlite sorted", "postgresql sorted"):
        run = opened[name].runs.put(make_run(workspace="unnamed"))
        assert run.name == run_name(run.number)
        opened[name].bin.delete_runs([run.number])
