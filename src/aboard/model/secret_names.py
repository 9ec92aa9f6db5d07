# SPDX-License-Identifier: Apache-2.0
"""Decides by its name whether a variable, option or parameter holds a secret."""

from __future__ import annotations

import re

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
