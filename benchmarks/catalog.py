# SPDX-License-Identifier: Apache-2.0
"""Pages of a catalog with many runs: how long a list, a filter, an order and a put take, on SQLite and PostgreSQL."""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, event

from aboard.catalog.catalog import Catalog
from aboard.model.names import new_uid
from aboard.model.query.fields import parse_sort
from aboard.model.query.parser import parse_query
from aboard.model.runs import MetricPoint, MetricSummary, RunRecord
from aboard.model.states import RunState

_START = datetime(2026, 1, 1, tzinfo=UTC)
# (filter, order): broad, narrow, contradicting, and such whose runs all stand at the far end of the order.
QUESTIONS = [
    ("", "-number"),
    ("", "created"),
    ("", "name"),
    ("", "-duration"),
    ("", "metrics.m3.last"),
    ("", "-metrics.m3.min"),
    ("", "metrics.m3.count"),
    ("", "hparams.h1"),
    ("", "hparams.optimizer"),
    ('status == "failed"', "-number"),
    ('status == "queued"', "-number"),
    ("hparams.h1 < 0.5", "-number"),
    ("hparams.h1 < 0.0002", "-number"),
    ("hparams.h1 < 0.5", "metrics.m3.last"),
    ("hparams.h1 < 0.0002", "metrics.m3.last"),
    ('hparams.h1 < 0.5 and status == "running" and metrics.m2.min < 0.2', "-number"),
    ('hparams.h1 < 0.5 and status == "running" and metrics.m2.min < 0.2', "metrics.m3.max"),
    ('hparams.optimizer == "adam" and hparams.h2 > 0.9', "hparams.h1"),
    ("hparams.h1 < 0.04 or metrics.m1.last > 0.96", "-metrics.m3.last"),
    ("not hparams.h1 < 0.9", "created"),
    ('"best" in tags', "-number"),
    ('name contains "9999"', "-number"),
    ('created < "2026-01-02"', "-created"),
    ("hparams.old == 1", "-number"),
    ("hparams.h1 < 0.06 and hparams.h1 > 0.94", "-number"),
    ("metrics.m3.last > 0.5 and hparams.h1 < 0.5", "metrics.m3.last"),
]


def made(count: int) -> Iterator[RunRecord]:
    """Runs with 10 hyperparameters and 10 metrics each; one in twenty is in another workspace."""
    chance = random.Random(1)
    for index in range(count):
        started = _START + timedelta(minutes=index)
        hparams = {f"h{key}": chance.random() for key in range(7)}
        # `old` is a hyperparameter that only the first tenth of the runs has.
        hparams |= {"optimizer": chance.choice(["adam", "sgd", "lion"]), "amp": chance.random() < 0.5}
        hparams |= {"old" if index < count / 10 else "new": 1}
        metrics = {f"m{key}": _summary(chance.random(), started.timestamp()) for key in range(10)}
        yield RunRecord(
            uid=new_uid(),
            workspace="other" if index % 20 == 0 else "main",
            experiment=f"experiment {index // 100}",
            name=f"run-{index}",
            status=chance.choice([RunState.COMPLETED, RunState.COMPLETED, RunState.FAILED, RunState.RUNNING]),
            user=chance.choice(["ann", "bob"]),
            created=started,
            started=started,
            ended=started + timedelta(seconds=chance.randrange(100_000)),
            hparams=hparams,
            metrics=metrics,
            tags={"best": ""} if index % 1000 == 7 else {},
            details={"command": ["python", "train.py", "--some", "arguments"] * 3},
        )


def _summary(value: float, wall_time: float) -> MetricSummary:
    points = [MetricPoint(part, 1000, wall_time) for part in (value, value / 2, value * 2)]
    return MetricSummary(points[0], points[1], points[2], int(value * 10_000))


def fill(catalog: Catalog, count: int) -> float:
    """Put runs until there are `count`; returns runs per second."""
    there = catalog.runs.count()
    start, done = time.perf_counter(), 0
    part: list[RunRecord] = []
    for run in made(count):
        if there:
            there -= 1
            continue
        part.append(run)
        done += 1
        if len(part) == 1000:
            catalog.runs.put_many(part)
            part.clear()
    if part:
        catalog.runs.put_many(part)
    return done / (time.perf_counter() - start)


