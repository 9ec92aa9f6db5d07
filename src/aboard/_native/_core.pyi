# SPDX-License-Identifier: Apache-2.0
# Written by `make stub` from native/bind.
"""The native core of aboard; see native/core for what each part promises."""

from typing import Annotated, SupportsFloat, SupportsIndex, overload

import numpy
import numpy.typing
from numpy.typing import NDArray

is_debug_build: bool

crc32c_implementation: str

def masked_crc32c(data: bytes) -> int: ...
def frame_record(payload: bytes) -> bytes: ...
def scalars_in_records(data: bytes) -> tuple[list[tuple[str, float, int, float]], int]:
    """Every simple_value in whole records as (tag, wall_time, step, value), and the bytes that these records take."""

def hop_records(data: bytes) -> tuple[int, int, int]:
    """Place and length of the first record that is not all in `data`, and the longest before; -1: not known."""

def record_boundary(file: int, start: int, limit: int, size: int) -> tuple[int, bool]:
    """Where an open event file can be cut behind `start`, and whether damage follows."""

class Message:
    """A protobuf message under construction: each call appends one field."""

    def __init__(self) -> None: ...
    def varint(self, field: int, value: SupportsIndex, /) -> None: ...
    def float(self, field: int, value: SupportsFloat, /) -> None: ...
    def double(self, field: int, value: SupportsFloat, /) -> None: ...
    def string(self, field: int, value: str, /) -> None: ...
    def bytes(self, field: int, value: bytes, /) -> None: ...
    def message(self, field: int, value: Message, /) -> None: ...
    def packed_doubles(self, field: int, values: numpy.typing.NDArray[numpy.float64], /) -> None: ...
    def packed_floats(self, field: int, values: numpy.typing.NDArray[numpy.float32], /) -> None: ...
    def packed_varints(self, field: int, values: list[int], /) -> None: ...
    def __bytes__(self) -> bytes: ...
    def __len__(self) -> int: ...

def default_histogram_edges() -> list[float]: ...

class EventLog:
    """An append-only event file fed from any thread; each adding method returns whether a report waits."""

    def __init__(
        self,
        directory: bytes,
        host: str,
        suffix: str = "",
        purge_step: int | None = None,
        flush_seconds: float = 0.5,
        wake_entries: int = 0,
    ) -> None: ...
    def try_scalar(self, tag: object, value: object, step: object, wall_time: object, /) -> int:
        """Add a scalar of plain types: 0 done, 1 done and a report waits, 2 not taken (conversion needed)."""

    def add_scalar(self, tag: str, value: float, step: int, wall_time: float, /) -> bool: ...
    def add_summary(self, summary: bytes, step: int, wall_time: float, /) -> bool: ...
    def add_event(self, event: bytes, /) -> bool: ...
    @overload
    def add_histogram(
        self, tag: str, values: numpy.typing.NDArray[numpy.float32], step: int, wall_time: float, /
    ) -> bool: ...
    @overload
    def add_histogram(
        self, tag: str, values: numpy.typing.NDArray[numpy.float64], step: int, wall_time: float, /
    ) -> bool: ...
    def flush(self) -> bool: ...
    def close(self) -> bool: ...
    def take_report(self) -> tuple[bool, str] | None:
        """The oldest report not yet taken: whether data is delayed or lost, and what happened."""

    def add_report(self, failure: bool, text: str, /) -> None: ...
    @property
    def paths(self) -> list[bytes]:
        """Paths of the files that this process wrote for this log, the current one last."""

def close_all_logs() -> None: ...
def set_memory_limit(bytes: int, /) -> None: ...
def memory_limit() -> int: ...

