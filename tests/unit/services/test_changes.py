# SPDX-License-Identifier: Apache-2.0
"""Which changes of a run are published."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from aboard.model.names import new_uid
from aboard.model.runs import Note, RunRecord
from aboard.model.states import RunState
from aboard.model.times import now
from aboard.services.changes import ChangeBus, RunChangePublisher

RUN = RunRecord(uid=new_uid(), workspace="vision", created=now(), number=1, name="first")


def published(*versions: RunRecord) -> list[tuple[str, str, Any]]:
    """The workspace that is notified, the name, and what changed, for every version after the first."""
    changes = ChangeBus()
    news = RunChangePublisher(changes)
    news.tell([versions[0]])
    before = changes.position
    for run in versions[1:]:
        news.tell([run])
    return [(one.workspace, str(one.facts["name"]), one.facts["changed"]) for one in changes.since(before).changes]


@pytest.mark.parametrize(
    "change",
    [
        {"name": "second"},
        {"experiment": "sweep"},
        {"tags": {"best": ""}},
        {"notes": (Note(text="look", author="ann", written=now()),)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_people_change_is_published(change: dict[str, Any]) -> None:
    changed = replace(RUN, **change)
    assert published(RUN, changed) == [("vision", changed.name, ["document"])]


def test_states_and_deletion_are_published() -> None:
    running = replace(RUN, status=RunState.RUNNING)
    deleted = replace(running, deleted=now())
    assert published(RUN, running, deleted, running) == [
        ("vision", "first", ["status"]),
        ("vision", "first", ["deleted"]),
        ("vision", "first", ["restored"]),
    ]


def test_a_moved_run_leaves_one_workspace_and_enters_another() -> None:
    moved = replace(RUN, workspace="speech")
    assert published(RUN, moved) == [("vision", "first", ["moved"]), ("speech", "first", ["document"])]


def test_an_unchanged_run_is_not_published() -> None:
    assert published(RUN, replace(RUN)) == []
