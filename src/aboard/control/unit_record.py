# SPDX-License-Identifier: Apache-2.0
"""What a machine knows of the unit of a board: written before the unit is submitted, so that none is ever lost."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from aboard.errors import AboardError
from aboard.executors.registry import executor_of, make_executor
from aboard.model.unit_handle import UnitHandle

_FORMAT, _VERSION = "aboard-board-unit", 1


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitRecord:
    """Which unit, on which executor, and how much of its output is in the log of the board."""

    unit: str
    executor: str
    said: int = 0

    def handle(self) -> UnitHandle | None:
        """The unit, if it was ever submitted."""
        return make_executor(self.executor).find(self.unit)

    def write(self, folder: Path) -> Self:
        """Keep it in the board's folder."""
        document = {"format": _FORMAT, "version": _VERSION, "unit": self.unit, "executor": self.executor}
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        aside = folder / "unit.new"
        aside.write_text(json.dumps({**document, "said": self.said}), "utf-8")
        aside.replace(folder / "unit.json")
        return self

    def saying(self, count: int) -> Self:
        """The same with so much of the output."""
        return replace(self, said=count)

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """What is kept in the folder; None when there is nothing that can be understood."""
        try:
            document = json.loads((folder / "unit.json").read_text("utf-8"))
            if document["format"] != _FORMAT or document["version"] != _VERSION:
                return None
            return cls(unit=str(document["unit"]), executor=str(document["executor"]), said=int(document["said"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None


def end_unit(record: UnitRecord, *, grace: float | None) -> bool:
    """Have a unit ended, whatever it does; whether nothing is left of it."""
    handle = record.handle()
    if handle is None:
        return True
    executor = executor_of(handle)
    if not executor.status(handle).state.is_ended:
        executor.stop(handle, grace=grace)
        return False
    try:
        executor.forget(handle)
    except AboardError:
        return False
    return True
