# SPDX-License-Identifier: Apache-2.0
"""Values of runs that are not numbers: images, audio, texts, histograms, graphs and arrays, by tag and step.

Content types are derived from the first bytes of a value. What could carry a script is never named as such.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from aboard._native import TagEntry
from aboard.api.runs import HistogramEntry, MediaEntry, TextEntry
from aboard.errors import InvalidValue, UnknownName
from aboard.foundation.text import closest_names
from aboard.model.documents import to_json_number
from aboard.reader.opened.values import Audio, Graph, Histogram, Image, Tensor, Text
from aboard.reader.run import Tag
from aboard.services.runs.open_runs import OpenRun, OpenRuns, RunLocation
from aboard.services.runs.tags import kind_of

_LARGEST_ARRAY = 1_000_000
_T = TypeVar("_T")
BINARY = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class MediaQuery:
    """Which tag of which logdir; a kind narrows where two tags have one name."""

    tag: str
    logdir: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class MediaContent:
    """One value as bytes, with a content type that no browser takes for a page."""

    content_type: str
    data: bytes
    step: int
    samples: int


class Media:
    """Reads values of one run. Whatever needs its store goes through the store's own threads."""

    def __init__(self, pool: OpenRuns, place: RunLocation) -> None:
        self._pool, self._place = pool, place

    def entries(self, asked: MediaQuery) -> list[MediaEntry]:
        """All entries of a tag, in ascending steps."""
        return self._with_tag(asked, lambda tag: [_entry(one) for one in tag.entries()])

    def histograms(self, asked: MediaQuery, count: int) -> list[HistogramEntry]:
        """Histograms of at most `count` steps, spread over all."""

        def read(tag: Tag) -> list[HistogramEntry]:
            return [_histogram(Histogram(tag, one)) for one in _spread(tag.entries(), count)]

        return self._with_tag(MediaQuery(asked.tag, asked.logdir, "histogram"), read)

    def texts(self, asked: MediaQuery, count: int) -> list[TextEntry]:
        """Texts of at most `count` steps, spread over all."""

        def read(tag: Tag) -> list[TextEntry]:
            found = [Text(tag, one) for one in _spread(tag.entries(), count)]
            return [TextEntry(step=one.step, wall_time=one.wall_time, text=one.text) for one in found]

        return self._with_tag(MediaQuery(asked.tag, asked.logdir, "text"), read)

    def content(self, asked: MediaQuery, step: int | None, sample: int) -> MediaContent:
        """One value; the last one without a step."""
        return self._with_tag(asked, lambda tag: _content(tag, _at(tag, step), sample))

    def _with_tag(self, asked: MediaQuery, read: Callable[[Tag], _T]) -> _T:
        with self._pool.fresh([self._place]) as (run,):
            if (failure := run.failure) is not None:
                raise failure
            tag = _tag_of(run, asked)
            return run.call(lambda: read(tag))


def _tag_of(run: OpenRun, asked: MediaQuery) -> Tag:
    logdir = "" if asked.logdir == "." else asked.logdir
    reader = run.logdirs.get(logdir)
    if reader is None:
        raise UnknownName(f"the run has no logdir {logdir!r}", hint=_nearest(logdir, list(run.logdirs)))
    tags = [tag for tag in reader.tags() if kind_of(tag) != "scalar"]
    found = [tag for tag in tags if tag.name == asked.tag and asked.kind in ("", kind_of(tag))]
    if not found:
        what = f"{asked.kind} called" if asked.kind else "value called"
        raise UnknownName(f"the run has no {what} {asked.tag!r}", hint=_nearest(asked.tag, [tag.name for tag in tags]))
    return found[0]


def _nearest(name: str, known: Sequence[str]) -> str:
    near = closest_names(name, known, 3) or sorted(set(known))[:5]
    return f"nearest: {', '.join(one or '.' for one in near)}" if near else "it has none yet"


def _at(tag: Tag, step: int | None) -> TagEntry:
    entries = tag.entries()
    found = [entry for entry in entries if entry.step == step] if step is not None else entries[-1:]
    if not found:
        raise UnknownName(f"{tag.name!r} has nothing at step {step}", hint="GET runs/RUN/media lists the steps")
    return found[0]


def _content(tag: Tag, entry: TagEntry, sample: int) -> MediaContent:
    match kind_of(tag):
        case "image":
            data, count = _sample(Image(tag, entry).files, sample)
            return MediaContent(image_type(data), data, entry.step, count)
        case "audio":
            data, count = _sample(Audio(tag, entry).files, sample)
            return MediaContent(audio_type(data), data, entry.step, count)
        case "text":
            text = Text(tag, entry).text.encode("utf-8", "replace")
            return MediaContent("text/plain; charset=utf-8", text, entry.step, 1)
        case "histogram":
            document = _histogram_document(Histogram(tag, entry))
            return MediaContent("application/json", json.dumps(document).encode(), entry.step, 1)
        case "graph":
            return MediaContent(BINARY, Graph(tag, entry).data, entry.step, 1)
        case _:
            document = _array_document(Tensor(tag, entry).array())
            return MediaContent("application/json", json.dumps(document).encode(), entry.step, 1)


def _sample(files: list[bytes], number: int) -> tuple[bytes, int]:
    if not 0 <= number < len(files):
        raise UnknownName(f"there is no sample {number}", hint=f"it has {len(files)}, counted from 0")
    return files[number], len(files)


def _entry(entry: TagEntry) -> MediaEntry:
    return MediaEntry(step=entry.step, wall_time=entry.wall_time, bytes=entry.length)


def _spread(entries: list[TagEntry], count: int) -> list[TagEntry]:
    if len(entries) <= count:
        return entries
    places = np.linspace(0, len(entries) - 1, count).round().astype(int)
    return [entries[place] for place in dict.fromkeys(places.tolist())]


def _histogram(one: Histogram) -> HistogramEntry:
    return HistogramEntry(
        step=one.step,
        wall_time=one.wall_time,
        lefts=tuple(one.lefts.tolist()),
        rights=tuple(one.rights.tolist()),
        counts=tuple(one.counts.tolist()),
    )


def _histogram_document(one: Histogram) -> dict[str, Any]:
    columns = {"lefts": one.lefts, "rights": one.rights, "counts": one.counts}
    numbers = {name: [to_json_number(number) for number in column.tolist()] for name, column in columns.items()}
    return {"step": to_json_number(one.step), "wall_time": to_json_number(one.wall_time), **numbers}


def _array_document(array: Any) -> dict[str, Any]:
    if array.size > _LARGEST_ARRAY:
        raise InvalidValue(f"the array has {array.size} entries", hint=f"at most {_LARGEST_ARRAY} are told")
    return {
        "shape": list(array.shape),
        "kind": str(array.dtype),
        "values": [_plain(one) for one in array.ravel().tolist()],
    }


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return to_json_number(value)
    return value if isinstance(value, (str, bool)) else str(value)


_OTHER_TYPE = "application/octet-stream"
_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
)
_SOUNDS = ((b"ID3", "audio/mpeg"), (b"\xff\xfb", "audio/mpeg"), (b"OggS", "audio/ogg"), (b"fLaC", "audio/flac"))


def image_type(data: bytes) -> str:
    """That of a picture; an SVG is a file to be saved, because it may run script."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _IMAGES if data.startswith(start)), _OTHER_TYPE)


def audio_type(data: bytes) -> str:
    """That of a sound."""
    if data[:4] == b"RIFF" and data[8:12] == b"WAVE":
        return "audio/wav"
    return next((kind for start, kind in _SOUNDS if data.startswith(start)), _OTHER_TYPE)
