# SPDX-License-Identifier: Apache-2.0
"""Reads selections: `run310, run341`, `run10-run20`, `exp7`, `ws1/base*`, `./logs`, `s3://bucket/path`, and a filter.

`run343` and `exp7` are always numbers; `name:run343` is the run or experiment with that name. Names hold no comma,
slash or wildcard (`aboard.model.names`), so each of these has one meaning. A comma ends a word, also in the name of a
folder. What begins with `/`, `./`, `../` or `~`, ends with a slash or holds `://` is a folder.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from datetime import UTC, tzinfo

from aboard.errors import InvalidValue, QueryError
from aboard.model.names import check_workspace_name, folded
from aboard.model.query.like import LikePattern
from aboard.model.query.parser import parse_query
from aboard.model.query.text import query_text
from aboard.model.selection import (
    NUMBER_WORD,
    Entry,
    Folder,
    Named,
    NamedLike,
    NumberKind,
    Numbers,
    Selection,
    is_wild,
    like_text,
)
from aboard.model.uid import is_uid

HOW = "write run343, exp7, run310,run341, run10-run20, ws1/base*, a folder, or a filter with --where"
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
        raise InvalidValue("no run is named", hint=HOW)
    selection = Selection(where=_one_spelling(where, zone) if where.strip() else "").with_entries(entries)
    _refuse_costly(selection)
    return selection


def _refuse_costly(selection: Selection) -> None:
    names = sum(isinstance(one, Named) for one in selection.entries)
    patterns = sum(
        not (isinstance(one, Named) or (isinstance(one, Numbers) and one.is_one)) for one in selection.entries
    )
    groups = sum(
        isinstance(one, Numbers) and one.is_one and one.kind is not NumberKind.RUN for one in selection.entries
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
    if isinstance(entry, Numbers) and not entry.is_one and entry.kind is NumberKind.RUN:
        return f"A range counts numbers. For names write name:run{entry.first} or a pattern as run{entry.first}*."
    return "`aboard runs list` shows what there is"


def is_folder(text: str) -> bool:
    """Whether a word names a folder or bucket and not something in the catalog."""
    return "://" in text or text.startswith(("/", "./", "../", "~")) or text.endswith("/") or text in {".", ".."}


def parse_word(text: str, *, workspace: str = "", numbers: NumberKind = NumberKind.RUN) -> Entry:
    """What one word means."""
    text = text.strip()
    if is_folder(text):
        return Folder(_folder(text))
    text = text.replace("\\", "/")
    if is_folder(text):
        return Folder(_folder(text))
    within, _, name = (part.strip() for part in text.rpartition("/"))
    if not name or name == "-":
        raise InvalidValue(f"{text!r} names no run", hint=HOW)
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
        return Numbers(_KINDS.get(found["kind"].lower(), numbers), number, number, own, name)
    if is_wild(name):
        return _like(name, usual)
    return _named(name, usual)


def _named(name: str, workspace: str) -> Named:
    return Named(name.upper() if is_uid(name.upper()) else name, workspace)


def _workspace(within: str, text: str) -> str:
    try:
        return folded(check_workspace_name(within)) if within else ""
    except InvalidValue:
        if marked := _MARKED.fullmatch(within):
            hint = f"Write {marked['name']}/name:{text.rpartition('/')[2]}."
            raise InvalidValue(f"{text!r} has `name:` before the workspace.", hint=hint) from None
        hint = f"a run is named run343 or workspace/name, a folder ./{text}"
        raise InvalidValue(f"{text!r} is neither a run nor a folder", hint=hint) from None


def _range(found: re.Match[str], workspace: str, numbers: NumberKind) -> Numbers:
    named = [_KINDS[kind.lower()] for kind in (found["kind"], found["other"]) if kind]
    if len(set(named)) > 1:
        problem = f"both ends of a range are of one kind: {named[0]} is not {named[1]} in {found[0]!r}"
        raise InvalidValue(problem, hint="write run10-run20 or exp1-exp3")
    kind, first, last = named[0] if named else numbers, int(found["first"]), int(found["last"])
    if first > last:
        raise InvalidValue(f"{found[0]!r} ends before it begins", hint=f"write {kind}{last}-{kind}{first}")
    return Numbers(kind, first, last, workspace)


def _like(name: str, workspace: str) -> NamedLike:
    if _RANGE.fullmatch(name):
        raise InvalidValue(f"{name!r} is a range, which has no pattern before it", hint="write run10-run20 alone")
    return NamedLike(_pattern(name), workspace)


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
