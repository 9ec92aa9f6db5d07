# SPDX-License-Identifier: Apache-2.0
"""`SummaryWriter("s3://…")`: what arrives in the bucket, however the training, its children and its helper end."""

from __future__ import annotations

import os
import signal
import uuid
from pathlib import Path

import pytest

import aboard
from aboard.store import Connection, Store, open_store
from support.clouds import clear_clouds
from support.fault_proxy import fault_proxy
from support.object_servers import WRITER, S3Server
from support.processes import until
from support.runs import Machine, finish, well
from support.store_kinds import opener


@pytest.fixture
def uri() -> str:
    return f"s3://contract/{uuid.uuid4().hex}/logs"


@pytest.fixture
def machine(tmp_path: Path, s3_server: S3Server) -> Machine:
    return Machine(tmp_path / "one", str(tmp_path / "unused"), s3_server.environment())


@pytest.fixture
def bucket(s3_server: S3Server, uri: str) -> Store:
    connection = Connection(endpoint=s3_server.endpoint, region="us-east-1", key_id=WRITER.id, secret=WRITER.secret)
    return open_store(uri, connection=connection)


def download(store: Store, folder: Path) -> Path:
    """As `aws s3 cp --recursive` would."""
    for entry in store.list():
        store.download(entry.key, folder / entry.key)
    return folder


