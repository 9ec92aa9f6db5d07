# SPDX-License-Identifier: Apache-2.0
"""The doctor enters the folders that a board enters, and tells of those that it cannot."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from aboard.exchange.doctor.findings import Finding
from aboard.exchange.doctor.folders import walk
from support.find_logdirs import find_logdirs
from support.privileges import folder_of_an_ordinary_user


def walked(root: Path) -> tuple[list[tuple[str, Path, list[str]]], list[Finding]]:
    told: list[Finding] = []
    folders = [(folder.name, folder.path, folder.event_files) for folder in walk(root, told.append)]
    return [folder for folder in folders if folder[2]], told


@pytest.mark.parametrize("seed", range(20))
def test_the_same_runs_as_a_board(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    folders = [tmp_path]
    for number in range(12):
        folder = chance.choice(folders) / f"{chance.choice('abcxyz.')}{number}"
        folder.mkdir()
        folders.append(folder)
    for number in range(15):
        (chance.choice(folders) / f"{chance.choice(['events.tfevents', 'other', 'x'])}{number}").write_bytes(b"")
    for number in range(5):
        (chance.choice(folders) / f"link{number}").symlink_to(chance.choice(folders))
    assert walked(tmp_path)[0] == list(find_logdirs(tmp_path))


def test_a_root_that_is_a_file_is_one_run(tmp_path: Path) -> None:
    file = tmp_path / "whatever.bin"
    file.write_bytes(b"")
    assert walked(file)[0] == list(find_logdirs(file))


def test_links_that_loop_are_told_once_each(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "up").symlink_to("..")
    (tmp_path / "self").symlink_to("self")
    told = walked(tmp_path)[1]
    assert {(finding.code, Path(finding.path).relative_to(tmp_path).as_posix()) for finding in told} == {
        ("link-loop", "a/b/up"),
        ("link-loop", "self"),
    }


def test_a_folder_that_appears_in_very_many_places_is_told(tmp_path: Path) -> None:
    (tmp_path / "z").mkdir()
    (tmp_path / "z" / "events.tfevents").write_bytes(b"")
    for number in range(70):
        (tmp_path / f"link{number:02}").symlink_to("z")
    folders, told = walked(tmp_path)
    assert folders == list(find_logdirs(tmp_path))
    assert [finding.code for finding in told] == ["many-ways"] * 6


def test_a_folder_that_may_not_be_read_is_told() -> None:
    with folder_of_an_ordinary_user() as root:
        (root / "open").mkdir()
        (root / "open" / "events.tfevents").write_bytes(b"")
        (root / "closed").mkdir(mode=0)
        folders, told = walked(root)
        assert [name for name, _, _ in folders] == ["open"]
        assert [(finding.code, finding.path) for finding in told] == [("unreadable-folder", str(root / "closed"))]
        assert "Permission denied" in told[0].message


def test_a_deep_tree_is_walked_to_its_end(tmp_path: Path) -> None:
    path = tmp_path
    for _ in range(300):
        path /= "d"
        path.mkdir()
    (path / "events.tfevents").write_bytes(b"")
    assert walked(tmp_path)[0] == [("/".join("d" * 300), path, ["events.tfevents"])]
