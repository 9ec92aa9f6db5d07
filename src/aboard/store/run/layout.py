# SPDX-License-Identifier: Apache-2.0
"""The paths of a run's objects, all relative to `<root>/<uid>/`, and the local files that they come from.

A *source* names a local file by its place below the run's folder on the training machine: `output/…`, `log/…`, or
`watch/<name>/…` for a folder elsewhere. A *path* is where it stands in the store. Names that a store does not take are
escaped; the row of the manifest then says which source was meant.
"""

from __future__ import annotations

import hashlib
import os
import re

from aboard.foundation.files import ASIDE_PREFIX

RUN = "run.json"
MANIFEST = "manifest.json"
OUTPUTS = "outputs.json"
SUMMARY = "summary.json"
ATTEMPTS = "attempts"
EVENTS = "tb"
OUTPUT = "output"
LOG = "log"
COLUMNS = "columns"
SEALED = f"{COLUMNS}/00000000"  # always the same, so that it can be asked for before anything else is known
WATCH = "watch"
REOPENED = "_reopened"  # beside the runs: sorts behind every uid
USUAL_EVENTS = "output/tensorboard"

_ATTEMPT = re.compile(r"([1-9][0-9]{0,8})\.json")
_SEGMENT = re.compile(r"(.+)\.([0-9]{8})", re.DOTALL)
_COLUMNS = re.compile(rf"{COLUMNS}/[0-9]{{8,20}}")
_LONGEST_PART = 225  # leaves room for a generation and the number of a segment
_LONGEST_PATH = 700  # leaves room for the prefix of a store


def attempt_path(number: int) -> str:
    """Where the claim of an attempt stands."""
    return f"{ATTEMPTS}/{number}.json"


def attempt_number(name: str) -> int | None:
    """The number in the last part of an attempt's path."""
    found = _ATTEMPT.fullmatch(name)
    return int(found[1]) if found else None


def segment_path(path: str, number: int) -> str:
    """Where one segment of a growing file stands; padded, because readers of event files go by the order of names."""
    return f"{path}.{number:08d}"


def is_columns_path(path: str) -> bool:
    """Whether columns may stand there."""
    return _COLUMNS.fullmatch(path) is not None


def split_segment(path: str) -> tuple[str, int] | None:
    """The opposite of `segment_path`."""
    found = _SEGMENT.fullmatch(path)
    return (found[1], int(found[2])) if found else None


def path_of(source: str, *, is_event_file: bool) -> str:
    """Where a source belongs in the store."""
    top, _, rest = source.partition("/")
    if top == WATCH:
        rest = rest.partition("/")[2]
    if is_event_file:
        top, rest = EVENTS, rest.removeprefix("tensorboard/")
    elif top == WATCH:
        top, rest = OUTPUT, f"tensorboard/{rest}"
    return _fitting(f"{top}/" + "/".join(_safe(part) for part in rest.split("/")))


def usual_source(path: str) -> str:
    """The source of a path of which nothing else is said."""
    return f"{USUAL_EVENTS}/{path[len(EVENTS) + 1 :]}" if path.startswith(f"{EVENTS}/") else path


def generation_path(path: str, generation: int) -> str:
    """The path of what took the place of an earlier file."""
    return path if generation < 2 else f"{path}~{generation}"


def generation_of(path: str, base: str) -> int:
    """The generation of a path that was made from `base`."""
    suffix = path[len(base) + 1 :]
    return int(suffix) if suffix.isdecimal() else 1


def generation_base(path: str) -> tuple[str, int]:
    """The path of the first generation, and which one this is, where nothing but the path is known."""
    base, _, generation = path.rpartition("~")
    return (base, int(generation)) if base and generation.isdecimal() else (path, 1)


def logdir_of(path: str) -> str:
    """The logdir of an event file: its folder, empty for the run itself."""
    return path.removeprefix(f"{EVENTS}/").rpartition("/")[0]


def _safe(part: str) -> str:
    """A part that every store gives back unchanged. Not reversible: the row of the file says its source."""
    text = "".join(letter if _is_safe(letter) else _percent(letter) for letter in part)
    if text.endswith("."):  # Azure drops these
        text = f"{text[:-1]}%2E"
    if text.startswith(ASIDE_PREFIX):
        text = f"%2E{text[1:]}"
    if len(text.encode()) <= _LONGEST_PART:
        return text
    kept = text.encode()[: _LONGEST_PART - 13].decode("utf-8", "ignore")
    return f"{kept}~{_digest(part)[:12]}"


def _is_safe(letter: str) -> bool:
    return letter != "\\" and ord(letter) >= 32 and ord(letter) != 127 and not 0xD800 <= ord(letter) < 0xE000


def _percent(letter: str) -> str:
    return "".join(f"%{byte:02X}" for byte in letter.encode("utf-8", "surrogateescape"))


def _fitting(path: str) -> str:
    if len(path.encode()) <= _LONGEST_PATH:
        return path
    top, _, rest = path.partition("/")
    folder, _, name = rest.rpartition("/")
    return f"{top}/long-paths/{_digest(folder)[:16]}/{name}"


def _digest(text: str) -> str:
    return hashlib.sha256(os.fsencode(text)).hexdigest()
