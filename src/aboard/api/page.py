# SPDX-License-Identifier: Apache-2.0
"""One page of a list, as every list of the API comes, and all pages as one list."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

_T = TypeVar("_T")
_Item_co = TypeVar("_Item_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Page(Generic[_T]):
    """Some entries, and what to give as `after` to get those behind them; None at the end."""

    items: tuple[_T, ...]
    next: str | None = None


class PageLike(Protocol[_Item_co]):
    """A page of the API or of the catalog."""

    @property
    def items(self) -> Sequence[_Item_co]:
        """Some entries."""
        ...

    @property
    def next(self) -> str | None:
        """Where the page behind it begins."""
        ...


def on_all_pages(page_after: Callable[[str | None], PageLike[_T]]) -> Iterator[_T]:
    """The entries of every page; `page_after` gets one page, the first one after None."""
    after: str | None = None
    while True:
        page = page_after(after)
        yield from page.items
        after = page.next
        if after is None:
            return
