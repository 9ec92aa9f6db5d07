# SPDX-License-Identifier: Apache-2.0
"""A tag under which two kinds of data were logged: the first kind is read, and the other one is reported."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from aboard import SummaryWriter
from aboard.reader.run import RunReader

PICTURE = np.zeros((3, 4, 5), np.uint8)


def refresh(run: RunReader) -> RunReader:
    run.logdir.refresh(sorted(os.fsencode(path.name) for path in run.folder.glob("*tfevents*")))
    return run


def other_kinds(run: RunReader) -> dict[str, str]:
    names = {tag.number: tag.name for tag in run.tags()}
    return {names[number]: kind for number, kind in run.other_kinds().items()}


def test_the_kind_that_was_logged_first_is_read_and_the_other_is_reported(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", 1, 0)
        writer.add_scalar("both", 1, 0)
        writer.add_image("both", PICTURE, 1)
        writer.add_image("picture", PICTURE, 0)
        writer.flush()  # pictures are encoded on another thread
        writer.add_scalar("picture", 1, 1)
        writer.add_scalar("picture", 1, 2, new_style=True)
        writer.add_histogram("text/text_summary", [1.0, 2.0], 0)
        writer.add_text("text", "a", 1)
    run = refresh(RunReader("run", tmp_path))
    assert other_kinds(run) == {"both": "image", "picture": "scalar", "text/text_summary": "tensor"}
    assert run.by_plugin("scalars")["both"].points().steps.tolist() == [0]
    assert [entry.step for entry in run.by_plugin("images")["picture"].entries()] == [0]
    assert [entry.step for entry in run.by_plugin("histograms")["text/text_summary"].entries()] == [0]


def test_numbers_are_one_kind_however_they_are_stored(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("old first", 1, 0)
        writer.add_scalar("old first", 2, 1, new_style=True)
        writer.add_scalar("new first", 1, 0, new_style=True)
        writer.add_scalar("new first", 2, 1)
    run = refresh(RunReader("run", tmp_path))
    assert other_kinds(run) == {}
    assert all(len(tag.points()) == 2 for tag in run.tags())


def test_a_second_kind_that_appears_later_is_noticed_and_kept_in_index_and_packed_form(tmp_path: Path) -> None:
    folder, index = tmp_path / "logs", tmp_path / "index"
    writer = SummaryWriter(folder)
    writer.add_scalar("both", 1, 0)
    writer.flush()
    run = refresh(RunReader("run", folder, index))
    assert other_kinds(run) == {}
    writer.add_histogram("both", [1.0, 2.0], 1)
    writer.close()
    assert other_kinds(refresh(run)) == {"both": "histogram"}

    assert run.logdir.save_index() == 0
    assert other_kinds(refresh(RunReader("run", folder, index))) == {"both": "histogram"}
    packed = run.logdir.pack()
    assert packed is not None
    (tmp_path / "packed").write_bytes(packed)
    elsewhere = RunReader("run", folder, packed=(tmp_path / "packed", 0, len(packed)))
    assert other_kinds(refresh(elsewhere)) == {"both": "histogram"}
