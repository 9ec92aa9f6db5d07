# SPDX-License-Identifier: Apache-2.0
"""Names of workspaces, experiments and runs: valid ones, default ones, unique ids, and names that mark a secret."""

from __future__ import annotations

import os
import re
import secrets
import threading
import time
from datetime import UTC, datetime

from aboard.errors import InvalidValue

LONGEST_NAME = 128
_WORKSPACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
# Each of these has a meaning in a selection: lists, paths, wildcards.
_RESERVED = frozenset(",/\\*?")


def check_workspace_name(name: object) -> str:
    """`name` itself, if a workspace may be called so; it stands in addresses and in names of folders."""
    if not isinstance(name, str) or _WORKSPACE.fullmatch(name) is None:
        hint = "use 1 to 63 letters, digits, '_', '.' and '-', and begin with a letter or digit"
        raise InvalidValue(f"{name!r} is not a name for a workspace", hint=hint)
    return name


def check_name(name: object, what: str) -> str:
    """`name` itself, if an experiment or run (`what`) may be called so; selections must be able to name it."""
    if not isinstance(name, str) or not 1 <= len(name) <= LONGEST_NAME or name != name.strip():
        hint = f"use 1 to {LONGEST_NAME} characters, with no space at either end"
        raise InvalidValue(f"{name!r} is not a name for {what}", hint=hint)
    for character in name:
        if character in _RESERVED or not character.isprintable():
            hint = "these have a meaning in selections and paths: , / \\ * ?; control characters are not allowed either"
            raise InvalidValue(f"{name!r} is not a name for {what}: it holds {character!r}", hint=hint)
    return name


def workspace_name(text: str) -> str:
    """A name that a workspace may have, as close to `text` as possible."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", text).lstrip("_.-")[:63].rstrip("-")
    return plain or "runs"


def usable_name(text: str, otherwise: str) -> str:
    """A name that is allowed, as near to `text` as can be; what others call a person may hold anything."""
    plain = "".join("-" if one in _RESERVED or not one.isprintable() else one for one in text)
    return re.sub("-+", "-", plain).strip(" -")[:LONGEST_NAME].strip() or otherwise


def folded(name: str) -> str:
    """The form in which names are compared: capitals make no difference."""
    return name.casefold()


def run_name(number: int) -> str:
    """What the catalog calls its run with this number."""
    return f"run{number}"


def experiment_name(number: int) -> str:
    return f"exp{number}"


def offline_run_name(uid: str) -> str:
    """What a run is called that was made without a catalog; the end of a uid is its random part."""
    return f"run-{uid[-8:].lower()}"


_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# Words that mark a secret wherever they stand in a name; the short ones only as a whole last word.
_SECRET = re.compile(
    r"KEY|TOKEN|SECRET|PASSW|PASS_?PHRASE|PASS_?CODE|PWD|CREDENTIAL|AUTHORIZATION|PRIVATE|SIGNATURE|COOKIE"
    r"|(?<![A-Z])SAS(?![A-Z])|CONN(?:ECTION)?_?STR(?:ING)?(?![A-Z])"
    r"|(?:(?<![A-Z])|(?<![A-Z])(?:SSH|DB|SQL|PG|USER|SUDO|ROOT|ADMIN|SMTP|MAIL|FTP|LDAP|PROXY|KEY|STORE))PASS(?:_?\d+)?$"
    r"|(?<![A-Z])(?:AUTH|DSN|SIG)(?:_?\d+)?$",
    re.I,
)
_HARMLESS = re.compile(
    r"KEYBOARD|KEYMAP|KEYWORD|MONKEY|TURKEY|PUBLIC_?KEY|KEYS?_FILE$|_PATH$|^(OLD)?PWD$|SSH_AUTH_SOCK"
    r"|(?:SORT|GROUP|PRIMARY|FOREIGN|METRIC|PARTITION)_KEY$"
    r"|TOKENI[SZ]|TOKENS_PER|(?:NUM|MAX|MIN|NEW|TOTAL|N)_TOKENS|TOKEN_(?:COUNT|LIMIT|IDS?|TYPES?|LENGTH|DROPOUT)"
    r"|(?:PAD|EOS|BOS|UNK|SEP|CLS|MASK|STOP|START|END|SPECIAL|IMAGE|NEXT)_TOKENS?$"
    # A pass over data, a filter, or a switch; no password.
    r"|(?:FORWARD|BACKWARD|LOW|HIGH|BAND|ALL|BY|FIRST|SECOND|THIRD|LAST|ONE|TWO|SINGLE|MULTI|NUM|PER|MAX|MIN|N)_PASS$"
    r"|(?:^|_)(?:NO|USE|SKIP|ENABLE|DISABLE|REQUIRE|WITH|WITHOUT)_AUTH$",
    re.I,
)


def is_secret_name(name: str) -> bool:
    """Whether a value of this name must not be shown or stored."""
    words = re.sub(r"[^A-Za-z0-9]+", "_", _CAMEL.sub("_", name))
    return _SECRET.search(words) is not None and _HARMLESS.search(words) is None


_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's: no I, L, O, U
_VALUES = {digit: value for value, digit in enumerate(_DIGITS)}
_LENGTH = 26
_RANDOM_BITS = 80
_LATEST = datetime(9999, 12, 30, tzinfo=UTC)  # what can still be shown in every time zone
_PATTERN = re.compile(rf"[0-7][{_DIGITS}]{{25}}")


class _UidMaker:
    """Makes rising uids; one of it serves a process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def make(self) -> str:
        now = time.time_ns() // 1_000_000
        with self._lock:
            # Within one millisecond, or after the clock went back, the last uid is counted up.
            fresh = (now << _RANDOM_BITS) | secrets.randbits(_RANDOM_BITS)
            self._last = fresh if fresh >> _RANDOM_BITS > self._last >> _RANDOM_BITS else self._last + 1
            return _text(self._last)


