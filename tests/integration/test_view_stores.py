# SPDX-License-Identifier: Apache-2.0
"""`aboard view` and the other commands over a real S3 server, by an identity that may read and nothing else."""

import json
import os
import time

import pytest

from aboard import SummaryWriter
from aboard.errors import AccessDenied
from aboard.store import Connection, open_store
from support.clouds import PREFIXES, PROXIES
from support.commands import aboard
from support.fault_proxy import fault_proxy
from support.object_servers import LISTLESS, READER
from support.trained_runs import StoredRun, stored_run
from support.viewing import eventually, viewing


@pytest.fixture
def proxy(s3_server):
    with fault_proxy(s3_server.port) as proxy:
        yield proxy


@pytest.fixture
def store(s3_server, tmp_path):
    """Written as training does, without the proxy."""
    keys = s3_server.environment()
    connection = Connection(
        endpoint=s3_server.endpoint,
        region="us-east-1",
        key_id=keys["AWS_ACCESS_KEY_ID"],
        secret=keys["AWS_SECRET_ACCESS_KEY"],
    )
    return open_store(f"s3://contract/{tmp_path.name}-{time.monotonic_ns()}", connection=connection)


@pytest.fixture
def reader(s3_server, proxy, tmp_path):
    """The environment of a person with read permission, whose requests pass the proxy."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(PREFIXES) and name.lower() not in PROXIES
    }
    home = {"HOME": str(tmp_path), "ABOARD_HOME": str(tmp_path / "home")}
    return {**clean, **home, **s3_server.environment(READER), "AWS_ENDPOINT_URL": proxy.endpoint}


def listing(asked):
    return "list-type" in asked.query


def test_a_board_over_a_store(store, reader, proxy, tmp_path):
    stored_run(store, tmp_path, "done", lambda run: (run.log(range(500)), run.log(range(3), logdir="test")))
    live = StoredRun.begin(store, tmp_path, "live", tags={"team": "blue"}, experiment="sweep")
    live.log(range(4))
    live.ship()
    with SummaryWriter(str(tmp_path / "folder" / "local")) as writer:
        writer.add_scalar("loss", 1.0, 1)
    with viewing(store.uri, f"here={tmp_path / 'folder'}", "--stats", env=reader) as view:
        first = view.wait_until_read()
        (counted,) = first["stores"].values()
        assert counted["requests"]["get"] >= 5
        assert counted["bytes_in"] > 5_000
        assert counted["bytes_out"] == 0
        name = store.uri.rpartition("/")[2]
        runs = {f"{name}/done/train", f"{name}/done/test", f"{name}/live/train", "here/local"}
        assert set(view.json("data/runs")) == runs
        assert len(view.scalars(f"{name}/done/train")) == 500
        later = StoredRun.begin(store, tmp_path, "later")
        later.log(range(2))
        later.finish()
        live.log(range(4, 7))
        live.ship()
        eventually(lambda: len(view.scalars(f"{name}/live/train")) == 7)
        live.finish()
        eventually(lambda: f"{name}/later/train" in view.json("data/runs"))
        said = view.end()
    assert "requests (" in said
    assert {one.method for one in proxy.requests} == {"GET"}
    for one in proxy.requests:  # nothing inside a run is ever listed
        if listing(one):
            assert one.query.get("prefix", "").strip("/").count("/") <= 1, one
    proxy.forget()
    template = "{workspace}_{experiment}_{run}_{logdir}_{tags.team}"
    with viewing(store.uri, "--template", template, env=reader) as view:
        view.wait_until_read()
        names = set(view.json("data/runs"))
        assert names == {
            "lab_sweep_live_train_blue",
            "lab_none_done_train_none",
            "lab_none_done_test_none",
            "lab_none_later_train_none",
        }
    asked = [one.path.rpartition("/")[2] for one in proxy.requests if not listing(one)]
    assert set(asked) <= {"summary.json", "manifest.json"}, asked  # of live and later, which the first process saw open


def test_idle_boards_ask_only_for_the_manifests_of_live_runs(store, reader, proxy, tmp_path):
    """And get them only if they have changed; tests/unit/reader/mirror/test_polling.py has how often."""
    for number in range(4):
        stored_run(store, tmp_path, f"sealed{number}", lambda run: run.log(range(3)))
    live = [StoredRun.begin(store, tmp_path, f"live{number}") for number in range(3)]
    for run in live:
        run.log(range(3))
        run.ship()
    with viewing(store.uri, env=reader) as view:
        view.wait_until_read()
        proxy.forget()
        uids = {run.uid for run in live}
        eventually(lambda: {one.path.split("/")[-2] for one in proxy.requests if not listing(one)} == uids)
        asked = [one for one in proxy.requests if not listing(one)]
    assert {one.path.rpartition("/")[2] for one in asked} == {"manifest.json"}
    assert all("if-none-match" in one.headers for one in asked)


def test_other_commands(store, reader, tmp_path):
    stored_run(store, tmp_path, "done", lambda run: run.log(range(50)))
    name = "events.out.tfevents.1794788815.host"
    with SummaryWriter(str(tmp_path / "plain")) as writer:
        for step in range(100):
            writer.add_scalar("loss", 1.0, step)
    (path,) = (tmp_path / "plain").iterdir()
    damaged = bytearray(path.read_bytes())
    damaged[1000] ^= 255
    store.put(f"others/a/{name}", bytes(damaged))
    exported = aboard("export", store.uri, "--run", "done/*", env=reader)
    assert exported.code == 0, exported.err
    assert len(exported.out.splitlines()) == 51
    doctor = aboard("doctor", store.uri, env=reader)
    assert doctor.code == 1, doctor.err
    assert f"{store.uri}/others/a/{name}" in doctor.out
    assert str(tmp_path) not in doctor.out
    document = json.loads(aboard("doctor", "--json", store.uri, env=reader).out)
    assert document["paths"] == [store.uri]
    assert document["examined"]["files"] == 2
    repaired = aboard("doctor", store.uri, "--repair", tmp_path / "clean", env=reader)
    assert repaired.code == 0, repaired.out + repaired.err
    assert len(list((tmp_path / "clean").rglob("*tfevents*"))) == 2


def test_the_identity_of_these_tests_cannot_write(store, s3_server):
    connection = Connection(endpoint=s3_server.endpoint, region="us-east-1", key_id=READER.id, secret=READER.secret)
    with pytest.raises(AccessDenied):
        open_store(store.uri, connection=connection).put("x", b"x")


def test_one_run_needs_no_permission_to_list(store, reader, s3_server, tmp_path):
    run = stored_run(store, tmp_path, "done", lambda run: run.log(range(5)))
    listless = {**reader, **s3_server.environment(LISTLESS)}
    assert aboard("export", f"{store.uri}/{run.uid}", env=listless).out.count("\n") == 6
    refused = aboard("export", store.uri, env=listless)
    assert refused.code == 1
    assert "s3:ListBucket" in refused.err
    assert "Traceback" not in refused.err
