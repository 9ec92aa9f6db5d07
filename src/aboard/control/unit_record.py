# SPDX-License-Identifier: Apache-2.0
"""What a machine knows of the unit of a board: written before the unit is submitted, so that none is ever lost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from aboard.errors import AboardError, UnknownName
from aboard.executors.executor import Executor
from aboard.executors.registry import executor_of, make_executor
from aboard.model.unit_handle import UnitHandle
from aboard.model.unit_states import UnitState

_FORMAT, _VERSION = "aboard-board-unit", 1


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitRecord:
    """Which unit, on which executor, over which folder, and how much of its output is in the log of the board."""

    unit: str
    executor: str
    options: Mapping[str, object] = field(default_factory=dict[str, object])
    """Of the executor when the unit was made: what the server has settled may be another thing now."""
    mirror: str = ""
    """The folder with the copies, where it is not the one that this record is in."""
    said: int = 0

    def made_executor(self) -> Executor:
        """The executor as it was when the unit was made."""
        return make_executor(self.executor, self.options)

    def handle(self) -> UnitHandle | None:
        """The unit, if it was ever submitted."""
        return self.made_executor().find(self.unit)

    def write(self, folder: Path) -> Self:
        """Keep it in the board's folder."""
        document = {
            "format": _FORMAT,
            "version": _VERSION,
            "unit": self.unit,
            "executor": self.executor,
            "options": dict(self.options),
            "mirror": self.mirror,
            "said": self.said,
        }
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        aside = folder / "unit.new"
        aside.write_text(json.dumps(document), "utf-8")
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
            return cls(
                unit=str(document["unit"]),
                executor=str(document["executor"]),
                options=dict(document.get("options", {})),
                mirror=str(document.get("mirror", "")),
                said=int(document["said"]),
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None


def end_unit(record: UnitRecord, *, grace: float | None) -> bool:
    """Have a unit ended, whatever it does; whether nothing is left of it."""
    handle = record.handle()
    if handle is None:
        return True
    executor = executor_of(handle)
    try:
        state = executor.status(handle).state
        if not state.is_ended or state is UnitState.LOST:  # of one that is lost, something may still run
            executor.stop(handle, grace=grace)
        if not state.is_ended:
            return False
        executor.forget(handle)
    except UnknownName:
        return True  # gone in the meantime
    except AboardError:
        return False
    return True
