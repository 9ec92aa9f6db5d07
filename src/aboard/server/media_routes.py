# SPDX-License-Identifier: Apache-2.0
"""`/api/v1/runs/{run}/media`, `histograms` and `texts`: values that are no numbers, by tag and step."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Response
from fastapi.routing import APIRoute

from aboard.api.files import HistogramEntry, MediaEntry, TextEntry
from aboard.api.page import Page
from aboard.server.actors import Asking
from aboard.server.answering import Operations
from aboard.server.harmless import harmless_headers
from aboard.server.parameters import RunName
from aboard.services.runs.media import BINARY, MediaAsked
from aboard.services.services import Control

_Tag = Annotated[str, Query(description="The tag, by its whole name.")]
_Logdir = Annotated[str, Query(description="The logdir; empty, or `.`, for the run itself.")]
_Kind = Annotated[
    str, Query(description="image, audio, text, histogram, graph or tensor, where two tags have one name.")
]
_Count = Annotated[int, Query(ge=1, le=1000, description="At most so many steps, spread over all.")]
_TYPES = (
    "image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp",
    "audio/wav", "audio/mpeg", "audio/ogg", "audio/flac",
    "text/plain", BINARY,
)  # fmt: skip


class MediaRoutes:
    """Answers questions about pictures, sounds, texts, histograms, graphs and arrays."""

    def __init__(self, control: Control) -> None:
        self._control = control

    def routes(self) -> list[APIRoute]:
        operations = Operations("media")
        content = {"application/json": object, **dict.fromkeys(_TYPES, bytes)}
        operations.add("GET", "runs/{run}/media", self.list_entries)
        operations.add("GET", "runs/{run}/media/content", self.content, content=content)
        operations.add("GET", "runs/{run}/histograms", self.histograms)
        operations.add("GET", "runs/{run}/texts", self.texts)
        return operations.routes

    def list_entries(
        self, run: RunName, tag: _Tag, access: Asking, logdir: _Logdir = "", kind: _Kind = ""
    ) -> Page[MediaEntry]:
        """The steps at which a tag has something."""
        return Page(tuple(self._control.media(run, access).entries(MediaAsked(tag, logdir, kind))))

    def content(
        self,
        run: RunName,
        tag: _Tag,
        access: Asking,
        logdir: _Logdir = "",
        kind: _Kind = "",
        step: Annotated[int | None, Query(ge=-(2**63), le=2**63 - 1, description="The last one without it.")] = None,
        sample: Annotated[int, Query(ge=0, le=1_000_000, description="Of several at one step, counted from 0.")] = 0,
    ) -> Response:
        """One value: a picture or sound as the file that was logged, a text as plain text, numbers as JSON.

        `X-Step` and `X-Samples` say which step it is, and how many samples that step has.
        """
        found = self._control.media(run, access).content(MediaAsked(tag, logdir, kind), step, sample)
        is_file = found.content_type == BINARY
        headers = harmless_headers(save_as=tag.rpartition("/")[2] or "value" if is_file else None)
        headers |= {"X-Step": str(found.step), "X-Samples": str(found.samples)}
        return Response(found.data, media_type=found.content_type, headers=headers)

    def histograms(
        self, run: RunName, tag: _Tag, access: Asking, logdir: _Logdir = "", count: _Count = 50
    ) -> Page[HistogramEntry]:
        """Histograms of a tag, over time."""
        return Page(tuple(self._control.media(run, access).histograms(MediaAsked(tag, logdir), count)))

    def texts(
        self, run: RunName, tag: _Tag, access: Asking, logdir: _Logdir = "", count: _Count = 50
    ) -> Page[TextEntry]:
        """Texts of a tag, over time."""
        return Page(tuple(self._control.media(run, access).texts(MediaAsked(tag, logdir), count)))
