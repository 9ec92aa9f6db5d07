# SPDX-License-Identifier: Apache-2.0
"""Runs that are drawn as one: their centre, how far they are from it, and what they have in common."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest

from support.chart_files import card, picture_of, rows_of
from support.logged_runs import logged_run
from support.page_world import World, page_world
from support.processes import until

VALUES = {"first": 1.0, "second": 2.0, "third": 6.0}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with page_world(tmp_path_factory.mktemp("page")) as made:
        for name, value in VALUES.items():
            made.uids[name] = logged_run(
                made.store,
                name=name,
                workspace="lab",
                hparams={"optimizer": "sgd"},
                said_tags={"kind": "odd" if name == "second" else "even"},
                curves={"loss": [value, value], "broken": [value, math.nan if name == "first" else value, value]},
            )
        until(lambda: made.client.runs.count() == 3)
        yield made


def choose(page: Any, label: str, option: str) -> None:
    page.get_by_role("button", name="Group runs").click()
    page.get_by_label(label).select_option(option)
    page.keyboard.press("Escape")


def test_the_centre_is_the_mean_or_the_median(visit):
    page = visit("/w/lab/compare?group=hparams.optimizer")
    card(page, "loss").locator("footer", has_text="1 curve ·").wait_for()
    assert {(row["curve"], row["loss"], row["runs"]) for row in rows_of(page, "loss")} == {("sgd (3 runs)", "3", "3")}
    choose(page, "are drawn as their", "median")
    assert {row["loss"] for row in rows_of(page, "loss")} == {"2"}


def test_the_band_is_what_was_chosen(visit):
    page = visit("/w/lab/compare?group=hparams.optimizer")
    bands = {
        "least to most": (1, 6),
        "standard deviation": (3 - 7**0.5, 3 + 7**0.5),
        "95 % confidence": (3 - 4.303 * (7 / 3) ** 0.5, 3 + 4.303 * (7 / 3) ** 0.5),
    }
    for option, band in bands.items():
        choose(page, "with a band of", option)
        for row in rows_of(page, "loss"):
            assert (float(row["low"]), float(row["high"])) == pytest.approx(band), option
        assert len(picture_of(page, "loss").paths("0.18")) == 1
    choose(page, "with a band of", "no band")
    assert picture_of(page, "loss").paths("0.18") == []
    assert {(row["low"], row["high"]) for row in rows_of(page, "loss")} == {("", "")}


def test_runs_with_the_same_tag_become_one_curve(visit):
    page = visit("/w/lab/compare")
    card(page, "loss").locator("footer", has_text="3 curves").wait_for()
    choose(page, "Runs with the same", "kind")
    card(page, "loss").locator("footer", has_text="2 curves").wait_for()
    assert sorted(picture_of(page, "loss").names) == ["even (2 runs)", "odd (1 run)"]
    assert {(row["curve"], row["loss"]) for row in rows_of(page, "loss")} == {
        ("even (2 runs)", "3.5"),
        ("odd (1 run)", "2"),
    }


def test_what_is_no_number_in_one_run_is_marked_in_its_group(visit):
    page = visit("/w/lab/compare?group=hparams.optimizer")
    card(page, "broken").locator("footer", has_text="1 curve ·").wait_for()
    assert len(picture_of(page, "broken").paths("0.9")) == 1
    assert picture_of(page, "loss").paths("0.9") == []
