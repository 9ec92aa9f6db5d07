# SPDX-License-Identifier: Apache-2.0
"""Whole local copies of stores, for those who must see every byte, and what to call what lies in them."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any, cast

from aboard.reader.remote.copy_cache import CopyCache
from aboard.reader.remote.store_root import StoreRoot
from aboard.reader.root import Root, StoreUri


class ShownPaths:
    """Says what a person knows a place in a copy as."""

    def __init__(self, uris: Mapping[str, str]) -> None:
        self._uris = uris

    def text(self, text: str) -> str:
        """A text with URIs instead of the paths of copies."""
        for folder, uri in self._uris.items():
            text = text.replace(folder, uri)
        return text

    def document(self, value: Any) -> Any:
        """The same for all texts in a document."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {key: self.document(item) for key, item in cast("dict[str, Any]", value).items()}
        if isinstance(value, list):
            return [self.document(item) for item in cast("list[Any]", value)]
        return value


@contextlib.contextmanager
def whole_copies(roots: Mapping[str, Root]) -> Generator[tuple[dict[str, Path], ShownPaths]]:
    """Folders in which all that is below `roots` can be read while the block runs; stores are copied first."""
    with contextlib.ExitStack() as stores:
        folders: dict[str, Path] = {}
        uris: dict[str, str] = {}
        for name, root in roots.items():
            if not isinstance(root, StoreUri):
                folders[name] = root
                continue
            store = StoreRoot(root, CopyCache.default())
            stores.callback(store.close)
            store.refresh(whole=True)
            folders[name] = store.folder
            uris[str(store.folder)] = root.uri
        yield folders, ShownPaths(uris)
