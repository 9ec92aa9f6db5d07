# SPDX-License-Identifier: Apache-2.0
"""Where the private server keeps its files when the home folder is on this machine, and when it is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from aboard.config import home as module
from aboard.config.home import machine_folder
from aboard.errors import StorageUnavailable
from aboard.foundation import file_systems


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder on NFS, and a local folder for temporary files."""
    home, local = tmp_path / "home", tmp_path / "local"
    home.mkdir()
    local.mkdir()
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"22 1 254:0 / / rw - ext4 /dev/root rw\n30 22 0:30 / {home} rw - nfs4 x rw\n", "utf-8")
    monkeypatch.setattr(file_systems, "_MOUNTS", mounts)
    monkeypatch.setattr(module, "_LOCAL", local)
    return home


def test_a_home_of_this_machine_is_used_as_it_is(tmp_path: Path):
    assert machine_folder(tmp_path) == tmp_path


def test_a_home_that_machines_share_has_a_folder_on_each(shared: Path, tmp_path: Path):
    folder = machine_folder(shared)
    assert folder.is_relative_to(tmp_path / "local")
    assert folder == machine_folder(shared)
    assert folder.parent.stat().st_mode & 0o777 == 0o700
    assert folder != machine_folder(shared / "other")


def test_a_folder_that_others_have_made_is_not_trusted(shared: Path):
    folder = machine_folder(shared).parent
    folder.chmod(0o777)
    with pytest.raises(StorageUnavailable, match="others could change or read it"):
        machine_folder(shared)
    folder.rmdir()
    folder.symlink_to(shared)
    with pytest.raises(StorageUnavailable, match="others could change or read it"):
        machine_folder(shared)
