# SPDX-License-Identifier: Apache-2.0
"""Kinds of parameters that handlers have in common: names in paths, and what stands in queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated
from urllib.parse import unquote

from fastapi import Path, Query
from pydantic import AfterValidator

from aboard.catalog.page import LONGEST_PAGE

_DAY_MINUTES = 24 * 60


def said(texts: Sequence[str]) -> list[str]:
    """Those that are not empty."""
    return [text for text in texts if text]


# A slash in a name is escaped twice, because paths are taken apart after the first time.
RunName = Annotated[
    str,
    Path(description="`run343`, `343`, a uid, a name, `workspace/name` with the slash as `%252F`, or `name:run343`."),
    AfterValidator(unquote),
]
ExperimentName = Annotated[
    str,
    Path(description="`exp7`, `7`, a name, `workspace/name` with the slash as `%252F`, or `name:exp7`."),
    AfterValidator(unquote),
]
WorkspaceName = Annotated[str, Path(description="The name of a workspace."), AfterValidator(unquote)]
Identifier = Annotated[str, Path(description="The identifier that an earlier answer gave."), AfterValidator(unquote)]

Workspaces = Annotated[
    list[str],
    Query(alias="workspace", default_factory=list, description="Only what is in these; all without it."),
    AfterValidator(said),
]
Limit = Annotated[int, Query(ge=1, le=LONGEST_PAGE, description="How many entries a page has at most.")]
After = Annotated[str | None, Query(description="`next` of the page before.")]
InBin = Annotated[bool, Query(alias="bin", description="What is in the bin, instead of what is not.")]
Exact = Annotated[
    bool, Query(description="`job7` is a number only, and not the name of an experiment when there is no number 7.")
]
Zone = Annotated[
    int,
    Query(
        gt=-_DAY_MINUTES, lt=_DAY_MINUTES, description="Minutes east of Greenwich, for times in `where` without a zone."
    ),
]
Where = Annotated[str | None, Query(description='A filter, as `hparams.lr < 0.01 and status == "running"`.')]