_maker = _UidMaker()


def _start_anew() -> None:
    global _maker
    _maker = _UidMaker()


os.register_at_fork(after_in_child=_start_anew)


def new_uid() -> str:
    """A uid that sorts after every other one that this process has made."""
    return _maker.make()


def uid_of(moment: datetime, identity: bytes) -> str:
    """The uid of something that was made elsewhere: the same each time for the same moment and 80 bits of identity."""
    if len(identity) * 8 != _RANDOM_BITS:
        raise InvalidValue(f"an identity has {_RANDOM_BITS} bits, not {len(identity) * 8}")
    milliseconds = min(max(0, int(moment.timestamp() * 1000)), (1 << 48) - 1)
    return _text((milliseconds << _RANDOM_BITS) | int.from_bytes(identity))


def uid_from_digest(digest: bytes) -> str:
    """The uid of something that has no time of its own: the same each time for the same 128 bits."""
    return _text(int.from_bytes(digest) % (1 << 128))


def is_uid(text: str) -> bool:
    """Whether `text` is a uid in its only spelling, capitals."""
    return _PATTERN.fullmatch(text) is not None


def check_uid(text: object) -> str:
    """`text` itself, if it is a uid."""
    if not isinstance(text, str) or not is_uid(text):
        hint = "a uid has 26 digits and capitals, for example 01ARZ3NDEKTSV4RRFFQ69G5FAV"
        raise InvalidValue(f"{text!r} is not a uid", hint=hint)
    return text


def uid_time(uid: str) -> datetime:
    """When a uid was made, to the millisecond; what no `datetime` can hold counts as made in the last days it can."""
    number = 0
    for digit in check_uid(uid):
        number = number * 32 + _VALUES[digit]
    return datetime.fromtimestamp(min((number >> _RANDOM_BITS) / 1000, _LATEST.timestamp()), UTC)


def first_uid_at(moment: datetime) -> str:
    """The lowest uid that can be made at a moment: where to begin in a list of them."""
    milliseconds = max(0, int(moment.timestamp() * 1000))
    return _text(milliseconds << _RANDOM_BITS)


def _text(number: int) -> str:
    digits: list[str] = []
    for _ in range(_LENGTH):
        number, digit = divmod(number, 32)
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits))
