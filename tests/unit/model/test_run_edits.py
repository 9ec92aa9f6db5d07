# SPDX-License-Identifier: Apache-2.0
"""Edits of read-only runs: what people change is kept, whatever the files say next."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aboard.errors import InvalidValue
from aboard.model.run_edits import NO_EDIT, edit_from_document, edit_to_document
from aboard.model.runs import Note
from support.catalog_runs import START, make_run

RUN = make_run(name="a", store="/data/logs", source_path="a", tags={"own": "1", "kept": ""}, notes=(Note(text="own"),))
CHANGED = replace(
    RUN, name="best", tags={"kept": "", "new": "x"}, notes=(*RUN.notes, Note(text="mine", written=START)), deleted=START
)


def test_an_edit_makes_the_same_of_the_run_again():
    edit = NO_EDIT.including(RUN, CHANGED)
    assert edit.apply(RUN) == CHANGED
    assert edit_from_document(edit_to_document(edit), "an edit") == edit


def test_what_files_say_later_shows_where_nobody_changed_it():
    later = replace(RUN, name="b", tags={"own": "2", "kept": "2", "more": ""}, notes=(Note(text="other"),))
    seen = NO_EDIT.including(RUN, CHANGED).apply(later)
    assert (seen.name, seen.tags) == ("best", {"kept": "2", "more": "", "new": "x"})
    assert [note.text for note in seen.notes] == ["other", "mine"]


def test_a_second_edit_adds_to_the_first():
    edit = NO_EDIT.including(RUN, CHANGED)
    again = replace(CHANGED, tags={"kept": "", "own": "back"}, deleted=None)
    assert edit.including(CHANGED, again).apply(RUN) == again


@pytest.mark.parametrize("change", [{"workspace": "other"}, {"experiment": "exp"}])
def test_a_run_stays_where_its_source_is_shown(change: dict[str, str]):
    with pytest.raises(InvalidValue, match="read-only source /data/logs"):
        NO_EDIT.including(RUN, replace(RUN, **change))
