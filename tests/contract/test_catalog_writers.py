# SPDX-License-Identifier: Apache-2.0
"""Several processes write to one catalog at once, and some of them die: no row is lost, doubled or torn."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from aboard.catalog.catalog import Catalog
from aboard.catalog.database import CatalogAddress, Database
from aboard.errors import CatalogUnavailable, Conflict
from aboard.model.query.parser import parse_query
from aboard.model.runs import run_to_document
from aboard.model.states import RunState
from support.catalog_runs import START, make_run, metric
from support.postgres import postgres_server
from support.processes import finish, until

WRITERS = 2
WRITER = """
    import json, random, sys
    from aboard.catalog.catalog import Catalog
    from aboard.model.runs import run_from_document

    place, path, me = sys.argv[1], sys.argv[2], int(sys.argv[3])
    documents = json.load(open(path))
    mine = [document for document in documents if document["writer"] in (None, me)]
    random.Random(me).shuffle(mine)
    with Catalog.open(place, beside_server=True) as catalog:
        print("ready", flush=True)
        sys.stdin.readline()
        for size in (1, 7, 30, len(mine)):
            catalog.runs.put_many([run_from_document(document) for document in mine[:size]])
"""


def start(folder, script, *arguments):
    path = folder / f"writer{len(list(folder.iterdir()))}.py"
    path.write_text(textwrap.dedent(script), encoding="utf-8")
    command = [sys.executable, str(path), *map(str, arguments)]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, text=True, start_new_session=True, stdin=pipe, stdout=pipe, stderr=pipe)
    assert process.stdout.readline() == "ready\n", process.communicate()
    return process


def test_processes_that_write_the_same_runs(place, tmp_path):
    shared = [
        make_run(
            workspace=f"ws{index % 3}",
            experiment=f"e{index % 4}",
            revision=2,
            hparams={f"h{index % 5}": 2, "version": 2},
            metrics={f"m{index % 5}": metric(2.0)},
        )
        for index in range(20)
    ]
    older = [replace(run, revision=1, hparams={"version": 1, "old": 1}) for run in shared]
    documents = [{**run_to_document(run), "writer": None} for run in shared]
    documents += [{**run_to_document(run), "writer": index % WRITERS} for index, run in enumerate(older)]
    own = [make_run(hparams={"own": writer}) for writer in range(WRITERS) for _ in range(20)]
    documents += [{**run_to_document(run), "writer": run.hparams["own"]} for run in own]
    (tmp_path / "documents.json").write_text(json.dumps(documents), encoding="utf-8")
    processes = [start(tmp_path, WRITER, place, tmp_path / "documents.json", me) for me in range(WRITERS)]
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        ended = finish(process, 90)
        assert ended.code == 0, ended.err
    with Catalog.open(place) as catalog:
        found = {run.uid: run for run in catalog.runs.list(limit=1000).items}
        assert found.keys() == {run.uid for run in (*shared, *own)}
        assert catalog.runs.count() == len(found) == len({run.number for run in found.values()})
        assert {run.uid: run.hparams for run in found.values()} == {run.uid: run.hparams for run in (*shared, *own)}
        assert {run.name for run in found.values()} == {f"run{run.number}" for run in found.values()}
        assert len(catalog.experiments.list(limit=1000).items) == 12
        assert len(catalog.workspaces.list()) == 3
        assert set(catalog.fields.hparams()) - {"old"} == {"h0", "h1", "h2", "h3", "h4", "own", "version"}


def test_threads_of_one_server(catalog):
    runs = [make_run(hparams={"i": index}) for index in range(40)]
    failures: list[BaseException] = []

    def work(part):
        try:
            for run in part:
                catalog.runs.put(run)
                catalog.runs.heartbeat(run.uid, START)
                catalog.runs.list(limit=5)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(runs[start::4] + runs[:5],)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert catalog.runs.count() == 40


def test_versions_of_one_run_are_never_mixed(catalog):
    run = catalog.runs.put(make_run())
    versions = [{f"{version}-{key}": version for key in range(10)} for version in range(4)]
    failures: list[BaseException] = []
    together = threading.Barrier(len(versions))

    def write(hparams):
        try:
            together.wait()
            for tag in range(15):
                catalog.runs.put(replace(run, hparams=hparams, tags={str(tag): ""}))
                found = catalog.runs.get(run.number or 0)
                if found.hparams not in versions or len(found.tags) != 1:
                    failures.append(AssertionError(found))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(version,)) for version in versions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_only_one_of_many_changes_a_status(catalog):
    number = catalog.runs.put(make_run(status=RunState.RUNNING)).number
    outcomes: list[str] = []

    def finish_as(status):
        try:
            catalog.runs.change_status(number, status)
            outcomes.append(str(status))
        except Conflict:
            outcomes.append("refused")

    ends = [RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED]
    threads = [threading.Thread(target=finish_as, args=(status,)) for status in ends]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count("refused") == 2
    assert str(catalog.runs.get(number).status) in outcomes


ENDLESS = """
    import itertools, sys
    from aboard.catalog.catalog import Catalog
    from support.catalog_runs import make_run, metric

    with Catalog.open(sys.argv[1], beside_server=True) as catalog:
        print("ready", flush=True)
        for index in itertools.count():
            hparams = {f"h{key}": index for key in range(20)}
            catalog.runs.put_many([make_run(hparams=hparams, metrics={"m": metric(1.0)}) for _ in range(5)])
"""


def test_a_writer_that_is_killed_leaves_no_half_run(place, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    process = start(tmp_path, ENDLESS, place)
    with Catalog.open(place) as catalog:
        until(lambda: catalog.runs.count() >= 10, 60)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        runs = catalog.runs.list(limit=1000).items
        assert all(len(run.hparams) == 20 and len(run.metrics) == 1 for run in runs)
        assert len(runs) % 5 == 0
        catalog.runs.put(make_run())  # and nothing is locked


def test_a_postgresql_that_goes_and_comes_back(tmp_path):
    with postgres_server() as server, Catalog.open(server.new_database()) as catalog:
        run = catalog.runs.put(make_run())
        server.stop()
        with pytest.raises(CatalogUnavailable, match="does not answer") as caught:
            catalog.runs.get(run.number or 0)
        assert "see that PostgreSQL runs" in caught.value.hint
        server.start()
        assert catalog.runs.get(run.number or 0).uid == run.uid
        assert catalog.runs.count(where=parse_query("number == 1")) == 1


def test_a_busy_sqlite_waits_its_turn(tmp_path):
    import sqlite3

    path = tmp_path / "catalog.sqlite"
    with Catalog.open(path) as catalog:
        other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        with ThreadPoolExecutor(1) as threads:
            waiting = threads.submit(catalog.runs.put, make_run())
            with pytest.raises(TimeoutError):
                waiting.result(0.2)
            other.execute("COMMIT")
            assert waiting.result().number == 1
        other.close()


def test_a_connection_that_is_in_use_when_the_catalog_closes_is_closed_afterwards(place):
    database = Database(CatalogAddress.of(place))
    with database.reading() as connection:
        database.close()
        connection.exec_driver_sql("SELECT 1")  # who is at work may finish
        driver = connection.connection.dbapi_connection
    with pytest.raises(Exception, match="closed"):
        driver.cursor().execute("SELECT 1")
