# SPDX-License-Identifier: Apache-2.0
"""Valid and default names of workspaces, experiments and runs, and names that mark a value as a secret."""

from __future__ import annotations

import re

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
