# SPDX-License-Identifier: Apache-2.0
"""Which curves are made ready before anybody looks at them."""

from __future__ import annotations

from aboard import SummaryWriter
from aboard.board.long_curves import prepare_long_curves
from aboard.reader.run_collection import RunCollection


def test_only_long_curves_are(tmp_path):
    for run, points in (("long", 3000), ("short", 10)):
        with SummaryWriter(tmp_path / run) as writer:
            for step in range(points):
                writer.add_scalar("loss", step % 7, step)
            writer.add_scalar("rare", 1.0, 0)
            writer.add_text("note", "x" * 100_000, 0)
    collection = RunCollection({"": tmp_path})
    collection.refresh()
    assert prepare_long_curves(collection.runs.values(), 2000) == 1
    assert prepare_long_curves(collection.runs.values(), 5) == 2
    assert prepare_long_curves(collection.runs.values()) == 0
    assert prepare_long_curves([]) == 0
