# SPDX-License-Identifier: Apache-2.0
"""Names and values as YAML, which people read more easily than JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./+@-]*", re.ASCII)
_WORDS_THAT_MEAN_SOMETHING_ELSE = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


def yaml_text(document: Mapping[str, object]) -> str:
    """A document of block style; any reader of YAML gives the same values back."""
    return "\n".join(_mapping(document, "")) + "\n" if document else "{}\n"


def yaml_documents(documents: Iterable[Mapping[str, object]]) -> str:
    """Several documents as one text."""
    return "---\n".join(map(yaml_text, documents))


def _mapping(values: Mapping[str, object], indent: str) -> Iterator[str]:
    for key, value in values.items():
        yield from _entry(f"{indent}{_scalar(key)}:", value, indent)


def _entry(head: str, value: object, indent: str) -> Iterator[str]:
    match value:
        case Mapping() if value:
            yield head
            yield from _mapping(cast("Mapping[str, object]", value), f"{indent}  ")
        case list() | tuple() if value:
            yield head
            for one in cast("Sequence[object]", value):
                yield from _entry(f"{indent}  -", one, f"{indent}  ")
        case _:
            yield f"{head} {_scalar(value)}"


def _scalar(value: object) -> str:
    match value:
        case str():
            is_plain = _PLAIN.fullmatch(value) and value.lower() not in _WORDS_THAT_MEAN_SOMETHING_ELSE
            return value if is_plain else f'"{"".join(map(_escaped, value))}"'
        case float():
            text = repr(value)  # without a point, 1e+22 would be a text to many readers
            return text if "." in text else text.replace("e", ".0e")
        case _:
            return json.dumps(value)


def _escaped(letter: str) -> str:
    if letter in '"\\':
        return f"\\{letter}"
    if letter.isprintable():
        return letter
    return f"\\u{ord(letter):04x}" if ord(letter) < 1 << 16 else f"\\U{ord(letter):08x}"