class Points:
    """Scalar points as columns, unchanged for as long as they are held."""

    @property
    def steps(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...
    @property
    def wall_times(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...
    @property
    def values(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...
    def __len__(self) -> int: ...
    def reduced(self, budget: int, /) -> Points:
        """At most `budget` points that keep first, last, smallest, largest and NaN of every bucket."""

    def reduced_with_means(
        self, budget: int, /
    ) -> tuple[Points, numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64]]:
        """The same, and for each of them the mean of the finite values since the one before, and how many these are."""

    def window(self, first: int, last: int, /) -> Points:
        """The points with steps in [first, last] and one more on either side; steps must be ascending."""

    def ascending(self) -> list[Points]:
        """Parts whose steps ascend, in their order: points of several attempts go back to an earlier step."""

    def json(self, objects: bool, /) -> bytes: ...

class TagStatus:
    """How far a tag has come: shown and superseded points, and the last one."""

    @property
    def points(self) -> int: ...
    @property
    def superseded(self) -> int: ...
    @property
    def last_step(self) -> int: ...
    @property
    def last_wall_time(self) -> float: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __repr__(self) -> str: ...

class TagStatuses:
    """How far all tags have come, by number."""

    def __len__(self) -> int: ...
    def __getitem__(self, tag: int, /) -> TagStatus: ...
    @property
    def points(self) -> int:
        """Of all tags together, superseded ones too."""

    @property
    def newest_wall_time(self) -> float | None:
        """None where no tag has a finite one."""

class TagInfo:
    """A tag as its first value was."""

    def __init__(self, name: str, source: int, kind: int, metadata: bytes, /) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def source(self) -> int: ...
    @property
    def kind(self) -> int: ...
    @property
    def present(self) -> bool:
        """False: it was there before the logdir was read again, and keeps its number."""

    def meaning(self) -> tuple[str, bytes, str, str, int]:
        """Plugin, content, display name, description and data class."""

class TagEntry:
    """Where a value that is not a number lies in the logdir's files."""

    @property
    def step(self) -> int: ...
    @property
    def wall_time(self) -> float: ...
    @property
    def offset(self) -> int:
        """Of the record's payload in its file."""

    @property
    def length(self) -> int: ...
    @property
    def file(self) -> int:
        """The place of the file in `Logdir.files`."""

    @property
    def value_index(self) -> int:
        """Which value of the summary."""

class FileStatus:
    """How far reading a file came, and what in it is damaged."""

    @property
    def name(self) -> bytes: ...
    @property
    def bytes_read(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def records(self) -> int: ...
    @property
    def bad_records(self) -> int:
        """Skipped: they do not match their checksum, or are no event."""

    @property
    def skipped_bytes(self) -> int:
        """Between damaged places and the next valid record."""

    @property
    def first_damage(self) -> int:
        """0 when there is none."""

    @property
    def error(self) -> int:
        """The number of the system's error; 0 when it can be read."""

    @property
    def first_wall_time(self) -> float:
        """Of the first event; infinite when there is none."""

    @property
    def last_wall_time(self) -> float:
        """The latest; minus infinity when there is none."""

    @property
    def attempt(self) -> int:
        """Which start of the training process wrote it, from 0 on."""

class Logdir:
    """A folder with event files, decoded and followed; see native/core/logdir.hpp."""

    def __init__(
        self, path: bytes, index: bytes = ..., packed: tuple[bytes, int, int] | None = None, within: bytes | None = None
    ) -> None:
        """Begins from the index file; without one from the packed form, a part of a file, if that is named.

        `within` is a folder at or above `path`; no symbolic link below it is followed.
        """

    def refresh(self, names: list[bytes], /) -> bool:
        """Read what is new in its event files. Whether anything changed."""

    def set_absent(self, parts: list[tuple[bytes, int, list[int]]], /) -> None:
        """Say of which files something is not on this machine now, where that ends (0: nowhere), and which records are
        hollow: large ones, whose inner parts are not here and not needed to read the others.
        """

    @property
    def wants_absent(self) -> bool:
        """Whether the last refresh did nothing, because it would have had to read such a part."""

    def save_index(self) -> int:
        """Keep what was decoded in the index file; 0 or the number of the system's error."""

    def pack(self) -> bytes | None:
        """What was decoded, in a form that travels; None when that cannot be said now."""

    @property
    def unsaved_bytes(self) -> int:
        """Bytes of event files whose points are not in the index."""

    @property
    def saved_bytes(self) -> int:
        """And those whose points are."""

    @property
    def path(self) -> bytes: ...
    @property
    def version(self) -> int: ...
    @property
    def generation(self) -> int: ...
    @property
    def bytes_read(self) -> int: ...
    @property
    def first_wall_time(self) -> float | None: ...
    def tags(self, first: int, /) -> list[TagInfo]:
        """The tags from number `first` on."""

    def other_kinds(self) -> dict[int, int]:
        """The numbers of tags under which another kind of data was logged as well, which is left out, and its kind."""

    def statuses(self) -> TagStatuses: ...
    def status(self, tag: int, /) -> TagStatus:
        """Zeros when there is no such tag."""

    def scalars(self, tag: int, unique: bool, /) -> Points:
        """All points; with `unique` in the order of their steps, the newest of each."""

    def superseded(self, tag: int, /) -> Points: ...
    def media(self, tag: int, /) -> list[TagEntry]: ...
    def read_media(self, tag: int, entry: TagEntry, /) -> bytes | None:
        """The content of an entry; None when its file has changed."""

    def files(self) -> list[FileStatus]:
        """In the order of their history."""

    def summary(self) -> tuple[int, float, bool]:
        """Of all files: bytes read, latest wall time (0 when there is none), whether some could not be read."""

class ScalarPoint:
    @property
    def step(self) -> int: ...
    @property
    def wall_time(self) -> float: ...
    @property
    def value(self) -> float: ...

class TagSummary:
    """The summary of a scalar tag, over the newest point of each step, ascending by step.

    NaN is a first or last value like others, but never the smallest or largest; of equal values the earlier counts.
    """

    @property
    def tag(self) -> str: ...
    @property
    def count(self) -> int:
        """All points, also those of a step that was logged again later."""

    @property
    def first(self) -> ScalarPoint: ...
    @property
    def last(self) -> ScalarPoint: ...
    @property
    def smallest(self) -> ScalarPoint | None:
        """None when every value is NaN."""

    @property
    def largest(self) -> ScalarPoint | None: ...

def scalar_summaries(logdirs: list[Logdir], threads: int = 1) -> list[list[TagSummary]]:
    """For each logdir the summaries of its scalar tags with points, in the order in which the tags were first seen.

    Computes without the GIL, and needs no numpy.
    """

def refresh_logdirs(work: list[tuple[Logdir, list[bytes]]], threads: int, /) -> int:
    """Refresh each logdir with the names of its files. How many changed."""

def give_back_memory() -> None:
    """Give memory that was freed back to the system, which the C library would keep for later."""

def punch_hole(file: int, begin: int, end: int) -> int:
    """Give disk space back; 0 or the number of the system's error."""

def is_event_file(path: bytes, /) -> bool: ...
def segment_of(path: bytes, /) -> tuple[bytes, int] | None:
    """The event file that `<event file>.<8 digits>` is a segment of, and its number; None for other names."""

class FoundLogdir:
    """A folder with event files that was not known before."""

    @property
    def id(self) -> int: ...
    @property
    def root(self) -> int:
        """The number of the root that it is below."""

    @property
    def name(self) -> bytes:
        """Relative to the root, which is "."."""

    @property
    def path(self) -> bytes: ...

class UnreadLogdir:
    """A logdir that may have something new."""

    @property
    def id(self) -> int: ...
    @property
    def files(self) -> list[bytes]: ...
    @property
    def bytes(self) -> int:
        """Of all its files."""

class LogTree:
    """The logdirs below some roots, found and followed; see native/core/log_tree.hpp."""

    def __init__(
        self,
        roots: list[bytes],
        notifications: bool = True,
        most_watches: int | None = None,
        within: bytes | None = None,
    ) -> None:
        """`within` is a folder at or above all roots; no symbolic link below it is followed."""

    def look(self) -> None:
        """Request a look at everything."""

    @property
    def is_looking(self) -> bool:
        """Whether some of it is still to be done."""

    def take(self, seconds: float, /) -> tuple[list[int], list[FoundLogdir], list[UnreadLogdir]]:
        """Look for so long at the most. The ids of logdirs that are gone, those found, and those to be read."""

    def watch(self) -> None:
        """Use notifications from now on, where the kernel has them; includes a look at everything."""

    def wait(self, pause: float, longest: float, /) -> bool:
        """Wait until there is something to take, looking every `pause` seconds; False when there is not."""

    def wake(self) -> None:
        """End a wait, or the next one."""

    def look_again(self, id: int, /) -> None:
        """Hand out a logdir again after a while, and with every complete look: it could not all be read."""

    @property
    def counts(self) -> tuple[int, int]:
        """Folders, and those that the kernel watches."""

class StepFall:
    """A tag whose steps go back."""

    @property
    def tag(self) -> str: ...
    @property
    def offset(self) -> int:
        """Of the first record that goes back."""

    @property
    def from_step(self) -> int: ...
    @property
    def to_step(self) -> int: ...
    @property
    def count(self) -> int:
        """How often in all."""

class KindClash:
    """A tag with two kinds of data, as field numbers of Summary.Value."""

    @property
    def tag(self) -> str: ...
    @property
    def offset(self) -> int:
        """Of the first record of the second kind."""

    @property
    def first_kind(self) -> int: ...
    @property
    def second_kind(self) -> int: ...

class FileReport:
    """What an inspection found; see native/core/inspection.hpp. Offsets are those of records."""

    @property
    def error(self) -> int: ...
    @property
    def copy_error(self) -> int: ...
    @property
    def cancelled(self) -> bool: ...
    @property
    def size(self) -> int: ...
    @property
    def read_to(self) -> int: ...
    @property
    def records(self) -> int: ...
    @property
    def copied_bytes(self) -> int: ...
    def damage(self, kind: int, /) -> tuple[int, int, list[tuple[int, int]]]:
        """How many places, their bytes and the first (begin, end) of a kind: payload, no event, too long, header."""

    @property
    def tail(self) -> tuple[int, int, int | None] | None:
        """Offset and bytes of a record that was cut off, and how many bytes it lacks if that is known."""

    @property
    def begins_with_version(self) -> bool: ...
    @property
    def first_wall_time(self) -> float: ...
    @property
    def last_wall_time(self) -> float: ...
    @property
    def lowest_step(self) -> int | None: ...
    @property
    def highest_step(self) -> int | None: ...
    @property
    def restarts(self) -> int: ...
    @property
    def step_falls(self) -> list[StepFall]:
        """Of the first tags."""

    @property
    def total_step_falls(self) -> int: ...
    @property
    def fallen_tags(self) -> int: ...
    @property
    def kind_clashes(self) -> list[KindClash]: ...
    @property
    def clashing_tags(self) -> int: ...
    @property
    def tags(self) -> int: ...
    @property
    def all_tags_followed(self) -> bool: ...
    @property
    def clock_back(self) -> tuple[int, list[tuple[int, float, float]]]:
        """How often, and the first (offset, from, to)."""

    @property
    def clock_ahead(self) -> tuple[int, list[tuple[int, float, float]]]: ...
    @property
    def events_without_time(self) -> int: ...
    @property
    def first_without_time(self) -> int: ...
    @property
    def nan_values(self) -> int: ...
    @property
    def infinite_values(self) -> int: ...
    @property
    def bad_values(self) -> int: ...
    @property
    def first_bad_value(self) -> int: ...

class Inspection:
    """Reads one event file from beginning to end, checks it, and copies its whole records if asked to."""

    def __init__(self, path: bytes, most_places: int) -> None: ...
    def run(self, copy_to: int = -1) -> FileReport: ...
    def cancel(self) -> None: ...
    @property
    def bytes_read(self) -> int: ...

class TensorFields:
    """The fields of a TensorProto."""

    @property
    def dtype(self) -> int: ...
    @property
    def shape(self) -> list[int]: ...
    @property
    def content(self) -> bytes:
        """All elements as raw bytes, when present."""

    @property
    def packed(self) -> list[bytes]:
        """Elements of the typed field that arrived packed."""

    @property
    def scalars(self) -> bytes:
        """Those that arrived one by one, eight bytes each."""

    @property
    def strings(self) -> list[bytes]:
        """The elements of a tensor of strings."""

    @property
    def values_field(self) -> int:
        """The number of the typed field."""

def decode_metadata(message: bytes, /) -> tuple[str, bytes, str, str, int]:
    """Plugin name, plugin content, display name, description and data class of a SummaryMetadata."""

def decode_value(message: bytes, /) -> tuple[int, bytes, float] | None:
    """Kind (the field number of its content), content message and simple_value of a Summary.Value."""

def decode_tensor(message: bytes, /) -> TensorFields | None:
    """None when the message is damaged."""

def decode_fields(message: bytes, /) -> list[tuple[int, int, int | bytes]] | None:
    """Every field of any message as (number, wire type, raw bits or bytes); None when it is damaged."""

class TagRow:
    """A tag of a logdir, and what it is to TensorBoard."""

    @property
    def number(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def source(self) -> int: ...
    @property
    def kind(self) -> int: ...
    @property
    def plugin(self) -> str: ...
    @property
    def content(self) -> bytes: ...
    @property
    def display_name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def data_class(self) -> int: ...
    @property
    def status(self) -> TagStatus: ...

class TagIndex:
    """The tags of a logdir by plugin and name; see native/core/tag_index.hpp."""

    def __init__(self, logdir: Logdir) -> None: ...
    def __len__(self) -> int: ...
    def find(self, plugin: str, name: str, /) -> TagRow | None: ...

def tags_with_points(indexes: list[TagIndex], plugin: str, data_class: int, /) -> list[tuple[int, list[TagRow]]]:
    """(number of the index, its tags that have points, in the order in which they were first seen), if any."""

def described_tags(indexes: list[TagIndex], plugin: str, data_class: int, /) -> list[tuple[int, str, str]]:
    """(number of the index, tag, description) of each tag that has points and a description."""

def plugins_of(indexes: list[TagIndex], /) -> set[str]:
    """The plugins that any of them has tags of."""

def stamp_of(runs: list[tuple[bytes, TagIndex]], /) -> int:
    """A number that changes when runs come, go, get another name or anything new to show."""

def names_json(runs: list[tuple[bytes, TagIndex]], plugin: str, data_class: int, /) -> bytes:
    """{"run": ["tag", …]}, where runs have JSON strings as names."""

def display_names_json(
    runs: list[tuple[bytes, TagIndex]], plugin: str, data_class: int, html: dict[str, bytes], /
) -> bytes:
    """{"run": {"tag": {"displayName": …, "description": …}}}; `html` has descriptions as JSON strings."""

def points_json(
    runs: list[tuple[bytes, TagIndex]], begin: int, plugin: str, tag: str, budget: int, objects: bool, enough: int, /
) -> tuple[bytes, int]:
    """Entries "run": points, as in `Points.json`, from run `begin` on until there are `enough` bytes; the next run."""
