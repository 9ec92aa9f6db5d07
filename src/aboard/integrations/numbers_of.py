# SPDX-License-Identifier: Apache-2.0
"""What frameworks call metrics, as numbers under tags; what is none is left out and said once."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, cast

from aboard.errors import AboardError
from aboard.run.training.stages import SaidOnce
from aboard.writer.summary_writer import SummaryWriter


class Numbers:
    """Logs mappings of numbers. A metric that becomes text or an array is left out then; training goes on."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._said = SaidOnce()

    def log(self, writer: SummaryWriter, values: Mapping[str, Any], step: int, prefix: str = "") -> None:
        """Add each value at a step; tags are `prefix` and the name. Nested mappings are flattened by "/"."""
        add, moment = writer.add_scalar, time.time()
        for name, value in values.items():
            tag = prefix + name if type(name) is str else f"{prefix}{name}"
            try:
                add(tag, value, step, moment)
            except AboardError as error:
                if isinstance(value, Mapping):
                    self.log(writer, cast("Mapping[str, Any]", value), step, f"{tag}/")
                else:
                    reason = "it is None" if value is None else error.message
                    self._said.warn((tag,), f"{self._source}: {tag!r} was left out: {reason}")
