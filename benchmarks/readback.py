# SPDX-License-Identifier: Apache-2.0
"""Reads what was written with TensorBoard's own reader, so that nobody is fast by losing data."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


@dataclass(frozen=True)
class Content:
    points: int
    sum_of_steps: int
    image_bytes: float  # of one encoded picture

    def lacks(self, points: int, calls: int) -> str:
        """What is missing when `calls` steps, from 0, were logged; nothing if all is there."""
        steps = points // calls * (calls * (calls - 1) // 2)
        if (self.points, self.sum_of_steps) == (points, steps):
            return ""
        return f"{self.points} points with steps adding up to {self.sum_of_steps}; logged {points} and {steps}"


def read(logdir: Path) -> Content:
    from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader

    points = steps = pictures = image_bytes = 0
    for path in sorted(logdir.rglob("*tfevents*")):
        for event in LegacyEventFileLoader(str(path)).Load():
            points += len(event.summary.value)
            steps += len(event.summary.value) * event.step
            for value in event.summary.value:
                if value.HasField("image"):
                    pictures += 1
                    image_bytes += len(value.image.encoded_image_string)
    return Content(points, steps, image_bytes / pictures if pictures else 0.0)
