# SPDX-License-Identifier: Apache-2.0
"""A run with very many tags, and very many runs, opened with `aboard view` and asked for everything."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from urllib.parse import quote

from support.board_client import SESSION_GROUPS
from support.event_bytes import scalar_value, summary_record, write_event_file, write_many_tags
from support.viewing import FROM_AFAR, View, viewing


def check_many_tags(folder: Path, count: int, *, most_bytes: int, within: float) -> None:
    """`count` tags in one run are listed and each is found, in bounded memory."""
    write_many_tags(folder / "run", count)
    with viewing(folder, as_text=True) as board:
        board.wait_until_read(within)
        assert "scalars" in board.json("data/plugins_listing")
        listing = json.loads(gzip.decompress(board.fetch("data/plugin/scalars/tags", **FROM_AFAR)))
        assert len(listing["run"]) == count
        assert len(board.json("data/plugin/timeseries/tags")["scalars"]["runTagInfo"]["run"]) == count
        for number in (0, count // 2, count - 1):
            tag = f"group{number % 1000}/tag{number}"
            assert len(board.scalars("run", tag)) == 1
            wanted = quote(json.dumps([{"plugin": "scalars", "tag": tag}]))
            (answer,) = board.json(f"data/plugin/timeseries/timeSeries?requests={wanted}")
            assert len(answer["runToSeries"]["run"]) == 1
        _ask_for_hparams(board)
        assert b"<html" in board.fetch("").lower()
        assert memory_of(board) < most_bytes
        if count > 200_000:
            board.wait_until_said(f"{count:,} tags: TensorBoard's page takes minutes")


def _ask_for_hparams(board: View) -> None:
    """As every page does, whether there are any or not."""
    assert json.loads(board.post("data/plugin/hparams/experiment", b"{}"))["hparamInfos"] == []
    groups = json.loads(board.post("data/plugin/hparams/session_groups", json.dumps(SESSION_GROUPS).encode()))
    assert groups["sessionGroups"] == []


def check_many_runs(folder: Path, count: int, *, most_bytes: int, within: float) -> None:
    """`count` runs are listed and each is found, in bounded memory."""
    points = [summary_record([scalar_value(b"loss", step)], step, 1000.0 + step) for step in range(3)]
    for number in range(count):
        write_event_file(folder / f"group{number // 1000}" / f"run{number}", points)
    with viewing(folder, "--template", "{run}_{metrics.loss.last}") as board:
        progress = board.wait_until_read(within)
        assert progress["runs_read"] == count
        names = {f"group{number // 1000}/run{number}_2" for number in range(count)}
        assert set(board.json("data/runs")) == names
        assert set(board.json("data/plugin/scalars/tags")) == names
        (answer,) = board.json(
            f"data/plugin/timeseries/timeSeries?requests={quote(json.dumps([{'plugin': 'scalars', 'tag': 'loss'}]))}"
        )
        assert {len(series) for series in answer["runToSeries"].values()} == {3}
        assert len(answer["runToSeries"]) == count
        board.json("data/plugins_listing")
        _ask_for_hparams(board)
        assert memory_of(board) < most_bytes


def memory_of(board: View) -> int:
    """Bytes that the process has in memory."""
    status = Path(f"/proc/{board.process.pid}/status").read_text(encoding="ascii")
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) << 10
