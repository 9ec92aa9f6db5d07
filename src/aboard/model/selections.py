# SPDX-License-Identifier: Apache-2.0
"""Selections: which runs a person means, as a value that can be stored, compared and evaluated again.

Words are `run310, run341`, `run10-run20`, `exp7`, `ws1/base*`, `./logs` and `s3://bucket/path`; a filter may narrow
them. `run343` and `exp7` are always numbers; `name:run343` is the run or experiment with that name. Names hold no
comma, slash or wildcard (`aboard.model.names`), so each word has one meaning. A comma ends a word, also in the name of
a folder. A word that begins with `/`, `./`, `../` or `~`, ends with a slash or holds `://` is a folder. `str()` of an
entry is a word that means this entry.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from enum import StrEnum
from typing import TypeAlias

from aboard.errors import InvalidValue, QueryError
from aboard.model.names import check_workspace_name, folded, is_uid
from aboard.model.query.parser import parse_query
from aboard.model.query.tree import LikePattern, query_text
from aboard.model.states import RunState

MOST_RUNS = 200_000
"""A selection of more is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedRun:
    """One of the runs that a selection means."""

    number: int
    uid: str
    name: str
    workspace: str
    status: RunState
    experiment_number: int | None = None
    store: str = ""
    source_path: str | None = None
    """Of a run in a read-only source: its folder there."""


NUMBER_WORD = r"(?P<{0}>run|exp|job|)(?P<{1}>[1-9][0-9]{{0,17}})"
# Plain words that are numbers, ranges, folders or marked names already.
_NOT_A_NAME = re.compile(
    NUMBER_WORD.format("kind", "first")
    + rf"(\s*-\s*{NUMBER_WORD.format('other', 'last')})?"
    + r"|name:.*|~.*|-|\.|\.\.",
    re.IGNORECASE | re.ASCII | re.DOTALL,
)


class NumberKind(StrEnum):
    """What is numbered; the value stands before the number."""

    RUN = "run"
    EXPERIMENT = "exp"


@dataclass(frozen=True, slots=True)
class NumberRange:
    """`run343`, `exp7`, `run10-run20`: numbers from `first` to `last`, both included."""

    kind: NumberKind
    first: int
    last: int
    workspace: str = ""
    typed: str = field(default="", compare=False)
    """The typed word without its workspace, for errors and for experiments named like a number."""

    def __str__(self) -> str:
        last = "" if self.is_one else f"-{self.kind}{self.last}"
        return _within(self.workspace, f"{self.kind}{self.first}{last}")

    @property
    def is_one(self) -> bool:
        return self.first == self.last


@dataclass(frozen=True, slots=True)
class ExactName:
    """`base`, `ws1/base`, `name:run343`: the name of a run or an experiment, or a uid.

    `name:` marks a name that means something else as a plain word.
    """

    name: str
    workspace: str = ""

    def __str__(self) -> str:
        return _within(self.workspace, f"name:{self.name}" if _NOT_A_NAME.fullmatch(self.name) else self.name)


@dataclass(frozen=True, slots=True)
class NamePattern:
    """`ws1/base*`, `ws*/base`: runs whose name, or `run` and number, fits; `*` is any characters and `?` one.

    The workspace may be a pattern too.
    """

    pattern: str
    workspace: str = ""

    def __str__(self) -> str:
        return _within(self.workspace, self.pattern)

    @property
    def has_workspaces(self) -> bool:
        """Whether it is about all workspaces whose name fits."""
        return is_wild(self.workspace)

    def as_like(self) -> str:
        """The pattern as `like` of filters writes it."""
        return like_text(self.pattern)


@dataclass(frozen=True, slots=True)
class LogLocation:
    """`/logs/mine`, `s3://bucket/path`: a store, a run in it, or a folder of event files that no catalog knows."""

    uri: str

    def __str__(self) -> str:
        return self.uri


SelectionEntry: TypeAlias = NumberRange | ExactName | NamePattern | LogLocation


