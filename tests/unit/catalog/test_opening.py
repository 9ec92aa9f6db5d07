# SPDX-License-Identifier: Apache-2.0
"""Opening a catalog in a file: who may, where, and what is said when it cannot be."""

import os
import re
import sqlite3
import stat
from pathlib import Path

import pytest

from aboard.catalog.catalog import Catalog
from aboard.catalog.database import CatalogAddress
from aboard.catalog.migrations.schema_version import newest_version
from aboard.errors import CatalogUnavailable, Conflict, InvalidValue
from aboard.foundation import file_systems
from support.catalog_runs import make_run
from support.privileges import folder_of_an_ordinary_user


def test_a_catalog_is_made_with_its_folder_for_its_owner_only(tmp_path):
    path = tmp_path / "a" / "b" / "catalog.sqlite"
    with Catalog.open(path) as catalog:
        catalog.runs.put(make_run())
        assert str(catalog) == str(path)
        modes = {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert modes == {0o600}
    with Catalog.open(f"sqlite:///{path}") as catalog:
        assert catalog.runs.count() == 1


def test_sqlite_is_set_up_for_a_server(tmp_path):
    with Catalog.open(tmp_path / "catalog.sqlite") as catalog, catalog._database.reading() as connection:

        def pragma(name):
            return connection.exec_driver_sql(f"PRAGMA {name}").scalar()

        assert (pragma("journal_mode"), pragma("foreign_keys"), pragma("busy_timeout")) == ("wal", 1, 30_000)


def test_a_second_server_is_refused_and_told_of_the_first(tmp_path):
    path = tmp_path / "catalog.sqlite"
    with Catalog.open(path):
        with pytest.raises(Conflict, match=f"is in use by another server, process {os.getpid()}\n  hint: stop it"):
            Catalog.open(path)
        with Catalog.open(path, beside_server=True) as catalog:  # a tool may
            catalog.runs.put(make_run())
    with Catalog.open(path) as catalog:
        assert catalog.runs.count() == 1


def test_a_catalog_can_be_opened_again_after_closing(tmp_path):
    path = tmp_path / "catalog.sqlite"
    with Catalog.open(path) as catalog:
        catalog.runs.put(make_run())
    with Catalog.open(path) as catalog:
        assert catalog.runs.count() == 1


def test_a_file_that_is_something_else(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("these are my notes, and no database at all\n" * 100, encoding="utf-8")
    with pytest.raises(CatalogUnavailable, match="not a database") as caught:
        Catalog.open(path)
    assert "move it away" in caught.value.hint
    assert path.read_text(encoding="utf-8").startswith("these are my notes")


def test_a_database_of_another_program(tmp_path):
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE runs (x)")
    connection.close()
    with pytest.raises(CatalogUnavailable, match="holds tables of another program"):
        Catalog.open(path)


def test_a_newer_schema_is_refused(tmp_path):
    path = tmp_path / "catalog.sqlite"
    Catalog.open(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE aboard_schema SET version_num = '9999'")
    connection.close()
    expected = f"has schema 9999; this version of aboard knows up to {newest_version()}\n  hint: it was made by a newer"
    with pytest.raises(CatalogUnavailable, match=expected):
        Catalog.open(path)
    with pytest.raises(CatalogUnavailable, match=expected):  # and nothing stays locked
        Catalog.open(path)


def test_no_permission():
    with folder_of_an_ordinary_user() as folder:
        folder.chmod(0o500)
        with pytest.raises(CatalogUnavailable, match=r"cannot be opened: Permission denied"):
            Catalog.open(folder / "catalog.sqlite")


def test_a_folder_where_a_file_should_be(tmp_path):
    with pytest.raises(CatalogUnavailable, match=r"cannot be opened: Is a directory"):
        Catalog.open(tmp_path)


@pytest.mark.parametrize(
    ("where", "shown"),
    [
        ("postgresql://ann:secret@db/aboard", "postgresql://ann:***@db/aboard"),
        ("postgres://db:5433/aboard", "postgresql://db:5433/aboard"),
        ("sqlite:////tmp/x.sqlite", "/tmp/x.sqlite"),
        (Path("/tmp/x.sqlite"), "/tmp/x.sqlite"),
        ("~/x.sqlite", str(Path.home() / "x.sqlite")),
    ],
)
def test_addresses(where, shown):
    assert str(CatalogAddress.of(where)) == shown


@pytest.mark.parametrize(
    "where", ["", ":memory:", "sqlite://", "mysql://db/aboard", "postgresql://db:port/x", "s3://b/x"]
)
def test_addresses_that_are_none(where):
    with pytest.raises(InvalidValue) as caught:
        CatalogAddress.of(where)
    assert "postgresql://user@host/database" in caught.value.hint


def test_an_unreachable_postgresql():
    with pytest.raises(CatalogUnavailable, match="does not answer") as caught:
        Catalog.open("postgresql://ann:secret@127.0.0.1:1/aboard")
    assert "see that PostgreSQL runs" in caught.value.hint
    assert "secret" not in str(caught.value)


MOUNTS = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/root rw
30 22 0:30 / /home rw shared:2 - nfs4 server:/home rw,vers=4.2
31 22 0:31 / /mnt/with\\040space rw - fuse.sshfs host:/x rw
32 30 0:32 / /home/ann/local rw - xfs /dev/sdb rw
33 22 0:33 / /data rw - lustre mds@tcp:/data rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/x.sqlite", "ext4"),
        ("/home/ann/x.sqlite", "nfs4"),
        ("/home/ann/local/x.sqlite", "xfs"),
        ("/mnt/with space/x", "fuse.sshfs"),
        ("/homes/x", "ext4"),
        ("/data/a/b/c", "lustre"),
    ],
)
def test_the_file_system_of_a_path(path, kind):
    assert file_systems.file_system_of(Path(path), MOUNTS) == kind


@pytest.mark.parametrize(
    "kind", ["nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "lustre", "ceph", "9p", "fuse.gcsfuse", "beegfs"]
)
def test_network_file_systems_are_refused(tmp_path, monkeypatch, kind):
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"22 1 254:0 / / rw - ext4 /dev/root rw\n30 22 0:30 / {tmp_path} rw - {kind} x rw\n", "utf-8")
    monkeypatch.setattr(file_systems, "_MOUNTS", mounts)
    with pytest.raises(
        CatalogUnavailable, match=rf"network file system \({re.escape(kind)}\), where SQLite loses data"
    ):
        Catalog.open(tmp_path / "catalog.sqlite")
    assert not (tmp_path / "catalog.sqlite").exists()


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "overlay", "tmpfs", "zfs", "fuseblk", "apfs"])
def test_local_file_systems_are_not(tmp_path, monkeypatch, kind):
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"22 1 254:0 / / rw - {kind} /dev/root rw\n", "utf-8")
    monkeypatch.setattr(file_systems, "_MOUNTS", mounts)
    Catalog.open(tmp_path / "catalog.sqlite").close()
    assert (tmp_path / "catalog.sqlite").exists()


def test_this_machines_own_file_systems_are_known():
    assert file_systems.file_system_of(Path("/proc/self"), Path("/proc/self/mountinfo").read_text("utf-8")) == "proc"
