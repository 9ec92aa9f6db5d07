# SPDX-License-Identifier: Apache-2.0
"""Log folders that are URIs: through a registered factory, below a local folder, or refused."""

import numpy as np
import pytest

from aboard import RecordWriter, SummaryWriter, register_writer_factory
from aboard.errors import InvalidValue, StorageUnavailable
from aboard.writer import factories
from support.reading import event_files, raw_events, scalars


class Store:
    """A factory in the form that tensorboardX has: it maps URIs to files of a folder."""

    def __init__(self, folder):
        self.folder, self.checked = folder, []

    def directory_check(self, path):
        self.checked.append(path)

    def open(self, path):
        target = self.folder / path.partition("://")[2]
        target.parent.mkdir(parents=True, exist_ok=True)
        return target.open("wb")


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setattr(factories, "_factories", {})
    store = Store(tmp_path)
    register_writer_factory("mem", store)
    return store


def test_everything_goes_through_the_factory(store, tmp_path):
    with SummaryWriter("mem://bucket/run", purge_step=2, filename_suffix=".x") as writer:
        writer.add_scalar("t", 1.5, 3)
        writer.add_scalars("series", {"a": 2}, 4)
        writer.add_histogram("h", np.arange(5))
        writer.add_image("i", np.zeros((3, 2, 2)))
        writer.add_hparams({"lr": 1}, {"acc": 2}, run_name="trial")
        assert writer.get_logdir() == "mem://bucket/run"
    run = tmp_path / "bucket/run"
    assert scalars(run) == [("t", 3, 1.5)]
    assert scalars(run / "series/a") == [("series", 4, 2.0)]
    assert scalars(run / "trial") == [("acc", 0, 2.0)]
    assert raw_events(run)[0].file_version
    assert all(path.name.endswith(".x") for path in event_files(tmp_path))
    assert "mem://bucket/run" in store.checked


def test_records_too(store, tmp_path):
    with RecordWriter("mem://records") as writer:
        writer.write(b"abc")
    assert (tmp_path / "records").stat().st_size == 3 + 16


def test_each_byte_is_handed_over_once(store, tmp_path, monkeypatch):
    """tensorboardX keeps the whole file and uploads it anew at each flush, which grows with its square."""
    handed = []

    class Counting:
        def __init__(self, file):
            self.flush, self.close, self._file = file.flush, file.close, file

        def write(self, data):
            handed.append(len(data))
            self._file.write(data)

    opened = store.open
    monkeypatch.setattr(store, "open", lambda path: Counting(opened(path)))
    with SummaryWriter("mem://run") as writer:
        for step in range(50):
            writer.add_scalar("t", step, step)
            writer.flush()
    assert len(scalars(tmp_path / "run")) == 50
    assert sum(handed) == sum(path.stat().st_size for path in event_files(tmp_path))


def test_closing_and_going_on_opens_another_file(store, tmp_path):
    writer = SummaryWriter("mem://run")
    writer.add_scalar("t", 1, 1)
    writer.close()
    writer.add_scalar("t", 2, 2)
    writer.close()
    assert sorted(scalars(tmp_path / "run")) == [("t", 1, 1), ("t", 2, 2)]
    assert len(event_files(tmp_path)) == 2


REFUSED = {
    "hdfs://host/run": ("hdfs:// is not a kind of store", "register_writer_factory"),
    "s3://": ("'' cannot be the name of a bucket", "s3://bucket/prefix"),
    "gs://bucket/a//run": ("empty part", "single slashes"),
    "az://container/../x": ("'..' is not a name", "single slashes"),
    "s3://key:secret@bucket/run": ("holds no credentials", "environment"),
    "https://account.blob.core.windows.net/c/run?sig=abc": ("without a question mark", "AZURE_STORAGE_SAS_TOKEN"),
    "https://example.org/run": ("Azure storage accounts only", "Name a folder"),
    "memory://name/run": ("memory of one process", "Name a folder"),
}


@pytest.mark.parametrize("uri", REFUSED)
def test_a_uri_that_cannot_be_written(store, uri, tmp_path, monkeypatch):
    monkeypatch.setenv("ABOARD_HOME", str(tmp_path))
    problem, hint = REFUSED[uri]
    with pytest.raises(InvalidValue) as caught:
        SummaryWriter(uri)
    assert problem in caught.value.message
    assert hint in caught.value.hint
    assert "secret" not in caught.value.message
    assert "abc" not in caught.value.message
    assert list(tmp_path.iterdir()) == []


def test_a_home_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "spool").write_text("")
    monkeypatch.setenv("ABOARD_HOME", str(tmp_path))
    with pytest.raises(StorageUnavailable, match="their way to s3://bucket/run cannot be written") as caught:
        SummaryWriter("s3://bucket/run")
    assert "ABOARD_HOME" in caught.value.hint


def test_a_file_uri_is_a_folder(tmp_path):
    with SummaryWriter(f"file://{tmp_path}/a%20b") as writer:
        writer.add_scalar("t", 1)
        writer.add_scalars("main", {"x": 2}, 1)
        writer.add_embedding(np.eye(2))
    assert scalars(tmp_path / "a b") == [("t", 0, 1.0)]
    assert scalars(tmp_path / "a b/main/x") == [("main", 1, 2.0)]
    assert (tmp_path / "a b/projector_config.pbtxt").exists()


def test_calls_that_need_local_files_say_so(store, tmp_path):
    with SummaryWriter("mem://run") as writer:
        with pytest.raises(InvalidValue, match="needs a local logdir, got 'mem://run'"):
            writer.add_embedding(np.eye(2))
        with pytest.raises(InvalidValue, match="has no local files"):
            writer.export_scalars_to_json(tmp_path / "out.json")


@pytest.mark.parametrize("prefix", ["s3:", "s3://", 5])
def test_a_prefix_has_no_colon(prefix):
    with pytest.raises(InvalidValue, match="prefix must be a scheme without a colon, such as 's3', got"):
        register_writer_factory(prefix, object())  # pyright: ignore[reportArgumentType] (wrong on purpose)


def test_a_folder_with_a_colon_is_a_folder(store, tmp_path):
    with SummaryWriter(tmp_path / "lr:0.1") as writer:
        writer.add_scalar("t", 1)
    assert len(event_files(tmp_path / "lr:0.1")) == 1
