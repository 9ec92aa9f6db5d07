# SPDX-License-Identifier: Apache-2.0
"""What the doctor can find: each kind with a stable code, how bad it is and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final


class Severity(StrEnum):
    """How bad a finding is; the worst first."""

    ERROR = "error"  # data is damaged or cannot be read
    WARNING = "warning"  # all is readable, but perhaps not what the person meant
    INFORMATION = "information"


@dataclass(frozen=True, slots=True)
class FindingKind:
    """A kind of finding: how bad it is, and what to do about it."""

    severity: Severity
    meaning: str
    advice: str


_REPAIR = "write a clean copy with --repair OUT; what is damaged cannot be brought back"
_E, _W, _I = Severity.ERROR, Severity.WARNING, Severity.INFORMATION

KINDS: Final[Mapping[str, FindingKind]] = {
    "bad-payload": FindingKind(_E, "The content of a record does not match its checksum.", _REPAIR),
    "bad-header": FindingKind(_E, "Bytes that are no record; reading goes on at the next valid one.", _REPAIR),
    "no-event": FindingKind(_E, "A record has the right checksums, but its content is no event.", _REPAIR),
    "record-too-long": FindingKind(_E, "A record is longer than aboard reads (512 MiB).", _REPAIR),
    "truncated": FindingKind(
        _E, "The last record was cut off, and the file was not written for ten minutes or more.", _REPAIR
    ),
    "no-events": FindingKind(
        _E,
        "The name says event file, but nothing in the file is an event.",
        "fetch the file again from where it was written, or move it away",
    ),
    "unreadable-file": FindingKind(_E, "An event file cannot be read.", "give yourself permission, or check the disk"),
    "unreadable-folder": FindingKind(_E, "A folder cannot be listed.", "give yourself permission, or check the disk"),
    "empty-file": FindingKind(_W, "An event file has no bytes.", "delete it if nothing writes to it any more"),
    "not-a-file": FindingKind(_W, "The name says event file, but it is a pipe, a socket or a device.", "move it away"),
    "broken-link": FindingKind(
        _W, "A link with the name of an event file leads nowhere.", "delete or correct the link"
    ),
    "link-loop": FindingKind(_W, "Links lead back to a folder above, or to themselves.", "delete or correct the link"),
    "many-ways": FindingKind(
        _W, "Links make one folder appear in more than 64 places; only the first are looked at.", "delete links"
    ),
    "bad-value": FindingKind(
        _W,
        "A value inside an event cannot be decoded; the rest of the event is read.",
        "look for a newer version of what wrote it; stock TensorBoard may stop at such an event",
    ),
    "steps-back": FindingKind(
        _W,
        "The steps of a tag go back within a file, and no restart was announced.",
        "give each start of a run a new SummaryWriter (or purge_step), and each process a folder of its own",
    ),
    "two-kinds": FindingKind(
        _W,
        "One tag holds two kinds of data; boards show only the kind that was logged first.",
        "log each kind under a tag of its own",
    ),
    "hidden-points": FindingKind(
        _W,
        "A later, shorter training in the same folder supersedes points of an earlier one.",
        "give each training a folder of its own; `aboard.open(…)` has the hidden points in `.superseded`",
    ),
    "clock-back": FindingKind(
        _W,
        "Wall times go back by more than a second within a file.",
        "check the machine's clock, and explicit wall times",
    ),
    "clock-ahead": FindingKind(
        _W,
        "More than a day lies between two records that follow each other.",
        "check the machine's clock, and explicit wall times",
    ),
    "no-wall-time": FindingKind(_W, "The wall time of an event is NaN or infinite.", "check explicit wall times"),
    "overlapping-writers": FindingKind(
        _W,
        "Several files in one folder were written at the same time; a board merges their points by step.",
        "if these are different runs or ranks, give each a folder of its own",
    ),
    "duplicate-run": FindingKind(
        _W, "Two or more folders have the same event files.", "keep one; a board shows the run under every name"
    ),
    "duplicate-file": FindingKind(
        _W, "Two or more event files have the same content.", "keep one; a board shows the points twice"
    ),
    "unfinished": FindingKind(
        _I,
        "The last record is not whole, or there is none yet, and the file was written within ten minutes.",
        "look again when the run has ended",
    ),
    "restarts": FindingKind(
        _I,
        "Files that follow each other in time: attempts of one run.",
        "nothing to do: later attempts take over from their first step on",
    ),
    "session-restarts": FindingKind(
        _I,
        "A session started again within a file (SessionLog.START).",
        "nothing to do: later points take over from that step on",
    ),
    "no-file-version": FindingKind(
        _I, "A file does not begin with the version of its format.", "nothing to do: it is read all the same"
    ),
    "non-finite-values": FindingKind(_I, "Scalars that are NaN or infinite.", "look at what the run computed"),
    "tags-not-followed": FindingKind(
        _I, "A file has more tags than steps are compared for (1,048,576).", "look at what makes the tags' names"
    ),
    "folder-without-events": FindingKind(
        _I, "Neither in a folder nor below it there is an event file.", "nothing to do, unless runs should be there"
    ),
}


@dataclass(frozen=True, slots=True)
class Finding:
    code: str
    path: str
    message: str
    byte: int | None = None  # where it begins in the file
    end: int | None = None  # the byte behind it
    details: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def severity(self) -> Severity:
        return KINDS[self.code].severity

    @property
    def advice(self) -> str:
        return KINDS[self.code].advice
