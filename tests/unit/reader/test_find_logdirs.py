# SPDX-License-Identifier: Apache-2.0
"""Which folders are runs, and what they are called."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from support.find_logdirs import find_logdirs
from support.privileges import folder_of_an_ordinary_user


def touch(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")


def names(root: Path) -> list[str]:
    return [name for name, _, _ in find_logdirs(root)]


def tensorboards_names(root: Path) -> set[str]:
    from tensorboard.backend.event_processing import io_wrapper

    return {os.path.relpath(folder, root) for folder in io_wrapper.GetLogdirSubdirectories(str(root))}


def test_runs_are_named_as_tensorboard_names_them(tmp_path: Path) -> None:
    for path in (
        "events.out.tfevents.1.host",
        "a/events.out.tfevents.1.host",
        "a/b/c/x.tfevents.y",
        "with space/ünï/tfevents",
        "a.b/events.out.tfevents.2",
        "no-events/readme.txt",
    ):
        touch(tmp_path / path)
    found = names(tmp_path)
    assert set(found) == tensorboards_names(tmp_path) == {".", "a", "a/b/c", "with space/ünï", "a.b"}
    assert found == [".", "a", "a/b/c", "a.b", "with space/ünï"]


def test_files_come_sorted_and_folders_are_no_files(tmp_path: Path) -> None:
    for name in ("b.tfevents", "a.tfevents", "other"):
        touch(tmp_path / name)
    touch(tmp_path / "folder.tfevents" / "c.tfevents")
    assert list(find_logdirs(tmp_path)) == [
        (".", tmp_path, ["a.tfevents", "b.tfevents"]),
        ("folder.tfevents", tmp_path / "folder.tfevents", ["c.tfevents"]),
    ]


def test_a_root_that_is_not_there_has_no_runs(tmp_path: Path) -> None:
    assert names(tmp_path / "missing") == []


def test_a_root_that_is_a_file_is_one_run(tmp_path: Path) -> None:
    touch(tmp_path / "a.tfevents")
    touch(tmp_path / "b.tfevents")
    assert list(find_logdirs(tmp_path / "a.tfevents")) == [(".", tmp_path, ["a.tfevents"])]


def test_links_are_followed_and_loops_end(tmp_path: Path) -> None:
    touch(tmp_path / "real" / "a.tfevents")
    (tmp_path / "real" / "up").symlink_to(tmp_path)
    (tmp_path / "real" / "self").symlink_to(tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    (tmp_path / "ring").symlink_to(tmp_path / "ring")
    assert names(tmp_path) == ["link", "real"]


def test_a_file_behind_a_link_counts(tmp_path: Path) -> None:
    touch(tmp_path / "elsewhere" / "a.tfevents")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "b.tfevents").symlink_to(tmp_path / "elsewhere" / "a.tfevents")
    assert names(tmp_path) == ["elsewhere", "run"]


def test_few_links_do_not_make_endless_runs(tmp_path: Path) -> None:
    # Each of 20 folders can be reached from the one above in two ways: a million ways to the last.
    for level in range(20):
        (tmp_path / f"f{level}").mkdir()
        if level:
            for link in "ab":
                (tmp_path / f"f{level - 1}" / link).symlink_to(tmp_path / f"f{level}")
    touch(tmp_path / "f19" / "x.tfevents")
    assert len(names(tmp_path / "f0")) <= 64


def test_deep_trees() -> None:
    # Not in tmp_path, which pytest cannot clear away when it is deeper than Python's stack.
    root, depth = tempfile.mkdtemp(), 1500
    folders = [f"{root}{'/d' * level}" for level in range(1, depth + 1)]
    for folder in folders:
        Path(folder).mkdir()
    file = Path(folders[-1], "a.tfevents")
    file.touch()
    try:
        assert names(Path(root)) == ["/".join(["d"] * depth)]
    finally:
        file.unlink()
        os.removedirs(folders[-1])


def test_what_may_not_be_read_is_left_out() -> None:
    with folder_of_an_ordinary_user() as folder:
        touch(folder / "secret" / "a.tfevents")
        touch(folder / "open" / "a.tfevents")
        (folder / "secret").chmod(0)
        assert names(folder) == ["open"]


def test_names_that_are_no_text_stay_apart(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    touch(Path(os.fsdecode(folder)) / "a.tfevents")
    ((name, path, files),) = find_logdirs(tmp_path)
    assert os.fsencode(name) == b"caf\xe9"
    assert os.fsencode(path) == folder
    assert files == ["a.tfevents"]
