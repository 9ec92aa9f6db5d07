# SPDX-License-Identifier: Apache-2.0
"""The runs that a person names: `run343`, `run310,run341`, `run10-run20`, `ws1/base*`, `exp7`, or a filter."""

from __future__ import annotations

from collections.abc import Sequence

from aboard.cli.word_files import spelled_out
from aboard.client.client import Client
from aboard.errors import InvalidValue, UnknownName
from aboard.model.selected_run import SelectedRun
from aboard.model.selection_words import hint_for_nothing


def selected_runs(
    client: Client, names: Sequence[str], where: str | None = None, *, in_bin: bool = False, exact: bool = False
) -> list[SelectedRun]:
    """Each run that is meant, once; at least one, and at least one for each word.

    With `exact`, for commands that change runs, `job2300` is a number and never a name.
    """
    selected = client.runs.select(spelled_out(names), where=where, in_bin=in_bin, exact=exact)
    if selected.folders:
        hint = "name runs; `aboard runs list` shows what there is"
        raise InvalidValue(f"{selected.folders[0]} holds no run that the server knows", hint=hint)
    if selected.empty:
        if selected.where:
            hint = "`aboard runs list` shows what there is"
            raise UnknownName(f"there is no run for which {where} holds", hint=hint)
        missed = selected.empty[0]
        raise UnknownName(f"there is no run like {missed!r}", hint=hint_for_nothing(missed))
    return list(selected.runs)
