# SPDX-License-Identifier: Apache-2.0
"""`/api/v1/runs/{run}/files` and `log`: what a run left beside its points, and what it printed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

from fastapi import Header, Query, Response
from fastapi.routing import APIRoute
from starlette.responses import StreamingResponse

from aboard.api.files import LogPart, RunFile
from aboard.api.page import Page
from aboard.errors import InvalidValue
from aboard.server.actors import Asking
from aboard.server.answering import Operations
from aboard.server.harmless import harmless_headers
from aboard.server.parameters import RunName
from aboard.services.runs.files import StoredFile, find_file, list_files, read_log
from aboard.services.services import Control

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

    def __init__(self, control: Control) -> None:
        self._control = control

    def routes(self) -> list[APIRoute]:
        operations = Operations("files")
        operations.add("GET", "runs/{run}/files", self.list_files)
        content = {_BINARY: bytes, "text/plain": bytes}
        operations.add("GET", "runs/{run}/files/content", self.content, content=content)
        operations.add("GET", "runs/{run}/log", self.log)
        return operations.routes

    def list_files(
        self,
        run: RunName,
        access: Asking,
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
        access: Asking,
        wanted: Annotated[str, Header(alias="range", description="`bytes=0-99`, `bytes=100-` or `bytes=-100`.")] = "",
    ) -> Response:
        """A file, or the part of it that `Range` names."""
        file = self._control.with_files(run, access, lambda folder: find_file(folder, path))
        part = _range(wanted, file.size)
        start, end = part or (0, file.size)
        is_text = path.lower().endswith(_TEXTS)
        headers = harmless_headers(save_as=None if is_text else path.rpartition("/")[2])
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
        access: Asking,
        path: Annotated[str, Query(description="As the list of files has it; the newest log without it.")] = "",
        offset: Annotated[int | None, Query(ge=0, le=2**53, description="`next` of the part before.")] = None,
        tail: Annotated[int, Query(ge=0, le=100_000, description="Without `offset`: so many lines of the end.")] = 200,
    ) -> LogPart:
        """A part of what the run has printed: its end, or what came behind an earlier part."""
        return self._control.with_files(
            run, access, lambda folder: read_log(folder, path=path, offset=offset, tail=tail)
        )

    def _pieces(self, run: str, access: Asking, file: StoredFile, start: int, end: int) -> Iterator[bytes]:
        for begin, until in file.pieces(start, end):
            yield self._control.with_files(run, access, lambda _, begin=begin, until=until: file.read(begin, until))


def _range(wanted: str, size: int) -> tuple[int, int] | None:
    """The bytes that are asked for; None for all, also where the header is not understood, as HTTP has it."""
    found = _RANGE.fullmatch(wanted.strip().lower())
    if found is None or not (found[1] or found[2]):
        return None
    if not found[1]:
        start, end = max(0, size - int(found[2])), size
    else:
        start, end = int(found[1]), min(size, int(found[2]) + 1) if found[2] else size
    if start >= end:
        raise RangeNotThere(f"the file has {size} bytes, and {wanted[:100]!r} is none of them")
    return start, end


class RangeNotThere(InvalidValue):
    """A part of a file that is not there."""

    status = 416
