# SPDX-License-Identifier: Apache-2.0
"""Masks secrets in captured text: values of variables and options with secret names, passwords in addresses, keys."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from aboard.model.names import is_secret_name

MASK = "********"
_SHORTEST = 6  # shorter values are words such as `true`, and masking them everywhere would say what they are
_LONGEST = 16 << 10
# The user information of an address ends at the last @ before the path. A password may hold a slash that nobody
# escaped; digits before the first slash are a port.
_ADDRESS = (
    r"(?<=://)(?:[^\s/@:\"<>]{0,256}:[^\s/\"<>]{1,1024}|[^\s/@:\"<>]{16,1024}"
    r"|[^\s/@:\"<>]{0,256}:(?!\d{1,5}[/?#])[^\s@\"<>]{1,1024})(?=@)"
)
# What is searched for, and how it begins: looking for the beginning is a hundred times as fast as the expression.
_SHAPES = (
    ("://", _ADDRESS),
    *((f"gh{kind}_", rf"gh{kind}_[A-Za-z0-9]{{36,}}") for kind in "pousr"),
    ("github_pat_", r"github_pat_[A-Za-z0-9_]{40,}"),
    ("glpat-", r"glpat-[A-Za-z0-9_-]{20,}"),
    ("hf_", r"(?<![A-Za-z0-9])hf_[A-Za-z0-9]{30,}"),
    ("sk-", r"(?<![A-Za-z0-9])sk-[A-Za-z0-9_-]{20,}"),
    ("sk_live_", r"sk_live_[A-Za-z0-9]{16,}"),
    ("AKIA", r"(?<![A-Za-z0-9])AKIA[0-9A-Z]{16}"),
    ("ASIA", r"(?<![A-Za-z0-9])ASIA[0-9A-Z]{16}"),
    ("AIza", r"(?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{35}"),
    ("xox", r"xox[abeprs]-[A-Za-z0-9-]{10,}"),
    ("npm_", r"npm_[A-Za-z0-9]{36}"),
    ("dckr_pat_", r"dckr_pat_[A-Za-z0-9_-]{20,}"),
    ("aboard_", r"aboard_[0-9a-f]{16}_[A-Za-z0-9_-]{43}"),
    ("eyJ", r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    ("AccountKey=", r"(?<=AccountKey=)[A-Za-z0-9+/]{40,}=*"),
    ("SharedAccessKey=", r"(?<=SharedAccessKey=)[A-Za-z0-9+/]{40,}=*"),
)
_QUERY = r"(?P<before>[?&](?P<name>[A-Za-z0-9_.-]{1,64})=)(?P<value>[^\s&#\"'<>]+)"
_IN_TEXT = tuple((begin, re.compile(shape)) for begin, shape in _SHAPES)
_IN_BYTES = tuple((begin.encode(), re.compile(shape.encode())) for begin, shape in _SHAPES)
_QUERY_IN_TEXT, _QUERY_IN_BYTES = re.compile(_QUERY), re.compile(_QUERY.encode())
_OPTION = re.compile(r"--?(?P<name>[A-Za-z0-9][A-Za-z0-9_.-]*)(?:=(?P<value>.*))?", re.S)
_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_.-]*)=(?P<value>.+)", re.S)
_WORD = re.compile(rb"[A-Za-z0-9]")
_NUMBERS_TOO = re.compile(r"PASS|PWD|SECRET", re.I)
# In a diff: a quoted value wherever it is given a name; a bare one only where it is the whole line, because
# `key=lambda run: run.name` is code that a reader of the diff needs. Diffs have minified files and long rows of digits
# in them, so nothing here is tried twice: quantifiers are possessive, and the length of names is limited.
_QUOTED_VALUE = re.compile(
    r"""(?<!\w)(?P<name>\w[\w.-]{0,127}+)(?P<between>["']?+\s*+[:=]\s*+)"""
    r"""(?P<quote>["'])(?P<value>(?:\\.|(?!(?P=quote))[^\\\n])++)(?P=quote)"""
)
_BARE_LINE = re.compile(
    r"^(?P<before>[-+ ][-+ \t]*+(?:(?:export|set|ENV|ARG)[ \t]++)?)(?P<name>[A-Za-z_][\w.-]*+)"
    r"(?:=(?P<value>[^\s=\"'(\[{][^\"'(\[{\n]*+)|:[ \t]++(?P<yaml>(?=\S*\d)[^\s\"'(\[{]{8,}+)[ \t]*+)$",
    re.M,
)


class Secrets:
    """What must not be seen in anything that is captured."""

    def __init__(self, values: Iterable[str]) -> None:
        lines = {line.strip() for value in values for line in value.splitlines()}
        kept = sorted((line for line in lines if _SHORTEST <= len(line) <= _LONGEST), key=len, reverse=True)
        self.values = tuple(kept)
        self._texts = re.compile("|".join(map(re.escape, kept))) if kept else None

    @classmethod
    def of(cls, environ: Mapping[str, str], command: Sequence[str]) -> Secrets:
        """Those of an environment and a command line."""
        return cls(
            [
                *(part for name, value in environ.items() if is_secret_name(name) for part in _with_parts(value)),
                *(one for text in (*environ.values(), *command) for one in _passwords_in_addresses(text)),
                *_secret_arguments(command),
            ]
        )

    def mask(self, text: str) -> str:
        if self._texts is not None:
            text = self._texts.sub(MASK, text)
        for begin, shape in _IN_TEXT:
            if begin in text:
                text = shape.sub(MASK, text)
        if "://" in text:
            text = _QUERY_IN_TEXT.sub(_masked_query, text)
        return text

    def mask_diff(self, text: str) -> str:
        """A diff without secrets, also without those that its lines assign to a secret name."""
        text = _QUOTED_VALUE.sub(_masked_quoted, text)
        return self.mask(_BARE_LINE.sub(_masked_bare, text))

    def mask_value(self, name: str, value: object) -> object:
        """A value without secrets, whatever it is; wholly masked when its name says so."""
        if isinstance(value, Mapping):
            inner = cast("Mapping[object, object]", value)
            return {self.mask(str(key)): self.mask_value(str(key), one) for key, one in inner.items()}
        if isinstance(value, (list, tuple)):
            return [self.mask_value(name, one) for one in cast("list[object]", value)]
        if isinstance(value, str) and value:
            return MASK if is_secret_name(name) else self.mask(value)
        # Most numbers with such names are sizes, such as `tokens`; a password of digits is one nonetheless.
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return MASK if is_number and _NUMBERS_TOO.search(name) and is_secret_name(name) else value

    def mask_command(self, command: Sequence[str]) -> list[str]:
        found = _secret_arguments(command)
        own = Secrets([*self.values, *found])
        hidden = set(found)  # also those that are too short to be masked elsewhere
        return [own.mask(_masked_part(part, hidden)) for part in command]


def _masked_part(part: str, hidden: set[str]) -> str:
    if part in hidden:
        return MASK
    name, separator, value = part.partition("=")
    if separator and value in hidden:
        return f"{name}={MASK}"
    if _is_shell_text(part):
        for one in hidden:  # short ones only as whole words
            part = re.sub(rf"(?<![^\s='\"]){re.escape(one)}(?![^\s'\";&|)])", MASK, part)
    return part


def _masked_query(found: re.Match[str]) -> str:
    return found["before"] + MASK if is_secret_name(found["name"]) else found[0]


def _masked_quoted(found: re.Match[str]) -> str:
    # `{"key": "loss"}` names an entry of a mapping far more often than a secret.
    if found["name"].lower() == "key" or not is_secret_name(found["name"]):
        return found[0]
    return f"{found['name']}{found['between']}{found['quote']}{MASK}{found['quote']}"


def _masked_bare(found: re.Match[str]) -> str:
    if not is_secret_name(found["name"]):
        return found[0]
    return f"{found['before']}{found['name']}{'=' if found['value'] else ': '}{MASK}"


def _secret_arguments(command: Sequence[str]) -> list[str]:
    """Values of `--api-key VALUE`, `--api-key=VALUE` and `API_KEY=VALUE`, also within `sh -c` texts."""
    found: list[str] = []
    for place, part in enumerate(command):
        option = _OPTION.fullmatch(part)
        if option and is_secret_name(option["name"]):
            if option["value"] is not None:
                found += _with_parts(option["value"])
            elif place + 1 < len(command) and not command[place + 1].startswith("-"):
                found += _with_parts(command[place + 1])
        elif (given := _ASSIGNMENT.fullmatch(part)) and is_secret_name(given["name"]) and not _is_shell_text(part):
            found += _with_parts(given["value"])
        elif _is_shell_text(part):
            found += _secret_arguments(_words(part))
    return [value for value in found if value]


def _is_shell_text(part: str) -> bool:
    return len(part.split()) > 1 and len(_words(part)) > 1


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # a quote without its end
        return text.split()


def _with_parts(value: str) -> list[str]:
    """A secret, and what a connection string such as `Server=db;Password=…` holds that is one by itself."""
    parts = [part.partition("=") for part in re.split(r"[;\s]+", value)]
    return [value, *(inner for name, given, inner in parts if given and is_secret_name(name))]


def _passwords_in_addresses(text: str) -> list[str]:
    secrets = (found[0] for found in re.finditer(_ADDRESS, text)) if "://" in text else ()
    return [secret.partition(":")[2] or secret for secret in secrets]


class MaskedStream:
    """Masks bytes as they arrive, also a secret that two reads cut in two.

    A word that may still grow into an address or a key waits for its end, and so does the beginning of a known value.
    """

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = [value.encode("utf-8", "surrogateescape") for value in secrets.values]
        self._pattern = re.compile(b"|".join(map(re.escape, self._secrets))) if self._secrets else None
        self._waiting = b""

    def feed(self, data: bytes) -> bytes:
        """What can be shown now."""
        text = self._waiting + data
        shown = _begin_of_last_word(text)
        for secret in self._secrets:
            shown = min(shown, len(text) - len(self._begun(text, secret)))
        shown = self._outside_of_matches(text, shown)
        self._waiting = text[shown:]
        return self._masked(text[:shown])

    def end(self) -> bytes:
        """The rest."""
        rest, self._waiting = self._waiting, b""
        return self._masked(rest)

    def _outside_of_matches(self, text: bytes, place: int) -> int:
        """The last place up to here that cuts no secret: the end of one may be the beginning of another."""
        patterns = [shape for begin, shape in _IN_BYTES if begin in text]
        if self._pattern is not None:
            patterns.append(self._pattern)
        for pattern in patterns:
            for found in pattern.finditer(text):
                if found.start() < place < found.end() <= found.start() + 4 * _LONGEST:
                    place = found.start()
        return place

    def _masked(self, text: bytes) -> bytes:
        mask = MASK.encode()
        if self._pattern is not None:
            text = self._pattern.sub(mask, text)
        for begin, shape in _IN_BYTES:
            if begin in text:
                text = shape.sub(mask, text)
        if b"://" in text:
            text = _QUERY_IN_BYTES.sub(
                lambda found: found["before"] + mask if is_secret_name(found["name"].decode()) else found[0], text
            )
        return text

    @staticmethod
    def _begun(text: bytes, secret: bytes) -> bytes:
        """The longest end of `text` with which `secret` begins."""
        place = text.find(secret[:1], max(0, len(text) - len(secret) + 1))
        while place >= 0:
            if secret.startswith(text[place:]):
                return text[place:]
            place = text.find(secret[:1], place + 1)
        return b""


def _begin_of_last_word(text: bytes) -> int:
    """Where the word begins that the next read may go on with; every address and key is within one word."""
    place = max(0, len(text) - _LONGEST)
    end = text[place:]
    word = place + max(end.rfind(b" "), end.rfind(b"\n"), end.rfind(b"\r"), end.rfind(b"\t")) + 1
    # Dots and bars of progress begin neither.
    found = _WORD.search(text[word:])
    return word + found.start() if found else len(text)
