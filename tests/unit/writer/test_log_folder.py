# SPDX-License-Identifier: Apache-2.0
"""The folder and the files of a writer: names, life, purging, copies."""

import os
import pickle
import re
from datetime import datetime
from pathlib import Path

import pytest

from aboard import SummaryWriter
from aboard.errors import InvalidValue
from support.reading import event_files, raw_events, scalars


@pytest.fixture
def in_tmp(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("arguments", [{}, {"comment": "_lr0.1"}, {"logdir": None}, {"logdir": ""}, {"log_dir": None}])
def test_default_folder(in_tmp, arguments):
    before = datetime.now().replace(microsecond=0)
    with SummaryWriter(**arguments) as writer:
        parent, name = os.path.split(writer.get_logdir())
    assert parent == "runs"
    stamp, _, rest = name.partition(f"_{os.uname().nodename}")
    assert rest == arguments.get("comment", "")
    made = datetime.strptime(f"{before.year} {stamp}", "%Y %b%d_%H-%M-%S")
    assert before <= made <= datetime.now()
    assert len(event_files(in_tmp / "runs" / name)) == 1


def test_comment_is_for_the_default_name_only(in_tmp):
    SummaryWriter("here", comment="_no").close()
    assert [path.name for path in in_tmp.iterdir()] == ["here"]


@pytest.mark.parametrize(
    "make", [str, Path, os.fsencode, lambda path: {"logdir": path}, lambda path: {"log_dir": str(path)}]
)
def test_every_way_to_name_the_folder(tmp_path, make):
    given = make(tmp_path / "a" / "b")
    writer = SummaryWriter(**given) if isinstance(given, dict) else SummaryWriter(given)
    writer.close()
    assert writer.get_logdir() == writer.logdir == writer.log_dir == str(tmp_path / "a" / "b")
    assert len(event_files(tmp_path / "a" / "b")) == 1


def test_logdir_wins_over_log_dir(tmp_path):
    with SummaryWriter(tmp_path / "one", log_dir=tmp_path / "two") as writer:
        assert writer.get_logdir() == str(tmp_path / "one")


def test_file_name_and_first_record(tmp_path):
    with SummaryWriter(tmp_path, filename_suffix=".gpu0"):
        pass
    (path,) = event_files(tmp_path)
    host = re.escape(os.uname().nodename)
    assert re.fullmatch(rf"events\.out\.tfevents\.\d{{10}}\.{host}\.{os.getpid()}\.\d+\.gpu0", path.name)
    (first,) = raw_events(tmp_path)
    assert first.file_version == "brain.Event:2"


def test_two_writers_on_one_folder_keep_all_points(tmp_path):
    """tensorboardX gives both the same name within a second, and one writes over the other."""
    first, second = SummaryWriter(tmp_path), SummaryWriter(tmp_path)
    for step in range(100):
        first.add_scalar("a", step, step)
        second.add_scalar("b", step, step)
    first.close()
    second.close()
    assert len(event_files(tmp_path)) == 2
    assert sorted(scalars(tmp_path)) == sorted((tag, step, step) for tag in "ab" for step in range(100))


def test_flush_means_all_of_it(tmp_path):
    """tensorboardX flushes the file and forgets its queue."""
    writer = SummaryWriter(tmp_path)
    for step in range(200):
        writer.add_scalar("t", step, step)
    writer.flush()
    assert scalars(tmp_path) == [("t", step, step) for step in range(200)]
    writer.close()


@pytest.mark.parametrize("queue", [0, 1, 10, 2**70])
def test_queue_and_flush_seconds_lose_nothing(tmp_path, queue):
    with SummaryWriter(tmp_path, max_queue=queue, flush_secs=0.01) as writer:
        for step in range(50):
            writer.add_scalar("t", step, step)
    assert len(scalars(tmp_path)) == 50


def test_close_is_idempotent_and_use_after_it_opens_a_new_file(tmp_path):
    writer = SummaryWriter(tmp_path)
    writer.add_scalar("t", 1, 1)
    writer.close()
    writer.close()
    writer.flush()
    assert len(event_files(tmp_path)) == 1
    assert writer.file_writer is None
    writer.add_scalar("t", 2, 2)
    assert writer.file_writer is not None
    writer.close()
    assert len(event_files(tmp_path)) == 2
    assert sorted(scalars(tmp_path)) == [("t", 1, 1), ("t", 2, 2)]


def test_defaults_of_a_block_hold_for_a_writer_that_was_closed_before_or_in_it(tmp_path):
    writer = SummaryWriter(tmp_path)
    writer.close()
    with writer.use_metadata(global_step=7):
        writer.add_scalar("first", 1)
        writer.close()
        writer.add_scalar("second", 1)
    writer.add_scalar("third", 1, 9)
    writer.close()
    assert sorted(scalars(tmp_path)) == [("first", 7, 1), ("second", 7, 1), ("third", 9, 1)]


def test_block_closes_also_after_an_error(tmp_path):
    def fail() -> None:
        with SummaryWriter(tmp_path) as writer:
            writer.add_scalar("t", 1, 1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert scalars(tmp_path) == [("t", 1, 1)]


def purges(folder):
    return [event.step for event in raw_events(folder) if event.session_log.status == 1]


def test_purge_is_written_once(tmp_path):
    """tensorboardX writes it into every file that it opens again, and so hides newer points."""
    writer = SummaryWriter(tmp_path, purge_step=12)
    writer.add_scalar("t", 1, 12)
    writer.add_scalars("series", {"a": 1}, 12)
    writer.close()
    writer.add_scalar("t", 2, 13)
    writer.close()
    assert purges(tmp_path) == [12]


@pytest.mark.parametrize("step", [0, -3, 2**40])
def test_purge_at_any_step(tmp_path, step):
    SummaryWriter(tmp_path, purge_step=step).close()
    assert purges(tmp_path) == [step]


def test_no_purge_unless_asked(tmp_path):
    SummaryWriter(tmp_path).close()
    assert purges(tmp_path) == []


def test_a_pickled_writer_writes_a_file_of_its_own(tmp_path):
    with SummaryWriter(tmp_path, purge_step=3, filename_suffix=".x", flush_secs=1) as writer:
        writer.add_scalar("t", 1, 3)
        with pickle.loads(pickle.dumps(writer)) as copy:
            copy.add_scalar("t", 2, 4)
            assert copy.get_logdir() == writer.get_logdir()
    assert len(event_files(tmp_path)) == 2
    assert {path.suffix for path in event_files(tmp_path)} == {".x"}
    assert sorted(scalars(tmp_path)) == [("t", 3, 1), ("t", 4, 2)]
    assert purges(tmp_path) == [3]


def test_a_pickled_writer_keeps_that_it_writes_nothing(tmp_path):
    copy = pickle.loads(pickle.dumps(SummaryWriter(tmp_path / "none", write_to_disk=False)))
    copy.add_scalar("t", 1)
    copy.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("config", [None, {"disabled": True}, {"disabled": True, "project_name": "p"}])
def test_disabled_comet_is_accepted(tmp_path, config):
    SummaryWriter(tmp_path, comet_config=config).close()
    assert list(tmp_path.iterdir())


@pytest.mark.parametrize("config", [{}, {"disabled": False}, {"project_name": "p"}, True])
def test_comet_is_refused_and_says_what_to_do(tmp_path, config):
    with pytest.raises(InvalidValue, match=r"comet_config must be left out or .*'disabled': True") as caught:
        SummaryWriter(tmp_path, comet_config=config)
    assert "comet_ml" in caught.value.hint


def test_nested_folders_are_runs(tmp_path):
    for name in ("exp1/training", "exp1/validation", "exp2"):
        with SummaryWriter(tmp_path / name) as writer:
            writer.add_scalar("loss", 1, 1)
    assert {path.parent.relative_to(tmp_path).as_posix() for path in event_files(tmp_path)} == {
        "exp1/training",
        "exp1/validation",
        "exp2",
    }
