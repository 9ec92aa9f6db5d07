# SPDX-License-Identifier: Apache-2.0
"""Whatever happens to a file, the doctor copes; what was not hit survives, and a repaired file stays as it is."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader

from aboard.exchange.doctor.diagnosis import diagnose
from aboard.exchange.doctor.repair import repair
from support.damaged_files import NOON, scalar, version, write

NAME = "events.out.tfevents.1"

steps = st.integers(-(2**63), 2**63 - 1)
tags = st.text(max_size=40).filter(lambda tag: "\0" not in tag)
records = st.builds(scalar, tags, steps, st.floats(), st.floats(width=32))
# Bytes that are overwritten: where (as a share of the file), and with what.
damage = st.lists(st.tuples(st.floats(0, 1), st.binary(min_size=1, max_size=60)), max_size=5)


def repaired(data: bytes) -> tuple[bytes | None, int]:
    """What is left of a file after a repair, and how many bytes the doctor calls damaged."""
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / "runs" / NAME, data)
        damaged = sum(file.damaged_bytes for file in diagnose({"": Path(folder) / "runs"}).files)
        assert repair({"": Path(folder) / "runs"}, Path(folder) / "clean").is_complete
        copy = Path(folder) / "clean" / NAME
        if not copy.exists():
            return None, damaged
        content = copy.read_bytes()
        # Stock TensorBoard reads every byte of it.
        assert sum(len(record) + 16 for record in RawEventFileLoader(str(copy)).Load()) == len(content)
        return content, damaged


@given(st.lists(records, max_size=12), damage, st.floats(0.5, 1))
def test_records_that_were_not_hit_survive(parts: list[bytes], hits: list[tuple[float, bytes]], kept: float) -> None:
    parts = [version(NOON), *parts]
    whole = b"".join(parts)
    hurt = bytearray(whole)
    for share, noise in hits:
        at = int(share * len(whole))
        hurt[at : at + len(noise)] = noise[: len(whole) - at]
    if kept < 0.9:
        del hurt[int(kept * len(whole)) :]
    expected, at = [], 0
    for part in parts:
        if hurt[at : at + len(part)] == part:
            expected.append(part)
        at += len(part)
    content, damaged = repaired(bytes(hurt))
    assert (content or b"") == b"".join(expected)
    if content is not None:
        assert damaged == len(hurt) - len(content)
        assert repaired(content) == (content, 0)


@given(st.binary(max_size=3000))
def test_any_bytes_at_all(data: bytes) -> None:
    content, _ = repaired(data)
    assert content in (None, b"") or content in data
