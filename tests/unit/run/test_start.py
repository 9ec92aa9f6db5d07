# SPDX-License-Identifier: Apache-2.0
"""A name means the run of this machine or store that has it, but not one in the trash."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from aboard.model.names import new_uid
from aboard.model.runs import RunRecord
from aboard.model.times import now
from aboard.run.spool import spools_of
from aboard.run.supervisor.console import Console
from aboard.run.supervisor.server_registration import ServerRegistration
from aboard.run.supervisor.start import RunRequest, resolve_run
from aboard.run.supervisor.uploads import Destination
from aboard.store import open_store
from aboard.store.run.run_folder import RunFolder
from aboard.upload.scan import Spool


@pytest.fixture
def request_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunRequest:
    monkeypatch.setenv("ABOARD_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("ABOARD_SERVER", raising=False)
    return RunRequest(command=("true",), home=tmp_path / "home", store=str(tmp_path / "store"), name="twin")


def _earlier(request: RunRequest, *, is_in_trash: bool = False) -> RunRecord:
    """A run of this machine, as it is here and in the store."""
    run = RunRecord(uid=new_uid(), workspace=request.workspace, created=now(), name="twin")
    folder = spools_of(request.home) / run.uid
    folder.mkdir(parents=True)
    Spool.at(folder).write_run(run)
    Destination(folder=folder, uid=run.uid, store=request.store, output=folder / "output").write()
    kept = replace(run, deleted=now()) if is_in_trash else run
    RunFolder(open_store(request.store, create=True), run.uid).create_run(kept)
    return run


def test_a_name_continues_the_newest_run_that_has_it(request_: RunRequest) -> None:
    newest = max(_earlier(request_).uid, _earlier(request_).uid)  # which begin with the time
    found = resolve_run(request_, Console(), ServerRegistration())
    assert (found.run.uid, found.is_new) == (newest, False)


def test_a_run_in_the_trash_is_not_continued(request_: RunRequest) -> None:
    """Otherwise the new attempt would be invisible, and deleted for good with the trash."""
    trashed = _earlier(request_, is_in_trash=True)
    found = resolve_run(request_, Console(), ServerRegistration())
    assert found.is_new
    assert found.run.uid != trashed.uid


def test_an_earlier_run_is_continued_when_the_newest_is_in_the_trash(request_: RunRequest) -> None:
    earlier = _earlier(request_)
    _earlier(request_, is_in_trash=True)
    assert resolve_run(request_, Console(), ServerRegistration()).run.uid == earlier.uid


def test_a_store_that_is_gone_does_not_keep_a_run_from_going_on(request_: RunRequest) -> None:
    known = _earlier(request_)
    Path(request_.store).rename(f"{request_.store}.away")
    found = resolve_run(request_, Console(), ServerRegistration())
    assert (found.run.uid, found.is_new) == (known.uid, False)
