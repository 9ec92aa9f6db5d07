# SPDX-License-Identifier: Apache-2.0
"""A server applies its rules of retention by itself, again and again, whatever fails meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Generator
from pathlib import Path

import pytest

from aboard.api.runs import RetentionRequest, RetentionResult
from aboard.catalog.catalog import Catalog
from aboard.errors import InvalidValue, StoreUnreachable, UnknownName
from aboard.model.people import Access
from aboard.model.states import RunState
from aboard.services.runs.retention import ACTOR, RetentionTask
from aboard.services.services import ServiceOptions, Services
from aboard.store import open_store
from support.processes import until
from support.stored_runs import store_run


@pytest.fixture
def control(tmp_path: Path) -> Generator[Services]:
    (tmp_path / "store").mkdir()
    with Catalog.open(tmp_path / "catalog.sqlite") as catalog:
        control = Services(catalog, ServiceOptions(stores=[str(tmp_path / "store")], look_seconds=30))
        yield control
        control.close()


def test_rules_are_applied_in_turn_and_again(control: Services, tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "store"))
    failed, done = store_run(store, status=RunState.FAILED), store_run(store)
    control.look_now()
    rules = [
        RetentionRequest(where='status == "failed"'),
        RetentionRequest(in_bin=True, older_than_seconds=0, files=True),
    ]
    retention = RetentionTask(control.seen_by(Access.whole(ACTOR)).retain, rules, first_after=0.01, every=0.05)

    def is_gone(uid: str) -> bool:
        try:
            control.catalog.runs.by_uid(uid)
        except UnknownName:
            return not any(entry.key.startswith(uid) for entry in store.list())
        return False

    until(lambda: is_gone(failed))
    later = store_run(store, status=RunState.FAILED)
    control.look_now()
    until(lambda: is_gone(later))
    retention.stop()
    assert control.catalog.runs.by_uid(done).deleted is None


def test_a_rule_that_fails_is_told_and_stops_no_other(caplog: pytest.LogCaptureFixture) -> None:
    applied = threading.Event()

    def retain(asked: RetentionRequest) -> RetentionResult:
        if asked.keep_newest == 1:
            raise StoreUnreachable("s3://x does not answer")
        assert not asked.dry_run
        applied.set()
        return RetentionResult(dry_run=False, items=(), bytes=0)

    rules = [RetentionRequest(keep_newest=1), RetentionRequest(keep_newest=2)]
    retention = RetentionTask(retain, rules, first_after=0.01, every=60)
    assert applied.wait(60)
    retention.stop()
    assert "s3://x does not answer" in caplog.text


def test_a_rule_that_cannot_be_understood_is_refused_at_once() -> None:
    with pytest.raises(InvalidValue, match="hparams"):
        RetentionTask(lambda asked: pytest.fail("asked"), [RetentionRequest(where="hparams. <")])
