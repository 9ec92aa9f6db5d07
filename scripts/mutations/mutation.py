# SPDX-License-Identifier: Apache-2.0
"""A hand-made bug: a patch below lines that describe it and name the tests that should catch it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_FIELD = re.compile(r"^(\w+): (.+)$", re.M)
_CHANGED = re.compile(r"^\+\+\+ b/(.+)$", re.M)
_FIELDS = {"Bug", "Tests"}


@dataclass(frozen=True, slots=True)
class Mutation:
    """One patch of `tests/mutations`."""

    name: str
    patch: Path
    bug: str
    """What a user would notice."""
    tests: tuple[str, ...]
    files: tuple[str, ...]
    """The files that the patch changes."""

    @classmethod
    def read(cls, patch: Path) -> Mutation:
        """Read a patch with its fields, or exit with what is missing."""
        head, _, changes = patch.read_text("utf-8").partition("\ndiff ")
        fields = dict(_FIELD.findall(head))
        if fields.keys() != _FIELDS:
            raise SystemExit(f"{patch}: above the diff there must be one line `Bug: …` and one line `Tests: FILE…`.")
        return cls(patch.stem, patch, fields["Bug"], tuple(fields["Tests"].split()), tuple(_CHANGED.findall(changes)))

    @property
    def suite(self) -> tuple[str, ...]:
        """Every test that can run the changed code, the quickest first."""
        python = ("tests/unit", "tests/contract", "tests/integration", "tests/e2e")
        if any(file.startswith("web/") for file in self.files):
            return ("web/src", "tests/e2e")
        if any(file.startswith("native/") for file in self.files):
            return ("native/tests", *python)
        return python


def read_mutations(folder: Path, names: Sequence[str]) -> list[Mutation]:
    """The mutations with these names; without a name, all of the folder."""
    patches = {patch.stem: patch for patch in sorted(folder.glob("*.patch"))}
    if unknown := [name for name in names if name not in patches]:
        raise SystemExit(f"There is no mutation {unknown[0]!r}. There are: {', '.join(patches)}.")
    return [Mutation.read(patches[name]) for name in names or patches]
