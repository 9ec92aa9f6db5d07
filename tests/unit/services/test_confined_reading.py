# SPDX-License-Identifier: Apache-2.0
"""A server follows no link out of a run's folder or a folder of `serve.roots`, and no root overlaps with a store."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from aboard import SummaryWriter
from aboard.catalog.catalog import Catalog
from aboard.errors import AccessDenied, Forbidden, InvalidValue
from aboard.foundation.files import LinkFound
from aboard.reader.run import RunReader
from aboard.services.boards.folders import OpenFolder, OpenFolders
from aboard.services.boards.mirror import StoredRunSource, files_below
from aboard.services.runs.open_runs import OpenRuns, RunLocation
from aboard.services.services import ServiceOptions, Services
from aboard.services.stores.followed_stores import check_roots_apart
from aboard.store import Store, open_store
from aboard.store.run.run_folder import RunFolder
from support.logged_runs import logged_run, tb_folder
from support.processes import until


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "store"), create=True)


@pytest.fixture
def pool() -> Iterator[OpenRuns]:
    made = OpenRuns()
    yield made
    made.close()


def log(folder: Path, tag: str) -> Path:
    with SummaryWriter(str(folder)) as writer:
        writer.add_scalar(tag, 1.0, 1)
        writer.add_text("note", f"the text of {tag}", 1)
    (file,) = folder.glob("*tfevents*")
    return file


def tags(logdirs: Mapping[str, RunReader]) -> set[str]:
    return {tag.name for reader in logdirs.values() for tag in reader.tags()}


def link_folder(own: Path, other: Path) -> None:
    (own / "linked").symlink_to(other)


def link_file(own: Path, other: Path) -> None:
    for number, file in enumerate(other.glob("*tfevents*")):
        (own / f"events.out.tfevents.9.linked{number}").symlink_to(file)


def link_logdir_itself(own: Path, other: Path) -> None:
    own.rename(own.with_name("mine"))
    own.symlink_to(other)


def link_the_run(own: Path, other: Path) -> None:
    own.parent.rename(own.parent.with_name("mine"))
    own.parent.symlink_to(other.parent)


@pytest.mark.parametrize("link", [link_folder, link_file, link_logdir_itself, link_the_run])
def test_a_run_shows_nothing_of_another_through_a_link(
    store: Store, pool: OpenRuns, link: Callable[[Path, Path], None]
):
    own, other = (logged_run(store, curves={tag: [1.0]}) for tag in ("mine", "secret"))
    link(tb_folder(store, own), tb_folder(store, other))
    with pool.fresh([RunLocation(store.uri, own)]) as (run,):
        assert tags(run.logdirs) == ({"mine"} if tb_folder(store, own).resolve().parent.name == own else set())
    files = []
    with contextlib.suppress(AccessDenied, LinkFound):  # the folder of the run itself is a link
        files = StoredRunSource(RunFolder(store, own)).changed_files() or []
    assert not any(b"secret" in file.read(0, file.size) for file in files)


def test_a_text_is_not_read_through_a_link_that_came_after_the_reading(store: Store, pool: OpenRuns):
    own, other = logged_run(store, curves={}), logged_run(store, curves={})
    for uid in (own, other):
        for file in tb_folder(store, uid).iterdir():
            file.unlink()
        log(tb_folder(store, uid), "a")
    (mine,), (theirs,) = tb_folder(store, own).iterdir(), tb_folder(store, other).iterdir()
    theirs.write_bytes(mine.read_bytes())
    theirs.rename(theirs.with_name(mine.name))
    with pool.fresh([RunLocation(store.uri, own)]) as (run,):
        (reader,) = run.logdirs.values()
        tag = reader.by_plugin("text")["note/text_summary"]
        (entry,) = tag.entries()
        assert tag.array(entry) is not None
        link_logdir_itself(tb_folder(store, own), tb_folder(store, other))
        assert tag.array(entry) is None


class Roots:
    """A folder of `serve.roots`, followed, beside one that is not allowed."""

    def __init__(self, tmp_path: Path) -> None:
        self.allowed, self.outside = tmp_path / "allowed", tmp_path / "outside"
        log(self.allowed / "run", "mine")
        log(self.outside / "run", "secret")
        self.folders = OpenFolders([str(self.allowed)])

    def taken(self, folder: Path) -> OpenFolder:
        return self.folders.take(str(folder))


@pytest.fixture
def roots(tmp_path: Path) -> Iterator[Roots]:
    made = Roots(tmp_path)
    yield made
    made.folders.close()


def test_links_below_an_allowed_root_are_not_followed(roots: Roots):
    (roots.allowed / "linked").symlink_to(roots.outside)
    link_file(roots.allowed / "run", roots.outside / "run")
    folder = roots.taken(roots.allowed)
    until(lambda: folder.runs.progress.cycles > 0)
    assert tags(folder.runs.runs) == {"mine", "note/text_summary"}
    # What is written later says that everything before it was looked at.
    (roots.allowed / "later").symlink_to(roots.outside / "run")
    log(roots.allowed / "last", "last")
    until(lambda: "last" in tags(folder.runs.runs))
    assert "secret" not in tags(folder.runs.runs)


def test_names_are_not_taken_from_documents_behind_links(roots: Roots, store: Store):
    own, other = (logged_run(store, curves={"loss": [1.0]}, name=name) for name in ("mine", "secret"))
    allowed = OpenFolders([store.uri])
    (Path(store.uri, own, "run.json")).unlink()
    (Path(store.uri, own, "run.json")).symlink_to(Path(store.uri, other, "run.json"))
    folder = allowed.take(str(Path(store.uri, own)))
    until(lambda: len(folder.runs.runs) == 1)
    assert "secret" not in next(iter(folder.runs.runs))
    allowed.close()


def test_the_mirror_reads_nothing_through_a_link_that_came_after_the_listing(roots: Roots):
    listed = list(files_below(*roots.folders.check(str(roots.allowed / "run"))))
    assert len(listed) == 1
    name = listed[0].name
    (file,) = (roots.outside / "run").iterdir()
    file.rename(file.with_name(name))
    link_logdir_itself(roots.allowed / "run", roots.outside / "run")
    with pytest.raises(OSError, match="link"):
        listed[0].read(0, 100)


def test_a_link_that_is_named_itself_may_stay_inside(roots: Roots):
    (roots.allowed / "alias").symlink_to(roots.allowed / "run")
    assert roots.folders.check(str(roots.allowed / "alias")).root == roots.allowed / "run"
    (roots.allowed / "out").symlink_to(roots.outside)
    with pytest.raises(Forbidden):
        roots.folders.check(str(roots.allowed / "out"))


def test_the_server_of_one_person_follows_links(tmp_path: Path):
    log(tmp_path / "elsewhere", "loss")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "run").symlink_to(tmp_path / "elsewhere")
    folders = OpenFolders(None)
    folder = folders.take(str(tmp_path / "logs"))
    until(lambda: "run" in folder.runs.runs)
    folders.close()


@pytest.mark.parametrize(
    ("root", "store"),
    [
        ("{}", "{}/store"),
        ("{}/store", "{}/store"),
        ("{}/store/sub", "{}/store"),
        ("{}/link", "{}/store"),
        ("{}/store", "{}/link"),
        ("s3://bucket", "s3://bucket/runs"),
        ("s3://bucket/runs/x", "s3://bucket/runs"),
        ("file://{}/store", "{}/store/"),
    ],
)
def test_a_root_that_overlaps_with_a_store_is_refused(tmp_path: Path, root: str, store: str):
    (tmp_path / "store").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "store")
    with pytest.raises(InvalidValue, match=r"overlaps with the store"):
        check_roots_apart([root.format(tmp_path)], [store.format(tmp_path)])


def test_roots_beside_a_store_are_allowed(tmp_path: Path):
    check_roots_apart([f"{tmp_path}/store2", "s3://bucket/runs2"], [f"{tmp_path}/store", "s3://bucket/runs"])


def test_a_server_refuses_roots_that_overlap_at_its_start_and_when_a_store_is_added(tmp_path: Path, store: Store):
    with Catalog.open(tmp_path / "catalog.sqlite") as catalog:
        with pytest.raises(InvalidValue, match="overlaps with the store"):
            Services(catalog, ServiceOptions(stores=[store.uri], roots=[str(tmp_path)]))
        control = Services(catalog, ServiceOptions(roots=[str(tmp_path / "logs")], may_add_stores=True))
        try:
            with pytest.raises(InvalidValue, match="overlaps with the store"):
                control.add_store(str(tmp_path / "logs" / "store"))
            assert control.add_store(store.uri).uri == store.uri
        finally:
            control.close()
