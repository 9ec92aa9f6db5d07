# SPDX-License-Identifier: Apache-2.0
"""Names that a mistaken one may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from itertools import islice

_COMPARED = 2000  # of a million tags the first ones have to do: an error must not take seconds
_SHOWN = 5


def nearest_names(wanted: str, names: Collection[str]) -> list[str]:
    """A few names that contain the wanted one or look like it, the likeliest first."""
    folded = wanted.casefold()
    containing = (name for name in names if folded and folded in name.casefold())
    alike = difflib.get_close_matches(wanted, list(islice(names, _COMPARED)), n=_SHOWN, cutoff=0.5)
    return list(dict.fromkeys([*islice(containing, _SHOWN), *alike]))[:_SHOWN]


def nearest_hint(wanted: str, names: Collection[str], plural: str) -> str:
    """The next step for somebody whose name was not found."""
    if not names:
        return f"there are no {plural} here"
    if found := nearest_names(wanted, names):
        return "did you mean " + " or ".join(repr(name) for name in found) + "?"
    some = ", ".join(repr(name) for name in islice(names, _SHOWN))
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"there are {some}{more}"