@dataclass(frozen=True, slots=True)
class Selection:
    """Entries, in the order in which they were typed and each once; of their runs those for which `where` holds.

    Without entries it is about all runs. `where` has the spelling of `aboard.model.query.tree`.
    """

    entries: tuple[SelectionEntry, ...] = ()
    where: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """The entries, as they would be typed."""
        return tuple(map(str, self.entries))

    @property
    def is_live(self) -> bool:
        """Whether runs that come later may join."""
        return not self.entries or any(map(_may_grow, self.entries))

    @property
    def key(self) -> str:
        """A word that is the same for selections which say the same, in whatever order."""
        said = [sorted(self.words), self.where]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()

    def with_entries(self, entries: list[SelectionEntry]) -> Selection:
        """The same with other entries, each once."""
        return replace(self, entries=tuple(dict.fromkeys(entries)))


def is_wild(text: str) -> bool:
    """Whether a name is a pattern."""
    return "*" in text or "?" in text


def like_text(pattern: str) -> str:
    """A pattern with `*` and `?` as `like` of filters writes it."""
    return re.sub(r"[\\%_]", r"\\\g<0>", pattern).replace("*", "%").replace("?", "_")


def _may_grow(entry: SelectionEntry) -> bool:
    match entry:
        case NumberRange(kind=NumberKind.RUN):
            return not entry.is_one
        case ExactName():
            return False  # until it is known whether it names an experiment
        case _:
            return True


def _within(workspace: str, text: str) -> str:
    return f"{workspace}/{text}" if workspace else text


SELECTION_HINT = "write run343, exp7, run310,run341, run10-run20, ws1/base*, a folder, or a filter with --where"
MOST_WORDS = 100_000
MOST_NAMES, MOST_PATTERNS = 10_000, 1_000
"""Run numbers are looked up together. Each name, and each pattern, range or folder, is a query of its own."""
_KINDS = {"run": NumberKind.RUN, "exp": NumberKind.EXPERIMENT, "job": NumberKind.EXPERIMENT}
_ONE = re.compile(NUMBER_WORD.format("kind", "number"), re.IGNORECASE | re.ASCII)
_RANGE = re.compile(
    NUMBER_WORD.format("kind", "first") + r"\s*-\s*" + NUMBER_WORD.format("other", "last"), re.IGNORECASE | re.ASCII
)
_MARKED = re.compile(r"name:\s*(?P<name>.*)", re.IGNORECASE | re.DOTALL)
_END = re.compile(r"[/\s]+\Z")


def parse_selection(
    words: Iterable[str],
    where: str = "",
    *,
    workspace: str = "",
    numbers: NumberKind = NumberKind.RUN,
    zone: tzinfo = UTC,
) -> Selection:
    """What was typed, as a selection.

    `workspace` is meant where a name or pattern has none, `numbers` where a number has no kind, and `zone` where a time
    in the filter has none.
    """
    texts = split_words(words)
    if len(texts) > MOST_WORDS:
        raise InvalidValue(f"{len(texts)} words are too many", hint=f"name at most {MOST_WORDS}, or use a filter")
    entries = [parse_word(text, workspace=workspace, numbers=numbers) for text in texts]
    if not entries and workspace:
        entries = [parse_word(f"{workspace}/*")]
    if not entries and not where.strip():
        raise InvalidValue("no run is named", hint=SELECTION_HINT)
    selection = Selection(where=_one_spelling(where, zone) if where.strip() else "").with_entries(entries)
    _refuse_costly(selection)
    return selection


def _refuse_costly(selection: Selection) -> None:
    names = sum(isinstance(one, ExactName) for one in selection.entries)
    patterns = sum(
        not (isinstance(one, ExactName) or (isinstance(one, NumberRange) and one.is_one)) for one in selection.entries
    )
    groups = sum(
        isinstance(one, NumberRange) and one.is_one and one.kind is not NumberKind.RUN for one in selection.entries
    )
    for count, most, what in (
        (patterns, MOST_PATTERNS, "patterns, ranges and folders"),
        (names + groups, MOST_NAMES, "names and experiments"),
    ):
        if count > most:
            hint = "Use a filter, or name runs by their numbers."
            raise InvalidValue(f"A selection has at most {most:,} {what}, and this one has {count:,}.", hint=hint)


def split_words(words: Iterable[str]) -> list[str]:
    """Words as a shell passes them, with commas anywhere, as one word for each entry."""
    return [part.strip() for word in words for part in word.split(",") if part.strip()]


def hint_for_nothing(word: str) -> str:
    """What to do about a word that selects no run."""
    entry = parse_word(word)
    if isinstance(entry, NumberRange) and not entry.is_one and entry.kind is NumberKind.RUN:
        return f"A range counts numbers. For names write name:run{entry.first} or a pattern as run{entry.first}*."
    return "`aboard runs list` shows what there is"


