# SPDX-License-Identifier: Apache-2.0
"""What an executor would be given for a board, as documents that people may see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from aboard.model.board import Board
from aboard.model.uid import new_uid
from aboard.run.secrets import MASK, Secrets
from aboard.services.board_executors import BoardExecutors
from aboard.services.tensorboard_unit import TensorBoardPlace, tensorboard_unit


def board_preview(board: Board, place: TensorBoardPlace) -> list[dict[str, Any]]:
    """The documents for one TensorBoard. The executor is asked nothing, and no unit is written down."""
    unit = tensorboard_unit(board, new_uid(), place)
    # The program is a line of the server's settings, in which anything may stand.
    command = Secrets.of(unit.environment, unit.command).mask_command(unit.command)
    documents = place.executor.preview([replace(unit, command=tuple(command))])
    return [_told(document, place.executor.name, place.rules) for document in documents]


def _told(document: dict[str, Any], executor: str, rules: BoardExecutors) -> dict[str, Any]:
    """Options can hold lines of shell and ways to other machines: those that are settled by the server stay there."""
    options = document.get("options")
    if not isinstance(options, Mapping):
        return document
    given = cast("Mapping[str, object]", options)
    shown = {name: MASK if rules.hides(executor, name) else value for name, value in given.items()}
    return {**document, "options": shown}
