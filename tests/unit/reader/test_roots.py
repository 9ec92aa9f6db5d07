# SPDX-License-Identifier: Apache-2.0
"""Folders that a person names, wherever that is."""

from pathlib import Path

import pytest

from aboard.errors import InvalidValue
from aboard.reader.roots import find_roots, named_path


@pytest.fixture
def folders(tmp_path, monkeypatch):
    for name in ("runs/a", "runs/b", "other/a"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "runs" / "notes.txt").write_text("no run")
    (tmp_path / "runs" / "events.out.tfevents.1").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_pattern_takes_folders_and_event_files_only(folders):
    assert list(find_roots([("", "runs/*")])) == ["a", "b", "events.out.tfevents.1"]
    with pytest.raises(InvalidValue, match="neither a folder nor an event file"):
        find_roots([("", "runs/*.txt")])


def test_what_is_named_as_it_stands_is_taken_at_its_word(folders):
    assert find_roots([("", "runs/notes.txt")]) == {"": Path("runs/notes.txt")}


def test_a_path_object_is_no_pattern(folders):
    with pytest.raises(InvalidValue, match=r"no folder 'runs/\*'"):
        find_roots([("", Path("runs/*"))])


@pytest.mark.parametrize("argument", ["", "name="])
def test_an_empty_name_is_not_the_current_folder(folders, argument):
    with pytest.raises(InvalidValue, match="empty"):
        find_roots([named_path(argument)])


def test_a_root_must_not_hide_a_run_of_another(folders):
    with pytest.raises(InvalidValue, match="would be called 'runs/a', as a run of"):
        find_roots([("runs", "other"), ("runs/a", "runs/b")])
    assert list(find_roots([("", "runs"), ("", "runs/a"), ("", "other/a")])) == ["runs", "runs/a", "other/a"]
