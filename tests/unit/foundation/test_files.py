# SPDX-License-Identifier: Apache-2.0
"""Files below a root are opened without links, and folders of one person are made for that person alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aboard.catalog.catalog import Catalog
from aboard.config.credentials import Credential, Credentials
from aboard.foundation.files import make_private_folder, opened_file
from aboard.jobs.records import write_owned
from aboard.reader.mirror.cache import CopyCache
from aboard.run.spool import write_json
from aboard.run.supervisor.uploads import spool_locked
from aboard.server.registration import Registration


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_every_missing_folder_is_made_for_its_owner_alone(tmp_path: Path):
    make_private_folder(tmp_path / "home" / "cache" / "index")
    made = [tmp_path / "home", tmp_path / "home" / "cache", tmp_path / "home" / "cache" / "index"]
    assert [mode(folder) for folder in made] == [0o700] * 3


def test_a_folder_that_exists_stays_as_it_is(tmp_path: Path):
    (tmp_path / "home").mkdir(mode=0o755)
    make_private_folder(tmp_path / "home")
    make_private_folder(tmp_path / "home" / "spool")
    assert (mode(tmp_path / "home"), mode(tmp_path / "home" / "spool")) == (0o755, 0o700)
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        make_private_folder(tmp_path / "file")


def _catalog(home: Path) -> None:
    Catalog.open(home / "catalog.sqlite").close()


def _spool(home: Path) -> None:
    with spool_locked(home / "spool" / "x"):
        pass


def _registration(home: Path) -> None:
    Registration(home).withdraw()


@pytest.mark.parametrize(
    "begin",
    [
        _catalog,
        _spool,
        _registration,
        lambda home: write_owned(home / "jobs" / "x.json", "{}"),
        lambda home: write_json(home / "cache" / "names" / "x.json", {}),
        lambda home: Credentials(home).keep("http://127.0.0.1:1", Credential("token")),
        lambda home: CopyCache(home / "cache" / "stores").take("s3://bucket").close(),
    ],
)
def test_a_new_home_is_private_whoever_makes_it(tmp_path: Path, begin: Callable[[Path], None]):
    begin(tmp_path / "home")
    assert mode(tmp_path / "home") == 0o700


@pytest.mark.parametrize("key", ["../outside", "folder/../../outside", "linked/file", "link"])
def test_no_name_leads_out_of_the_root(tmp_path: Path, key: str):
    (tmp_path / "root" / "folder").mkdir(parents=True)
    (tmp_path / "outside").write_text("secret")
    (tmp_path / "root" / "linked").symlink_to(tmp_path)
    (tmp_path / "root" / "link").symlink_to(tmp_path / "outside")
    with pytest.raises(OSError, match=r"symbolic link|leads out"), opened_file(tmp_path / "root", key):
        pass