def is_folder(text: str) -> bool:
    """Whether a word names a folder or bucket and not something in the catalog."""
    return "://" in text or text.startswith(("/", "./", "../", "~")) or text.endswith("/") or text in {".", ".."}


def parse_word(text: str, *, workspace: str = "", numbers: NumberKind = NumberKind.RUN) -> SelectionEntry:
    """What one word means."""
    text = text.strip()
    if is_folder(text):
        return LogLocation(_folder(text))
    text = text.replace("\\", "/")
    if is_folder(text):
        return LogLocation(_folder(text))
    within, _, name = (part.strip() for part in text.rpartition("/"))
    if not name or name == "-":
        raise InvalidValue(f"{text!r} names no run", hint=SELECTION_HINT)
    marked = _MARKED.fullmatch(name)
    if marked and (is_wild(text) or not marked["name"]):
        hint = "Write name:run343 or ws1/name:run343 for one name, and ws1/base* for a pattern."
        raise InvalidValue(f"{text!r} does not have a name after `name:`.", hint=hint)
    if is_wild(within):
        return _like(name, _pattern(within))
    own = _workspace(within, text)
    usual = own or folded(check_workspace_name(workspace) if workspace else "")
    if marked:
        return _named(marked["name"], usual)
    if found := _RANGE.fullmatch(name):
        return _range(found, own, numbers)
    if found := _ONE.fullmatch(name):
        number = int(found["number"])
        return NumberRange(_KINDS.get(found["kind"].lower(), numbers), number, number, own, name)
    if is_wild(name):
        return _like(name, usual)
    return _named(name, usual)


def _named(name: str, workspace: str) -> ExactName:
    return ExactName(name.upper() if is_uid(name.upper()) else name, workspace)


def _workspace(within: str, text: str) -> str:
    try:
        return folded(check_workspace_name(within)) if within else ""
    except InvalidValue:
        if marked := _MARKED.fullmatch(within):
            hint = f"Write {marked['name']}/name:{text.rpartition('/')[2]}."
            raise InvalidValue(f"{text!r} has `name:` before the workspace.", hint=hint) from None
        hint = f"a run is named run343 or workspace/name, a folder ./{text}"
        raise InvalidValue(f"{text!r} is neither a run nor a folder", hint=hint) from None


def _range(found: re.Match[str], workspace: str, numbers: NumberKind) -> NumberRange:
    named = [_KINDS[kind.lower()] for kind in (found["kind"], found["other"]) if kind]
    if len(set(named)) > 1:
        problem = f"both ends of a range are of one kind: {named[0]} is not {named[1]} in {found[0]!r}"
        raise InvalidValue(problem, hint="write run10-run20 or exp1-exp3")
    kind, first, last = named[0] if named else numbers, int(found["first"]), int(found["last"])
    if first > last:
        raise InvalidValue(f"{found[0]!r} ends before it begins", hint=f"write {kind}{last}-{kind}{first}")
    return NumberRange(kind, first, last, workspace)


def _like(name: str, workspace: str) -> NamePattern:
    if _RANGE.fullmatch(name):
        raise InvalidValue(f"{name!r} is a range, which has no pattern before it", hint="write run10-run20 alone")
    return NamePattern(_pattern(name), workspace)


def _pattern(name: str) -> str:
    pattern = re.sub(r"\*+", "*", folded(name))
    try:
        LikePattern(like_text(pattern))
    except InvalidValue as error:
        problem = error.message.replace("%", "*")
        raise InvalidValue(f"{name[:60]!r} is no pattern: {problem}", hint="use a filter: --where") from None
    return pattern


def _folder(text: str) -> str:
    scheme, sign, rest = text.partition("://")
    if sign:
        return f"{scheme.lower()}://{_END.sub('', rest) or '/'}"
    path = posixpath.normpath(_END.sub("", text) or "/")
    path = path if is_folder(path) else f"./{path}"
    return path if path == text else _folder(path)  # what `..` leaves may end with a space


def _one_spelling(where: str, zone: tzinfo) -> str:
    query = parse_query(where, zone=zone)
    text = query_text(query)
    try:
        parse_query(text)
    except QueryError as error:
        # Written out it may have more conditions than a filter can have.
        raise InvalidValue(f"the filter is too long to be kept: {error.problem}", hint="shorten it") from None
    return text
