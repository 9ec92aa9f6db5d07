# SPDX-License-Identifier: Apache-2.0
"""Large pictures, sounds, arrays and graphs stay in the store until somebody looks at them; everything else is read."""

import uuid

import numpy as np
import pytest

import aboard
from aboard._native import frame_record, hop_records
from aboard.errors import StorageUnavailable
from aboard.reader.mirror.fetching import large_field
from aboard.store import open_store
from support.trained_runs import StoredRun, stored_run

SIDE = 900  # of noise: a picture of 2.4 MB


@pytest.fixture
def store(monkeypatch, tmp_path):
    monkeypatch.setenv("ABOARD_HOME", str(tmp_path / "home"))
    return open_store(f"memory://{uuid.uuid4().hex}")


def picture(step):
    return np.random.default_rng(step).integers(0, 255, (SIDE, SIDE, 3), np.uint8)


def array(step):
    return np.random.default_rng(step).standard_normal(600_000).astype(np.float32)


def with_large_values(run):
    for step in range(6):
        run.writer().add_image("large", picture(step), step, dataformats="HWC")
        run.writer().add_image("small", picture(step)[:8, :8], step, dataformats="HWC")
        run.writer().add_tensor("array", array(step), step)
        for number in range(50):
            run.writer().add_scalar("loss", float(number), 50 * step + number)


def traffic(opened):
    (count,) = opened._collection.traffic.values()
    return count


def test_large_values_are_fetched_when_they_are_looked_at(store, tmp_path):
    run = stored_run(store, tmp_path, "run", with_large_values)
    (file,) = run.folder.read_manifest().manifest.files
    assert file.bytes > 25_000_000
    with aboard.open(store.uri) as opened:
        assert traffic(opened).bytes_in < 11_000_000
        seen = opened.runs["run/train"]
        assert seen.scalars["loss"].steps.tolist() == list(range(300))
        assert (seen.bad_records, seen.files[0].skipped_bytes) == (0, 0)
        assert {tag: len(images) for tag, images in seen.images.items()} == {"large": 6, "small": 6}
        before = traffic(opened)
        np.testing.assert_array_equal(seen.images["small"][5].array(), picture(5)[:8, :8])
        assert traffic(opened) == before
        np.testing.assert_array_equal(seen.images["large"][4].array(), picture(4))
        assert 2_000_000 < (traffic(opened) - before).bytes_in < 3_000_000
        np.testing.assert_array_equal(seen.tensors["array"][3].array(), array(3))
        looked = traffic(opened)
        np.testing.assert_array_equal(seen.images["large"][4].array(), picture(4))
        assert traffic(opened) == looked
    with aboard.open(store.uri) as opened:
        assert traffic(opened).bytes_in == 0
        np.testing.assert_array_equal(opened.runs["run/train"].images["large"][5].array(), picture(5))
        # A later attempt is read beside what was never fetched of the first one.
        again = run.again(tmp_path)
        again.log(range(290, 310))
        again.finish()
        opened.refresh()
        assert len(opened.runs["run/train"].scalars["loss"]) == 310
        assert opened.runs["run/train"].bad_records == 0
        np.testing.assert_array_equal(opened.runs["run/train"].images["large"][1].array(), picture(1))


def test_a_large_value_that_is_damaged_is_not_shown(store, tmp_path):
    run = StoredRun.begin(store, tmp_path, "run")
    with_large_values(run)
    run.finish()
    keys = [entry for entry in store.list(run.folder.key("tb")) if entry.size > 1_000_000]
    for entry in keys:
        content = bytearray(store.get(entry.key))
        content[len(content) - 1_500_000] ^= 255
        store.put(entry.key, bytes(content))
    with aboard.open(store.uri) as opened:
        seen = opened.runs["run/train"]
        assert seen.scalars["loss"].steps.tolist() == list(range(300))
        values = [*seen.images["large"], *seen.tensors["array"]]

        def is_whole(value):
            try:
                return value.array() is not None
            except StorageUnavailable:
                return False

        assert sum(map(is_whole, values)) == len(values) - len(keys)


def test_hopping_over_records():
    data = frame_record(b"a" * 10) + frame_record(b"b" * 300) + frame_record(b"c" * 50)
    assert hop_records(data) == (len(data), -1, 300)
    assert hop_records(data[:-1]) == (10 + 16 + 300 + 16, 50, 300)
    assert hop_records(data[:40]) == (26, 300, 10)
    assert hop_records(data[:30]) == (26, -1, 10)
    assert hop_records(b"x" * 100) == (0, -1, 0)


@pytest.mark.parametrize(
    ("beginning", "length", "found"),
    [
        (b"\x09" + b"t" * 8 + b"\x10\x05\x22\x80\x80\x40" + b"g" * 50, 9 + 2 + 4 + (1 << 20), (15, 15 + (1 << 20))),
        (b"\x09" + b"t" * 8 + b"\x10\x05\x32\x80\x80\x40" + b"g" * 50, 9 + 2 + 4 + (1 << 20), None),  # a log message
        (b"\x09tt", 1 << 20, None),
        (b"\x22\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 1 << 20, None),
        (b"\x22\x80\x80\x80\x01", 1000, None),  # longer than the event
        (b"\x07\x00\x00", 1 << 20, None),
        (b"", 10, None),
    ],
)
def test_large_fields_are_found_by_the_beginning_of_an_event(beginning, length, found):
    assert large_field(beginning, length) == found
