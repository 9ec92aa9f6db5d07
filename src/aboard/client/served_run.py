# SPDX-License-Identifier: Apache-2.0
"""Runs and experiments that a server told of: values, and the way to a board over them."""

from __future__ import annotations

import dataclasses
from typing import Any

from aboard.client.board import Board, HasBoards
from aboard.model.groups import ExperimentRecord
from aboard.model.names import experiment_name
from aboard.model.runs import RunRecord


class ServedRun(RunRecord):
    """A run that knows whom to ask. It equals the same run that somebody else told of."""

    __slots__ = ("_client",)
    _client: HasBoards

    @classmethod
    def of(cls, run: RunRecord, client: HasBoards) -> ServedRun:
        """The same run, of this server."""
        return _joined(cls, run, client)

    def tensorboard(self, **options: Any) -> Board:
        """A board over the run, as `Board.create` makes it; one that is there is opened again."""
        options.setdefault("display_name", self.name)
        return Board.create(sources=self.uid, client=self._client, **options)

    def __eq__(self, other: object) -> bool:
        return _equal(RunRecord, self, other)

    def __hash__(self) -> int:
        return hash(self.uid)


class ServedExperiment(ExperimentRecord):
    """An experiment that knows whom to ask. It equals the same experiment that somebody else told of."""

    __slots__ = ("_client",)
    _client: HasBoards

    @classmethod
    def of(cls, experiment: ExperimentRecord, client: HasBoards) -> ServedExperiment:
        """The same experiment, of this server."""
        return _joined(cls, experiment, client)

    def tensorboard(self, **options: Any) -> Board:
        """A board over all its runs, also those that join later; one that is there is opened again."""
        options.setdefault("display_name", f"{self.name}_TensorBoard")
        return Board.create(sources=experiment_name(self.number), client=self._client, **options)

    def __eq__(self, other: object) -> bool:
        return _equal(ExperimentRecord, self, other)

    def __hash__(self) -> int:
        return hash(self.number)


def _joined(kind: Any, value: Any, client: HasBoards) -> Any:
    made = kind(**{one.name: getattr(value, one.name) for one in dataclasses.fields(value)})
    object.__setattr__(made, "_client", client)  # the value itself is frozen
    return made


def _equal(kind: Any, one: Any, other: Any) -> bool:
    if not isinstance(other, kind):
        return NotImplemented
    return all(getattr(one, field.name) == getattr(other, field.name) for field in dataclasses.fields(kind))