def points(folder: Path, tag: str) -> list[tuple[int, float]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    accumulator = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    accumulator.Reload()
    known = accumulator.Tags()["scalars"]
    return [(point.step, point.value) for point in accumulator.Scalars(tag)] if tag in known else []


def helper_of(spool: Path) -> int:
    return int((spool / "lock").read_text())


def test_stock_tensorboard_reads_what_was_downloaded(machine: Machine, bucket: Store, uri: str, tmp_path: Path) -> None:
    script = """
        import os, sys, time
        import numpy as np
        from aboard import SummaryWriter

        other = SummaryWriter(sys.argv[1] + "-other")
        with SummaryWriter(sys.argv[1] + "/", filename_suffix=".v2", purge_step=2) as writer:
            for step in range(40):
                writer.add_scalar("loss", step / 2, step)
                if step == 20:
                    writer.flush()
                    while not os.path.exists("first segment"):
                        time.sleep(0.02)
            writer.add_scalars("two", {"a": 1, "b": 2}, 7)
            writer.add_hparams({"lr": 0.1}, {"acc": 0.5}, run_name="trial")
            writer.add_embedding(np.eye(3), metadata=["x", "y", "z"])
            assert writer.get_logdir() == sys.argv[1] + "/"
        other.add_scalar("far", 1, 1)
        writer.add_scalar("later", 5, 5)  # after closing: a new file
        assert "obstore" not in sys.modules
    """
    process = machine.start_python(script, uri)
    until(lambda: process.poll() is not None or list(bucket.list()))
    (machine.folder / "first segment").touch()
    ended = well(finish(process))
    assert ended.err == ""
    until(lambda: not machine.spools())  # nothing stays on this machine
    keys = [entry.key for entry in bucket.list()]
    folder = download(bucket, tmp_path / "got")
    assert points(folder, "loss") == [(step, step / 2) for step in range(40)]
    assert points(folder, "later") == [(5, 5.0)]
    assert points(folder / "two/a", "two") == [(7, 1.0)]
    assert points(folder / "trial", "acc") == [(0, 0.5)]
    assert (folder / "00000/default/metadata.tsv").read_text().split() == ["x", "y", "z"]
    assert 'tensor_path: "00000/default/tensors.tsv"' in (folder / "projector_config.pbtxt").read_text()
    others = [key for key in keys if "tfevents" not in key and not key.startswith(("00000/", "projector_config"))]
    assert others == []  # no manifest, no document: a plain log folder
    main = [key for key in keys if "/" not in key and "tfevents" in key]
    assert [".v2.0000" in key for key in main] == [True, True], main  # rolled up: one object for each file


@pytest.mark.parametrize("kind", ["azure", "gcs", "oss"])
def test_every_kind_of_bucket(
    kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Azure by its emulator; Google and OSS at the level of HTTP."""
    clear_clouds(monkeypatch, tmp_path)
    with opener(kind, request, monkeypatch, tmp_path) as opened:
        store = opened()
        machine = Machine(tmp_path / "one", str(tmp_path / "unused"))
        script = """
            import sys
            from aboard import SummaryWriter

            with SummaryWriter(sys.argv[1] + "/logs", flush_timeout=30) as writer:
                for step in range(30):
                    writer.add_scalar("loss", step / 2, step)
        """
        ended = well(machine.python(script, store.uri))
        assert ended.err == ""
        until(lambda: not machine.spools())
        monkeypatch.setenv("ABOARD_HOME", str(tmp_path / "reader"))
        with aboard.open(f"{store.uri}/logs") as runs:
            assert runs.runs["."].scalars["loss"].values.tolist() == [step / 2 for step in range(30)]
        folder = download(store, tmp_path / "got")
        assert points(folder / "logs", "loss") == [(step, step / 2) for step in range(30)]


def test_children_and_a_killed_parent(machine: Machine, bucket: Store, uri: str, tmp_path: Path) -> None:
    script = """
        import os, signal, sys, time
        from aboard import SummaryWriter

        writer = SummaryWriter(sys.argv[1])
        writer.add_scalar("parent", 1, 1)
        parent = os.getpid()
        if os.fork() == 0:
            while os.getppid() == parent:  # the child goes on when its parent is gone
                time.sleep(0.02)
            for step in range(5):
                writer.add_scalar("child", step, step)
            writer.close()
            os._exit(0)
        writer.add_scalar("parent", 2, 2)
        writer.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    """
    assert machine.python(script, uri).code == -signal.SIGKILL
    until(lambda: not machine.spools())
    folder = download(bucket, tmp_path / "got")
    assert sorted(points(folder, "parent")) == [(1, 1.0), (2, 2.0)]
    assert sorted(points(folder, "child")) == [(step, float(step)) for step in range(5)]


def test_without_network_closing_says_what_is_left_and_sync_finishes(
    machine: Machine, bucket: Store, uri: str, tmp_path: Path, s3_server: S3Server
) -> None:
    script = """
        import sys
        from aboard import SummaryWriter

        for name in "ab":
            writer = SummaryWriter(f"{sys.argv[1]}/{name}", flush_timeout=2)
            writer.add_scalar("loss", 1, 1)
            writer.close()
    """
    with fault_proxy(s3_server.port) as proxy:
        proxy.cut()
        ended = machine.python(script, uri, AWS_ENDPOINT_URL=proxy.endpoint)
    assert ended.code == 0
    (spool,) = machine.spools()
    assert ended.err.count("WriteWarning") == 2  # one for each writer, and the second does not wait as long again
    assert f"After 2 s not everything is in {uri}/a" in ended.err
    assert f"After 1 s not everything is in {uri}/b" in ended.err
    assert f"aboard sync {spool}" in ended.err
    assert machine.aboard("sync").out.startswith(str(spool))  # the helper is still at it
    os.kill(helper_of(spool), signal.SIGKILL)
    until(lambda: machine.aboard("sync").out.startswith(uri))
    assert machine.spools() == []
    assert points(download(bucket, tmp_path / "got") / "b", "loss") == [(1, 1.0)]


def test_a_helper_that_was_killed_is_replaced(machine: Machine, bucket: Store, uri: str, tmp_path: Path) -> None:
    script = """
        import os, sys, time
        from aboard import SummaryWriter

        writer = SummaryWriter(sys.argv[1])
        writer.add_scalar("loss", 1, 1)
        writer.close()
        print("ready", flush=True)
        while not os.path.exists("go"):
            time.sleep(0.05)
        writer.add_scalar("loss", 2, 2)
        writer.close()
    """
    process = machine.start_python(script, uri)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    (spool,) = machine.spools()
    os.kill(helper_of(spool), signal.SIGKILL)
    (machine.folder / "go").touch()
    well(finish(process))
    until(lambda: not machine.spools())
    assert points(download(bucket, tmp_path / "got"), "loss") == [(1, 1.0), (2, 2.0)]


def test_a_bucket_that_is_not_there_is_said_while_training_goes_on(machine: Machine) -> None:
    script = """
        import logging, threading
        from aboard import SummaryWriter

        told = threading.Event()
        logging.basicConfig()
        logging.getLogger("aboard.writer").addFilter(lambda record: told.set() or True)
        writer = SummaryWriter("s3://no-such-bucket-here/logs", flush_timeout=1)
        for step in range(3000):
            writer.add_scalar("loss", step, step)
            if told.wait(0.01):
                break
        assert told.is_set()
    """
    ended = machine.python(script)
    assert ended.code == 0
    assert "no-such-bucket-here" in ended.err
    assert "said once" in ended.err
    assert ended.err.count("(said once)") == 1
    (spool,) = machine.spools()
    os.kill(helper_of(spool), signal.SIGKILL)
