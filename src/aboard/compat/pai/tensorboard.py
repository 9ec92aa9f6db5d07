# SPDX-License-Identifier: Apache-2.0
"""PAI's `TensorBoard`: aboard's board with the arguments and the words that people know from there."""

from __future__ import annotations

from typing import Self

from aboard.client.board import Board
from aboard.errors import InvalidValue
from aboard.model.states import UnitState

STATUSES = {
    UnitState.PENDING: "Pending",
    UnitState.STARTING: "Creating",
    UnitState.RUNNING: "Running",
    UnitState.STOPPING: "Stopping",
    UnitState.STOPPED: "Stopped",
    UnitState.FAILED: "Creating_Failed",
    UnitState.LOST: "Stopped",
}


class TensorBoard(Board):
    """A board; `status` is one of PAI's words."""

    def __init__(self, tensorboard_id: str, session: None = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        _refuse("session", session)
        super().__init__(tensorboard_id)

    @classmethod
    def create(  # pyright: ignore[reportIncompatibleMethodOverride]
        cls,
        uri: str,
        wait: bool = True,
        display_name: str | None = None,
        max_runtime_in_minutes: float | None = None,
        source_id: None = None,
        source_type: None = None,
        session: None = None,
    ) -> Self:
        """Open a board over logs that are there: oss:// as for PAI, any other URI, or a folder."""
        for name, value in (("source_id", source_id), ("source_type", source_type), ("session", session)):
            _refuse(name, value)
        made = Board.create(uri, wait=wait, display_name=display_name, max_runtime_in_minutes=max_runtime_in_minutes)
        return cls(made.id)

    @property
    def status(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Its state now, in PAI's words."""
        return STATUSES[self.info.state]

    @property
    def summary_uri(self) -> str:
        """What it was opened over."""
        return ", ".join(self.info.sources)

    def wait(self, timeout: float | None = None) -> Self:
        """Wait until it runs and its page answers."""
        Board(self.id).wait(timeout)
        return self

    def __repr__(self) -> str:
        return f"TensorBoard(tensorboard_id={self.id!r}, name={self.display_name!r}, status={self.status!r})"


def _refuse(name: str, value: object) -> None:
    if value is not None:
        hint = "aboard's server is chosen by ABOARD_SERVER; estimator.tensorboard() opens a board over a job"
        raise InvalidValue(f"{name}={value!r} belongs to PAI's service, which aboard does not speak to", hint=hint)
