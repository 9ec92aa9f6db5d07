# SPDX-License-Identifier: Apache-2.0
"""What runs are looked for below: a folder of this machine, or a place in a store."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from aboard.errors import InvalidValue


@dataclass(frozen=True, slots=True)
class StoreUri:
    """A place in an object store, as a person named it."""

    uri: str
    """Holds no secret, and may be shown."""
    given: str = field(default="", repr=False, compare=False)
    """What opens it, where that is more: a shared access signature may stand at its end."""

    def __str__(self) -> str:
        return self.uri

    @property
    def parts(self) -> tuple[str, ...]:
        """The bucket and the parts of the prefix, as those of a path."""
        scheme, _, rest = self.uri.partition("://")
        return (f"{scheme}:", *rest.split("/"))

    @property
    def name(self) -> str:
        """The last part."""
        return self.parts[-1]


Root: TypeAlias = Path | StoreUri


def root_of_uri(text: str) -> Root:
    """The folder of a file:// URI, or a place in a store; a mistake in it is told at once."""
    from aboard.store.uri import parse_uri

    address = parse_uri(text)
    if address.path is not None:
        if not address.path.exists():
            raise InvalidValue(f"there is no folder {str(address.path)!r}", hint="file:// names one of this machine")
        return address.path
    return StoreUri(address.uri, text)


def is_uri(text: str) -> bool:
    """Whether something names a place by a URI, and not a path."""
    scheme, separator, _ = text.partition("://")
    return bool(separator) and scheme.replace("+", "").isalnum()
