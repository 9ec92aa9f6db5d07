# SPDX-License-Identifier: Apache-2.0
"""`/api/v1/runs/{run}/files`, `log`, `media`, `histograms` and `texts`: everything in a run but scalars."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from aboard.api.runs import HistogramEntry, LogPart, MediaEntry, RunFile, TextEntry
from aboard.api.wire import Page
from aboard.errors import InvalidValue
from aboard.server.http.security_headers import sandbox_headers
from aboard.server.routes.binding import Header, Query
from aboard.server.routes.operations import CurrentAccess, Operations
from aboard.server.routes.parameters import RunName
from aboard.services.runs.files import StoredFile, find_file, list_files, read_log
from aboard.services.runs.media import BINARY, MediaQuery

if TYPE_CHECKING:
    from aboard.services.services import Services

_BINARY = "application/octet-stream"
_TEXTS = (
    ".txt",
    ".log",
    ".md",
    ".json",
    ".jsonl",
    ".yaml",
    ".yml",
    ".toml",
    ".csv",
    ".tsv",
    ".py",
    ".sh",
    ".cfg",
    ".ini",
)
_RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})")


class FileRoutes:
    """Answers questions about files of runs."""

    def __init__(self, control: Services) -> None:
        self._control = control

    def routes(self) -> list[Route]:
        operations = Operations("files")
        operations.add("GET", "runs/{run}/files", self.list_files)
        content = {_BINARY: bytes, "text/plain": bytes}
        operations.add("GET", "runs/{run}/files/content", self.content, content=content)
        operations.add("GET", "runs/{run}/log", self.log)
        return operations.routes

    def list_files(
        self,
        run: RunName,
        access: CurrentAccess,
        prefix: Annotated[str, Query(description="As `output/` or `log/`.")] = "",
        limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
        after: Annotated[str, Query(description="`next` of the page before.")] = "",
    ) -> Page[RunFile]:
        """The files of a run, by path."""
        return self._control.with_files(
            run, access, lambda folder: list_files(folder, prefix=prefix, limit=limit, after=after)
        )

    def content(
        self,
        run: RunName,
        path: Annotated[str, Query(description="As the list has it.")],
        access: CurrentAccess,
        wanted: Annotated[str, Header(alias="range", description="`bytes=0-99`, `bytes=100-` or `bytes=-100`.")] = "",
    ) -> Response:
        """A file, or the part of it that `Range` names."""
        file = self._control.with_files(run, access, lambda folder: find_file(folder, path))
        part = _parse_range(wanted, file.size)
        start, end = part or (0, file.size)
        is_text = path.lower().endswith(_TEXTS)
        headers = sandbox_headers(save_as=None if is_text else path.rpartition("/")[2])
        headers |= {"Content-Length": str(end - start), "Accept-Ranges": "bytes"}
        if part is not None:
            headers["Content-Range"] = f"bytes {start}-{end - 1}/{file.size}"
        return StreamingResponse(
            self._pieces(run, access, file, start, end),
            200 if part is None else 206,
            headers,
            media_type="text/plain; charset=utf-8" if is_text else _BINARY,
        )

    def log(
        self,
        run: RunName,
        access: CurrentAccess,
        path: Annotated[str, Query(description="As the list of files has it; the newest log without it.")] = "",
        offset: Annotated[int | None, Query(ge=0, le=2**53, description="`next` of the part before.")] = None,
        tail: Annotated[int, Query(ge=0, le=100_000, description="Without `offset`: so many lines of the end.")] = 200,
    ) -> LogPart:
        """A part of what the run has printed: its end, or what came behind an earlier part."""
        return self._control.with_files(
            run, access, lambda folder: read_log(folder, path=path, offset=offset, tail=tail)
        )

    def _pieces(self, run: str, access: CurrentAccess, file: StoredFile, start: int, end: int) -> Iterator[bytes]:
        for begin, until in file.pieces(start, end):
            yield self._control.with_files(run, access, lambda _, begin=begin, until=until: file.read(begin, until))


def _parse_range(wanted: str, size: int) -> tuple[int, int] | None:
    """The bytes that are asked for; None for all, also where the header is not understood, as HTTP has it."""
    found = _RANGE.fullmatch(wanted.strip().lower())
    if found is None or not (found[1] or found[2]):
        return None
    if not found[1]:
        start, end = max(0, size - int(found[2])), size
    else:
        start, end = int(found[1]), min(size, int(found[2]) + 1) if found[2] else size
    if start >= end:
        raise RangeNotSatisfiable(f"the file has {size} bytes, and {wanted[:100]!r} is none of them")
    return start, end


class RangeNotSatisfiable(InvalidValue):
    """A part of a file that is not there."""

    status = 416


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

    def __init__(self, control: Services) -> None:
        self._control = control

    def routes(self) -> list[Route]:
        operations = Operations("media")
        content = {"application/json": object, **dict.fromkeys(_TYPES, bytes)}
        operations.add("GET", "runs/{run}/media", self.list_entries)
        operations.add("GET", "runs/{run}/media/content", self.content, content=content)
        operations.add("GET", "runs/{run}/histograms", self.histograms)
        operations.add("GET", "runs/{run}/texts", self.texts)
        return operations.routes

    def list_entries(
        self, run: RunName, tag: _Tag, access: CurrentAccess, logdir: _Logdir = "", kind: _Kind = ""
    ) -> Page[MediaEntry]:
        """The steps at which a tag has something."""
        return Page(tuple(self._control.media(run, access).entries(MediaQuery(tag, logdir, kind))))

    def content(
        self,
        run: RunName,
        tag: _Tag,
        access: CurrentAccess,
        logdir: _Logdir = "",
        kind: _Kind = "",
        step: Annotated[int | None, Query(ge=-(2**63), le=2**63 - 1, description="The last one without it.")] = None,
        sample: Annotated[int, Query(ge=0, le=1_000_000, description="Of several at one step, counted from 0.")] = 0,
    ) -> Response:
        """One value: a picture or sound as the file that was logged, a text as plain text, numbers as JSON.

        `X-Step` and `X-Samples` say which step it is, and how many samples that step has.
        """
        found = self._control.media(run, access).content(MediaQuery(tag, logdir, kind), step, sample)
        is_file = found.content_type == BINARY
        headers = sandbox_headers(save_as=tag.rpartition("/")[2] or "value" if is_file else None)
        headers |= {"X-Step": str(found.step), "X-Samples": str(found.samples)}
        return Response(found.data, media_type=found.content_type, headers=headers)

    def histograms(
        self, run: RunName, tag: _Tag, access: CurrentAccess, logdir: _Logdir = "", count: _Count = 50
    ) -> Page[HistogramEntry]:
        """Histograms of a tag, over time."""
        return Page(tuple(self._control.media(run, access).histograms(MediaQuery(tag, logdir), count)))

    def texts(
        self, run: RunName, tag: _Tag, access: CurrentAccess, logdir: _Logdir = "", count: _Count = 50
    ) -> Page[TextEntry]:
        """Texts of a tag, over time."""
        return Page(tuple(self._control.media(run, access).texts(MediaQuery(tag, logdir), count)))
