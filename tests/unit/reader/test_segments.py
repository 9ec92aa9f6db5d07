# SPDX-License-Identifier: Apache-2.0
"""Event files that the shipper cut into segments, read as a plain folder: the same curves as of the whole file."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

import aboard
from aboard._native import Logdir
from aboard.exchange.doctor.diagnosis import diagnose
from aboard.store import open_store
from support.damaged_files import NOON, scalar, session_start, version
from support.shipping import Trip, append

EVENTS = "events.out.tfevents.1700000000.machine.7.0"
FLUSHES = [
    version() + b"".join(scalar("loss", step, NOON + step) for step in range(6)),
    # A step again, a fall without a word, and a clock that goes on.
    scalar("loss", 5, NOON + 10) + scalar("loss", 2, NOON + 11) + scalar("acc", 9, NOON + 12),
    session_start(4, NOON + 20) + scalar("loss", 4, NOON + 21),
    # The clock goes back behind the end of the first part.
    scalar("loss", 4, NOON + 2, 0.25) + scalar("acc", 1, NOON + 3),
    session_start(2, NOON + 30) + scalar("acc", 2, NOON + 31) + scalar("acc", 2, NOON + 32),
    scalar("loss", 2, NOON + 40) + scalar("loss", 3, NOON + 41),
    scalar("loss", 3, NOON + 50, 0.125) + scalar("loss", 1, NOON + 51) + scalar("acc", 2, NOON + 52),
]


def curves(folder: Path) -> dict[str, tuple[list[Any], list[Any], list[Any]]]:
    """Of each tag what is shown, what is drawn and what was superseded."""
    (run,) = aboard.open(folder).runs.values()
    return {tag: (list(series.all), list(series), sorted(series.superseded)) for tag, series in run.scalars.items()}


@pytest.fixture
def shipped(tmp_path: Path) -> tuple[Path, Path]:
    """A log folder, and the plain download of its bucket."""
    trip = Trip.begin(tmp_path / "spool", open_store(f"memory://{tmp_path.name}"))
    local = trip.output / "tensorboard"
    shipper = trip.shipper()
    for flush in FLUSHES:
        append(local / EVENTS, flush)
        shipper.ship_once()
    downloaded = tmp_path / "downloaded"
    for path in trip.objects("tb"):
        trip.store.download(f"{trip.spool.uid}/{path}", downloaded / path)
    assert [path.name for path in sorted((downloaded / "tb").iterdir())] == [
        f"{EVENTS}.{number:08d}" for number in range(len(FLUSHES))
    ]
    return local, downloaded / "tb"


def test_a_plain_download_shows_what_the_writer_wrote(shipped: tuple[Path, Path]) -> None:
    local, downloaded = shipped
    expected = curves(local)
    assert [point.step for point in expected["loss"][0]] == [0, 1, 2, 3, 3, 1]
    assert [point.step for point in expected["acc"][0]] == [1, 2, 2, 2]
    assert curves(downloaded) == expected
    assert {"restarts", "overlapping-writers", "no-file-version"}.isdisjoint(diagnose({"": downloaded}).counts)


@pytest.mark.parametrize("seed", range(8))
def test_segments_that_arrive_one_by_one(shipped: tuple[Path, Path], tmp_path: Path, seed: int) -> None:
    local, downloaded = shipped
    segments = sorted(downloaded.iterdir())
    if seed:
        random.Random(seed).shuffle(segments)
    arriving = tmp_path / "arriving"
    arriving.mkdir()
    opened = aboard.open(arriving)
    for number, segment in enumerate(segments, 1):
        shutil.copy(segment, arriving)
        opened.refresh()
        whole = tmp_path / f"whole-{number}" / EVENTS
        for there in sorted(arriving.iterdir()):
            append(whole, there.read_bytes())
        assert curves(arriving) == curves(whole.parent)
        (run,) = opened.runs.values()
        assert {tag: list(series.all) for tag, series in run.scalars.items()} == {
            tag: shown for tag, (shown, _, _) in curves(whole.parent).items()
        }
    assert curves(arriving) == curves(local)


@pytest.mark.parametrize("known", range(1, len(FLUSHES) + 1))
def test_going_on_from_an_index(shipped: tuple[Path, Path], tmp_path: Path, known: int) -> None:
    local, downloaded = shipped
    names = [os.fsencode(path.name) for path in sorted(downloaded.iterdir())]
    place = os.fsencode(downloaded), os.fsencode(tmp_path / "index")
    before = Logdir(*place)
    before.refresh(names[:known])
    assert before.save_index() == 0
    after = Logdir(*place)
    after.refresh(names)
    assert after.bytes_read == sum(map(len, FLUSHES[known:]))
    whole = Logdir(os.fsencode(local))
    whole.refresh([EVENTS.encode()])
    assert [tag.name for tag in after.tags(0)] == [tag.name for tag in whole.tags(0)] == ["loss", "acc"]
    for tag in range(2):
        assert list(after.scalars(tag, False).steps) == list(whole.scalars(tag, False).steps)
        assert list(after.scalars(tag, False).values) == list(whole.scalars(tag, False).values)
        assert sorted(after.superseded(tag).steps) == sorted(whole.superseded(tag).steps)


def test_segments_that_become_one(shipped: tuple[Path, Path]) -> None:
    local, downloaded = shipped
    opened = aboard.open(downloaded)
    first, second, third, *_ = sorted(downloaded.iterdir())
    rolled_up = b"".join(path.read_bytes() for path in (first, second, third))
    first.unlink()
    first.write_bytes(rolled_up)
    opened.refresh()  # while the bytes are there twice
    second.unlink()
    third.unlink()
    opened.refresh()
    expected = curves(local)
    (run,) = opened.runs.values()
    assert {tag: list(series.all) for tag, series in run.scalars.items()} == {
        tag: each[0] for tag, each in expected.items()
    }
    assert curves(downloaded) == expected
