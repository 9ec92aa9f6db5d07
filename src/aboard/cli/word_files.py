# SPDX-License-Identifier: Apache-2.0
"""`@FILE` among words: names of runs by the thousand, which a command line could not hold."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from aboard.errors import InvalidValue

_HOW = "write one name in a line, or several with commas; a line that begins with # is left out"


def spelled_out(words: Sequence[str]) -> list[str]:
    """The words, and in the place of each `@FILE` those of the file; `@-` is standard input."""
    found: list[str] = []
    for word in words:
        name = word.strip().rstrip(",").strip()
        found += _words_in(name[1:]) if name.startswith("@") else [word]
    return found


def _words_in(name: str) -> list[str]:
    if not name:
        raise InvalidValue("behind @ the name of a file is missing", hint="write @runs.txt, or @- for standard input")
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).expanduser().read_bytes()
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise InvalidValue(f"@{name} cannot be read: {error.strerror}", hint=_HOW) from None
    except RuntimeError:
        raise InvalidValue(f"@{name} begins with the home of a user who is not known here") from None
    except UnicodeDecodeError as error:
        raise InvalidValue(f"@{name} is no text in UTF-8: {error.reason} at byte {error.start}", hint=_HOW) from None
    words = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if not words:
        raise InvalidValue(f"@{name} names nothing", hint=_HOW)
    return words
