# SPDX-License-Identifier: Apache-2.0
"""Source folders that are work trees of git: what git ignores stays here, and links are treated as elsewhere."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from aboard.errors import InvalidValue
from aboard.jobs.sources import SOURCE_VARIABLE, PackedSource, enter_source
from aboard.store import open_store


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    (folder / "package").mkdir(parents=True)
    (folder / "package" / "train.py").write_text("print(1)")
    (folder / "train.py").symlink_to("package/train.py")
    (folder / "same").symlink_to("package")
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


def test_links_within_and_folders_below_a_work_tree_go_along(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (source / ".gitignore").write_text("*.tmp\n")
    (source / "package" / "cache.tmp").touch()
    open_store(str(tmp_path / "store"), create=True)
    for folder, expected in (
        (source, {".gitignore", "package", "same", "train.py"}),
        (source / "package", {"train.py"}),
    ):
        sent = PackedSource.of(folder)
        sent.send(str(tmp_path / "store"), [])
        enter_source({SOURCE_VARIABLE: sent.key, "ABOARD_UNIT_ID": "unit"}, str(tmp_path / "store"), tmp_path / "home")
        assert {path.name for path in Path.cwd().iterdir()} == expected
        assert not list(Path.cwd().rglob("*.tmp"))
        assert Path("train.py").read_text() == "print(1)"


def test_links_that_lead_out_are_refused_unless_git_ignores_them(source: Path) -> None:
    (source / "data").symlink_to("/usr/share")
    with pytest.raises(InvalidValue, match=r"lead out of it: data -> "):
        PackedSource.of(source)
    (source / ".gitignore").write_text("data\n")
    assert PackedSource.of(source).key