class Plans:
    """Writes how a database carries out each query of a catalog."""

    def __init__(self, catalog: Catalog) -> None:
        self._engine = catalog._database._engine

    def __enter__(self) -> None:
        event.listen(self._engine, "before_cursor_execute", self._explain)

    def __exit__(self, *_: object) -> None:
        event.remove(self._engine, "before_cursor_execute", self._explain)

    def _explain(self, connection: Connection, cursor: object, statement: str, values: Any, *_: object) -> None:
        if statement.lstrip().upper().startswith(("SELECT", "WITH")):
            own = connection.connection.cursor()
            word = "EXPLAIN QUERY PLAN " if connection.dialect.name == "sqlite" else "EXPLAIN (ANALYZE, COSTS OFF) "
            own.execute(word + statement, values)
            print("\n".join(f"      {row[-1]}" for row in own.fetchall()), end="\n\n")
            own.close()


def measure(catalog: Catalog, rounds: int, only: str, explain: bool) -> list[dict[str, object]]:
    results: list[dict[str, object]] = []
    for where, order in QUESTIONS:
        if only not in f"{where} {order}":
            continue
        query, sort = parse_query(where) if where else None, parse_sort(order)
        asked = {"workspaces": ["main"], "where": query, "sort": sort, "limit": 50}
        if explain:
            print(f"== {where or 'all'} by {order}")
            with Plans(catalog):
                catalog.runs.list(**asked)
        _timed(catalog, asked)
        processor = _processor_seconds(catalog)
        first = [_timed(catalog, asked) for _ in range(rounds)]
        processor = (_processor_seconds(catalog) - processor) / rounds
        page = catalog.runs.list(**asked)
        second = [_timed(catalog, {**asked, "after": page.next}) for _ in range(rounds)] if page.next else []
        results.append(
            {
                "filter": where or "-",
                "order": order,
                "runs": catalog.runs.count(workspaces=["main"], where=query),
                "page ms": round(statistics.median(first) * 1e3, 1),
                "worst ms": round(max(first) * 1e3, 1),
                "CPU ms": round(processor * 1e3, 1),
                "next page ms": round(statistics.median(second) * 1e3, 1) if second else "-",
            }
        )
        print(" | ".join(map(str, results[-1].values())), flush=True)
    return results


def _processor_seconds(catalog: Catalog) -> float:
    """What this process has used, and PostgreSQL's if it runs here. On a busy machine it tells more than the clock."""
    own = time.process_time()
    if catalog._database.is_sqlite:
        return own
    with catalog._database.reading() as connection:
        server = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar()
    try:
        fields = Path(f"/proc/{server}/stat").read_text("utf-8").rpartition(")")[2].split()
    except OSError:
        return own
    return own + (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _timed(catalog: Catalog, asked: dict[str, Any]) -> float:
    start = time.perf_counter()
    catalog.runs.list(**asked)
    return time.perf_counter() - start


def _put(catalog: Catalog, rounds: int) -> float:
    (run,) = made(1)
    times: list[float] = []
    for _ in range(rounds):
        changed = {"updated": datetime.now(UTC), "metrics": {"m1": _summary(random.random(), 0)}}
        again = RunRecord(**{name: getattr(run, name) for name in RunRecord.__dataclass_fields__} | changed)
        start = time.perf_counter()
        catalog.runs.put(again)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--file", type=Path, help="of SQLite; kept and used again; else a new one")
    parser.add_argument("--postgresql", metavar="URL", help="an existing database; else a server of its own is started")
    parser.add_argument("--engines", nargs="+", choices=["sqlite", "postgresql"], default=["sqlite", "postgresql"])
    parser.add_argument("--only", default="", help="questions that contain this text")
    parser.add_argument("--explain", action="store_true", help="show how each query is carried out")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results: dict[str, object] = {}
    with ExitStack() as stack:
        for engine in options.engines:
            where: str | Path
            if engine == "sqlite":
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="aboard-catalog-"))
                where = options.file or Path(folder) / "catalog.sqlite"
            elif options.postgresql:
                where = options.postgresql
            else:
                sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
                from support.postgres import postgres_server

                where = stack.enter_context(postgres_server()).new_database()
            with Catalog.open(where) as catalog:
                rate = fill(catalog, options.runs)
                print(f"\n{engine}: {options.runs} runs, {rate:.0f} put per second")
                print("filter | order | runs | page ms | worst ms | CPU ms | next page ms")
                table = measure(catalog, options.rounds, options.only, options.explain)
                single = _put(catalog, 20)
                print(f"one run put again: {single * 1e3:.1f} ms")
                results[engine] = {"runs": options.runs, "put per second": rate, "put ms": single * 1e3, "pages": table}
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
