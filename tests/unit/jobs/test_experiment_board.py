# SPDX-License-Identifier: Apache-2.0
"""What a board beside an experiment sees of claims is what pods see of them."""

from __future__ import annotations

import pytest

from aboard.executors import Kubernetes
from aboard.jobs.experiment_board import board_unit
from aboard.jobs.job import run_filter
from aboard.model.query.parser import parse_query
from aboard.model.query.tree import query_text


class Trusting(Kubernetes):
    """Takes any path."""

    def check_path(self, path: str) -> None:
        pass


@pytest.mark.parametrize(
    ("log_dir", "shown"), [("/data/own/logs", ["/data/own"]), ("/data/logs", ["/data"]), ("/data/../etc", [])]
)
def test_a_board_sees_the_nearest_claim_and_nothing_above_it(log_dir: str, shown: list[str]) -> None:
    executor = Trusting(claims={"data": "/data", "own": "/data/own"})
    _, spec = board_unit(executor, log_dir, 6006, None, {}, "")
    assert [(mount.source, mount.target, mount.read_only) for mount in spec.mounts] == [
        (place, place, True) for place in shown
    ]


def test_the_filter_of_a_name_means_that_name() -> None:
    name = 'a "b" \\ c\nd'
    assert query_text(parse_query(run_filter("default", name))) == run_filter("default", name)
    assert "\n" not in run_filter("default", name)
