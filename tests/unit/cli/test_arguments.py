# SPDX-License-Identifier: Apache-2.0
"""Folders named on the command line, in aboard's way and in TensorBoard's."""

from pathlib import Path

import pytest

from aboard.cli.arguments import parse_roots
from aboard.errors import InvalidValue


@pytest.fixture
def folders(tmp_path, monkeypatch):
    for name in ("one/a", "one/b", "two/a", "lr=0.1"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_one_folder_adds_nothing_to_the_names_of_its_runs(folders):
    assert parse_roots(["one"], None, None) == {"": Path("one")}
    assert parse_roots([], "one", None) == {"": Path("one")}


def test_several_folders_are_named_by_as_much_of_their_paths_as_tells_them_apart(folders):
    assert parse_roots(["one/a", "one/b"], None, None) == {"a": Path("one/a"), "b": Path("one/b")}
    assert parse_roots(["one/a", "two/a"], None, None) == {"one/a": Path("one/a"), "two/a": Path("two/a")}


def test_names_can_be_given(folders):
    assert parse_roots(["x=one/a", "y=two/a"], None, None) == {"x": Path("one/a"), "y": Path("two/a")}
    assert parse_roots([], None, "x:one/a,y:two/a") == {"x": Path("one/a"), "y": Path("two/a")}


def test_a_folder_with_an_equals_sign_is_a_folder(folders):
    assert parse_roots(["lr=0.1"], None, None) == {"": Path("lr=0.1")}


def test_patterns_are_expanded(folders):
    assert parse_roots(["one/*"], None, None) == {"a": Path("one/a"), "b": Path("one/b")}


@pytest.mark.parametrize(
    ("paths", "said"),
    [
        ([], "no folder was named"),
        (["nowhere"], "no folder 'nowhere'"),
        (["ftp://bucket/x"], "not a kind of store"),
        (["~nobody-of-this-name/x"], "the home of a user who is not known"),
    ],
)
def test_what_cannot_be_opened_is_said(folders, paths, said):
    with pytest.raises(InvalidValue, match=said):
        parse_roots(paths, None, None)


def test_two_folders_of_one_name_are_refused(folders):
    with pytest.raises(InvalidValue, match="two folders are called 'x'"):
        parse_roots(["x=one/a", "x=two/a"], None, None)
