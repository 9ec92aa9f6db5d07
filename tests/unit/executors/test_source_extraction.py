# SPDX-License-Identifier: Apache-2.0
"""Archives of sources are unpacked into their folder and nowhere else, whatever is in them."""

from __future__ import annotations

import contextlib
import io
import os
import tarfile
from pathlib import Path

import pytest

from aboard.errors import InvalidValue
from aboard.executors.source_archive import extract_below


def _archive(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarFile:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        folder = tarfile.TarInfo("a")
        folder.type, folder.mode = tarfile.DIRTYPE, 0o755
        archive.addfile(folder)
        archive.addfile(tarfile.TarInfo("a/first"))
        entry = tarfile.TarInfo(name)
        entry.type, entry.linkname = kind, link
        archive.addfile(entry)
    packed.seek(0)
    return tarfile.open(fileobj=packed)


@pytest.mark.parametrize(
    ("name", "kind", "link"),
    [
        ("a/second", tarfile.REGTYPE, ""),
        ("a/link", tarfile.SYMTYPE, "../a/first"),
        ("a/same", tarfile.LNKTYPE, "a/first"),
    ],
)
def test_what_stays_below_is_unpacked(tmp_path: Path, name: str, kind: bytes, link: str) -> None:
    with _archive(name, kind, link) as archive:
        extract_below(archive, tmp_path / "here")
    assert (tmp_path / "here" / name).exists()


@pytest.mark.parametrize(
    ("name", "kind", "link"),
    [
        ("../outside", tarfile.REGTYPE, ""),
        ("a/../../outside", tarfile.REGTYPE, ""),
        ("a/link", tarfile.SYMTYPE, "../../outside"),
        ("a/link", tarfile.SYMTYPE, "/etc/passwd"),
        ("a/same", tarfile.LNKTYPE, "../outside"),
        ("a/pipe", tarfile.FIFOTYPE, ""),
    ],
)
def test_what_leads_out_is_refused(tmp_path: Path, name: str, kind: bytes, link: str) -> None:
    with _archive(name, kind, link) as archive, pytest.raises(InvalidValue, match="which does not stay in its folder"):
        extract_below(archive, tmp_path / "here")
    assert not (tmp_path / "outside").exists()


def _attack(*entries: tuple[str, str | bytes]) -> tarfile.TarFile:
    """Links, whose content is a text, and files, in this order."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in entries:
            entry = tarfile.TarInfo(name)
            if isinstance(content, str):
                entry.type, entry.linkname = tarfile.SYMTYPE, content
                archive.addfile(entry)
            else:
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
    packed.seek(0)
    return tarfile.open(fileobj=packed)


UP = ("a/up", "..")


@pytest.mark.parametrize(
    "attack",
    [
        [UP, ("a/further", "up/.."), ("a/further/evil", b"x")],
        [UP, ("a/further", "up/../evil"), ("a/further", b"x")],
        [("a/further", b"x"), UP, ("a/further", "up/../evil"), ("a/further", b"x")],
        [UP, ("a/further", "up/../evil")],
        [("a/further", "up/../evil"), UP],
        [("evil", "../evil"), ("./evil", b"x")],
        [("a/b", ".."), ("a/b/evil", "../../evil"), ("a/b/evil", b"x")],
    ],
)
def test_nothing_is_written_or_read_through_a_link(tmp_path: Path, attack: list[tuple[str, str | bytes]]) -> None:
    folder = tmp_path / "outer" / "here"
    folder.mkdir(parents=True)
    with contextlib.suppress(InvalidValue), _attack(*attack) as archive:
        extract_below(archive, folder)
    assert [path for path in tmp_path.rglob("evil") if not path.is_relative_to(folder)] == []
    for path in folder.rglob("*"):
        assert path.resolve().is_relative_to(folder), f"{path} leads out"


def test_attacks_by_links_are_told(tmp_path: Path) -> None:
    attack = UP, ("a/further", "up/../evil"), ("a/further", b"x")
    with _attack(*attack) as archive, pytest.raises(InvalidValue, match="'a/further', which does not stay"):
        extract_below(archive, tmp_path / "here")
    with _attack(*attack[:2]) as archive, pytest.raises(InvalidValue, match="'a/further', which does not stay"):
        extract_below(archive, tmp_path / "here")


def test_links_through_links_of_the_same_folder_are_unpacked(tmp_path: Path) -> None:
    with _attack(("a/train.py", b"x"), ("b", "a"), ("c", "b/train.py")) as archive:
        extract_below(archive, tmp_path / "here")
    assert (tmp_path / "here" / "c").read_text() == "x"


def test_nothing_runs_as_another_or_can_be_written_by_others(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, mode in (("run", 0o6777), ("text", 0o266)):
            entry = tarfile.TarInfo(name)
            entry.mode, entry.uid, entry.gid = mode, 12345, 12345
            archive.addfile(entry)
    packed.seek(0)
    with tarfile.open(fileobj=packed) as archive:
        extract_below(archive, tmp_path / "here")
    found = {path.name: path.stat() for path in (tmp_path / "here").iterdir()}
    assert {name: oct(one.st_mode & 0o7777) for name, one in found.items()} == {"run": "0o755", "text": "0o644"}
    assert {one.st_uid for one in found.values()} == {os.getuid()}
