# SPDX-License-Identifier: Apache-2.0
import threading
from datetime import UTC, datetime, timedelta

import pytest

from aboard.errors import InvalidValue
from aboard.model import names as uid_module
from aboard.model.names import check_uid, is_uid, new_uid, uid_time


def test_uids_rise_also_within_a_millisecond():
    uids = [new_uid() for _ in range(5000)]
    assert uids == sorted(set(uids))
    assert all(is_uid(uid) for uid in uids)


def test_uids_of_threads_are_all_different():
    made: list[str] = []
    threads = [threading.Thread(target=lambda: made.extend(new_uid() for _ in range(2000))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == 8000


def test_a_clock_that_goes_back_does_not_break_the_order(monkeypatch):
    before = new_uid()
    earlier = uid_module.time.time_ns() - 3600 * 10**9
    monkeypatch.setattr(uid_module.time, "time_ns", lambda: earlier)
    assert before < new_uid() < new_uid()


def test_the_time_is_in_the_uid():
    assert abs(uid_time(new_uid()) - datetime.now(UTC)) < timedelta(minutes=1)
    assert uid_time("01ARZ3NDEKTSV4RRFFQ69G5FAV") == datetime(2016, 7, 30, 23, 54, 10, 259000, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "01ARZ3NDEKTSV4RRFFQ69G5FA", "01arz3ndektsv4rrffq69g5fav", "I" * 26, "8" * 26, 3])
def test_what_is_no_uid_is_refused(text):
    with pytest.raises(InvalidValue, match="is not a uid"):
        check_uid(text)
