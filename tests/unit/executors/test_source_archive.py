# SPDX-License-Identifier: Apache-2.0
"""Source folders with files that cannot be read, or go while they are packed: told by name, with a next step."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from aboard.errors import StorageUnavailable
from aboard.executors import source_archive as packing
from aboard.executors.source_archive import source_archive, source_files


@pytest.fixture
def source(tmp_path: Path) -> Path:
    for name in ("first.py", "second.py"):
        (tmp_path / name).write_text("print(1)")
    return tmp_path


def test_a_file_that_cannot_be_read_is_named(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = open

    def refused(path: Any, *rest: Any) -> Any:  # a test may run as root, who can read everything
        if os.fspath(path) == str(source / "second.py"):
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *rest)

    monkeypatch.setattr(tarfile, "bltn_open", refused)
    with pytest.raises(StorageUnavailable, match=f"^{source}/second.py cannot go along: Permission denied") as told:
        source_archive(str(source), below="source")
    assert "have git ignore it" in told.value.hint


def test_a_file_that_goes_meanwhile_is_named(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = source_files(source)
    (source / "second.py").unlink()
    monkeypatch.setattr(packing, "_all_files", lambda _: listed)
    monkeypatch.setattr(packing, "_git_files", lambda _: None)
    with pytest.raises(StorageUnavailable, match=r"second.py cannot go along: No such file") as told:
        source_files(source)
    assert "submit again" in told.value.hint


def test_a_file_that_is_cut_meanwhile_is_named(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        (source / Path(entry.name).name).write_text("")
        return entry

    monkeypatch.setattr(packing, "_without_owner", cut)
    with pytest.raises(StorageUnavailable, match=r"first.py cannot go along: unexpected end of data"):
        source_archive(str(source), below="source")
