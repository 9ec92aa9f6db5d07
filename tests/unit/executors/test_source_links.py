# SPDX-License-Identifier: Apache-2.0
"""Links of a source folder: those within it go along; those that lead out are refused where they would mean nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from aboard.errors import InvalidValue
from aboard.jobs.sources import SOURCE_VARIABLE, PackedSource, enter_source
from aboard.jobs.submission import bring_source
from aboard.store import open_store


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "images").write_text("images")
    folder = tmp_path / "source"
    (folder / "package").mkdir(parents=True)
    (folder / "package" / "train.py").write_text("print(1)")
    (folder / "train.py").symlink_to("package/train.py")
    (folder / "same").symlink_to("package")
    return folder


def test_links_within_go_along(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    open_store(str(tmp_path / "store"), create=True)
    sent = PackedSource.of(source)
    sent.send(str(tmp_path / "store"), [])
    enter_source({SOURCE_VARIABLE: sent.key, "ABOARD_UNIT_ID": "unit"}, str(tmp_path / "store"), tmp_path / "home")
    assert Path("train.py").read_text() == Path("same/train.py").read_text() == "print(1)"
    assert (Path("train.py").is_symlink(), Path("same").is_symlink()) == (True, True)


@pytest.mark.parametrize(
    "target", ["../../data", "/usr/share", "../package/../../data/images", "../../source/package", "{source}/package"]
)
def test_links_that_lead_out_are_refused_by_name(source: Path, target: str) -> None:
    (source / "package" / "up").symlink_to(target.format(source=source))
    with pytest.raises(InvalidValue, match=r"lead out of it: package/up -> ") as refused:
        PackedSource.of(source)
    assert "git ignore" in refused.value.hint


def test_many_links_are_counted(source: Path) -> None:
    for number in range(7):
        (source / f"link{number}").symlink_to("/usr/share")
    with pytest.raises(InvalidValue, match="link4 -> /usr/share and 2 more"):
        PackedSource.of(source)


@pytest.mark.parametrize("target", ["../data/images", "/etc/hostname"])
def test_where_files_are_shared_links_lead_where_they_led(source: Path, tmp_path: Path, target: str) -> None:
    (source / "link").symlink_to(target)
    copied = tmp_path / "elsewhere" / "copy"
    bring_source(source, copied, copies=True)
    assert os.path.realpath(copied / "link") == os.path.realpath(source / "link")
    assert (copied / "train.py").readlink() == Path("package/train.py")


def test_a_container_may_have_what_an_absolute_link_names(source: Path, tmp_path: Path) -> None:
    (source / "data").symlink_to("/data/images")
    bring_source(source, tmp_path / "copy", copies=False)
    (source / "up").symlink_to("../data")
    with pytest.raises(InvalidValue, match=r"lead out of it: up -> \.\./data"):
        bring_source(source, tmp_path / "copy", copies=False)
    assert not (tmp_path / "copy").exists()
