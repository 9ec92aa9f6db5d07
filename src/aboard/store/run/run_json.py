# SPDX-License-Identifier: Apache-2.0
"""`run.json`: what people say about a run: its name, place, tags and notes. What happens to it stands elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import cast

from aboard.errors import InvalidValue
from aboard.model.names import check_name, check_workspace_name, usable_name
from aboard.model.run import Run
from aboard.model.run_document import run_from_document, run_to_document
from aboard.store.run.document import fields_of, parse_document, render_document
from aboard.store.run.layout import RUN

FORMAT = "aboard-run"
# These belong to the manifest, the attempts and the summary, which have other writers.
_ELSEWHERE = {
    *("status", "started", "ended", "heartbeat", "exit_code", "reason", "files", "bytes", "host", "store"),
    *("hparams", "metrics", "attempts"),
}


_REMOVED_TAGS = "removed_tags"


def removed_tags(run: Run) -> frozenset[str]:
    """Tags that people have taken away, though the training gave them."""
    named = run.details.get(_REMOVED_TAGS)
    return frozenset(map(str, cast("list[object]", named))) if isinstance(named, list) else frozenset()


def with_tags(run: Run, given: Mapping[str, str], removed: Iterable[str]) -> Run:
    """The run with some tags more and others less."""
    hidden = (removed_tags(run) | frozenset(removed)) - given.keys()
    kept = {name: text for name, text in run.tags.items() if name not in hidden}
    details = {name: value for name, value in run.details.items() if name != _REMOVED_TAGS}
    if hidden:
        details[_REMOVED_TAGS] = sorted(hidden)
    return replace(run, tags={**kept, **given}, details=details)


def render_run(run: Run) -> bytes:
    """The bytes of `run.json`."""
    document = run_to_document(run)
    return render_document(FORMAT, {name: value for name, value in document.items() if name not in _ELSEWHERE})


def parse_run(data: bytes, where: str = RUN) -> Run:
    """The opposite; raises DamagedDocument.

    Names that nobody could select or show, as with a slash, a newline or half a character, become names near to them.
    A workspace decides who sees the run, so a name that no workspace may have is an error.
    """
    document = parse_document(data, FORMAT, where)
    with fields_of(where):
        run = run_from_document(document)
        check_workspace_name(run.workspace)
    experiment = _allowed(run.experiment) if run.experiment else None
    return replace(run, name=_allowed(run.name), experiment=experiment or None)


def _allowed(name: str) -> str:
    try:
        return check_name(name, "a run") if name else ""
    except InvalidValue:
        return usable_name(name, "")
