# SPDX-License-Identifier: Apache-2.0
"""Metrics of every batch, in a group of their own: the x axis is the number of the batch, counted from 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aboard.integrations.numbers_of import Numbers
from aboard.run.training.stages import checked_stage
from aboard.writer.summary_writer import SummaryWriter

GROUP = "batch"


class BatchMetrics:
    """Counts batches and logs their metrics below `group`; validation metrics there too, as `val_…`."""

    def __init__(self, writer: SummaryWriter, group: str = GROUP) -> None:
        self.group = checked_stage(group)
        self.batches = 0
        """How many batches were trained on."""
        self._writer = writer
        self._prefix = f"{self.group}/" if self.group else ""
        self._numbers = Numbers("batch metrics")

    def trained(self, metrics: Mapping[str, Any]) -> None:
        """A batch was trained on: a point at step 5 is that of the fifth batch."""
        self.batches += 1
        self._numbers.log(self._writer, metrics, self.batches, self._prefix)

    def validated(self, metrics: Mapping[str, Any]) -> None:
        """A validation after the batches so far."""
        named = {name if str(name).startswith("val") else f"val_{name}": value for name, value in metrics.items()}
        self._numbers.log(self._writer, named, self.batches, self._prefix)
