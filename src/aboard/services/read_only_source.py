# SPDX-License-Identifier: Apache-2.0
"""What `serve.sources` names: a folder or bucket of event files, and the workspace that shows its runs."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from aboard.errors import InvalidValue
from aboard.model.names import check_workspace_name
from aboard.store.uri import is_below, parse_uri, real_location


@dataclass(frozen=True, slots=True)
class Source:
    """A source. Its `uri` identifies it, holds no secret, and is what its runs have as their store."""

    workspace: str
    uri: str
    given: str = field(default="", repr=False, compare=False)
    """What opens it, where that is more than the URI."""

    @classmethod
    def parse(cls, text: str) -> Source:
        """The source that `WORKSPACE=FOLDER` or `WORKSPACE=URI` names."""
        workspace, separator, place = text.partition("=")
        if not separator or not place.strip():
            raise InvalidValue(
                f"serve.sources names {text!r}, which is no workspace with a folder.",
                hint="Write WORKSPACE=FOLDER or WORKSPACE=URI, as in vision=/data/logs.",
            )
        return cls(check_workspace_name(workspace.strip()), parse_uri(place.strip()).uri, place.strip())

    @property
    def name(self) -> str:
        """The last part of the folder or URI, which names a run in the source itself."""
        return self.uri.rstrip("/").rpartition("/")[2] or self.workspace

    def overlaps(self, uri: str) -> bool:
        """Whether a folder or URI is the source, lies in it, or holds it."""
        here, there = real_location(self.uri), real_location(uri)
        return is_below(here, there) or is_below(there, here)


def check_sources(sources: Sequence[Source], roots: Sequence[str] | None, stores: Iterable[str]) -> None:
    """Raise if a source is not below `serve.roots`, or overlaps with a store or another source.

    Without roots, on a server of one person, sources may be anywhere.
    """
    below = None if roots is None else [real_location(parse_uri(root).uri) for root in roots]
    for source in sources:
        if below is not None and not any(is_below(real_location(source.uri), root) for root in below):
            raise InvalidValue(
                f"serve.sources names {source.uri}, which is not below serve.roots.",
                hint=f"Allowed are {', '.join(roots or ())}." if roots else "Name it, or a folder above it, there.",
            )
        for store in stores:
            if source.overlaps(parse_uri(store).uri):
                raise InvalidValue(
                    f"serve.sources names {source.uri}, which overlaps with the store {store}.",
                    hint="Runs of a store are shown anyway. Name a folder apart from every store.",
                )
    for one, other in itertools.combinations(sources, 2):
        if one.overlaps(other.uri):
            raise InvalidValue(
                f"serve.sources names {one.uri} and {other.uri}, which overlap.",
                hint="A run is shown in one workspace. Name folders apart from each other.",
            )
