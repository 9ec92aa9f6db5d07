# SPDX-License-Identifier: Apache-2.0
"""Runs side by side: numbers compared whole, code, packages and machines, groups, parameters."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from aboard.model.run_states import RunState
from aboard.model.times import now
from aboard.store.run.attempt_claim import AttemptClaim
from aboard.store.run.run_folder import RunFolder
from aboard.store.run.summary import Summary
from support.catalog_runs import metric
from support.logged_runs import logged_run
from support.page_world import World, page_world
from support.processes import until
from support.run_texts import put_texts
from support.stored_runs import put_manifest

SHARED = "resnet-with-seventeen-"
DIFF = """diff --git a/{name} b/{name}
index 111..222 100644
--- a/{name}
+++ b/{name}
@@ -1 +1 @@
-rate = 1
+{line}
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with page_world(tmp_path_factory.mktemp("page")) as made:
        for index, name in enumerate(("one", "two", "three")):
            uid = made.uids[name] = logged_run(
                made.store,
                name=name,
                workspace="lab",
                hparams={
                    "seed": 20240101 + index,
                    "model": f"{SHARED}{index} layers",
                    "rate": math.nan if index == 2 else 0.5 + index,
                },
                metrics={"loss": [math.nan if index == 2 else 0.25 * (index + 1)]},
                curves={"loss": [1.0, 2.0]},
            )
            details = {
                "machine": {"cpu_count": 8 * (index + 1)},
                "python": {"version": "3.11.7", "packages": {"numpy": f"1.{index}", "same": "1"}},
            }
            claim = AttemptClaim(number=2, token=f"{uid}-2", claimed=now(), host="second-host", details=details)
            RunFolder(made.store, uid).create_attempt(claim)
            changes = DIFF.format(name="train.py", line=f"rate = {index + 2}") + DIFF.format(name="alike.py", line="x")
            if index == 0:
                changes += DIFF.format(name="only_one.py", line="y")
            put_texts(made.store, uid, {"log/2.diff": changes}, status=RunState.COMPLETED)
        until(lambda: made.client.runs.count() == 3)
        until(lambda: all(len(made.client.runs.get(uid).attempts) == 2 for uid in made.uids.values()))
        yield made


def compare(world: World, *names: str, more: str) -> str:
    return f"/w/lab/compare?runs={','.join(str(world.number(name)) for name in names)}&{more}"


def row(page: Any, name: str) -> Any:
    return page.locator("tr", has=page.get_by_role("rowheader", name=name, exact=True))


def cells(page: Any, name: str) -> list[str]:
    row(page, name).first.wait_for()
    return row(page, name).first.get_by_role("cell").all_inner_texts()


def test_seeds_that_differ_in_their_last_digit_differ(visit, world):
    page = visit(compare(world, "one", "two", more="tab=differences"))
    first, second = cells(page, "seed")
    assert first == "20240101"
    assert second.startswith("20240102")
    assert "+1" in second


def test_metrics_packages_and_machine_are_compared(visit, world):
    page = visit(compare(world, "one", "two", more="tab=differences"))
    assert "+0.25 (+100 %)" in cells(page, "loss last")[1]
    assert cells(page, "numpy") == ["1.0", "1.1"]
    assert cells(page, "cpu_count") == ["8", "16"]
    for group in ("Metrics", "Packages", "Machine"):
        expect(page.get_by_role("rowheader", name=group, exact=True)).to_have_count(1)
    assert row(page, "same").count() == 0
    page.get_by_role("checkbox", name="Only what differs").uncheck()
    assert cells(page, "same") == ["1", "1"]


def test_nan_differs_from_a_number(visit, world):
    page = visit(compare(world, "one", "three", more="tab=differences"))
    assert cells(page, "rate") == ["0.5", "NaN"]
    assert cells(page, "loss last") == ["0.25", "NaN"]


def test_metrics_of_a_living_run_are_those_of_this_moment(visit, world):
    uid = world.uids["living"] = logged_run(
        world.store, name="living", workspace="live", status=RunState.RUNNING, metrics={"loss": [4.0]}, curves={}
    )
    until(lambda: world.client.runs.list(where='name == "living"').items)
    page = visit(f"/w/live/compare?runs={world.number('living')}&tab=differences&all=1")
    row(page, "loss last").get_by_role("cell", name="4", exact=True).wait_for()
    RunFolder(world.store, uid).write_summary(Summary(started=now(), metrics={"loss": metric(4.0, 3.0)}))
    put_manifest(world.store, uid, serial=2)
    row(page, "loss last").get_by_role("cell", name="3", exact=True).wait_for()


def test_a_field_that_is_not_there_is_told_so(visit, world):
    page = visit(compare(world, "one", "two", more="tab=differences"))
    cells(page, "seed")
    page.get_by_label("Find a field").fill("nonsense")
    page.get_by_text("No field matches").wait_for()
    assert page.get_by_text("do not differ").count() == 0
    page.reload()
    page.get_by_text("No field matches").wait_for()
    expect(page.get_by_label("Find a field")).to_have_value("nonsense")
    page.get_by_role("button", name="Show all fields").click()
    cells(page, "seed")


def test_changes_of_code_stand_side_by_side_file_by_file(visit, world):
    page = visit(compare(world, "one", "two", "three", more="tab=differences"))
    changed = page.get_by_role("region", name="train.py")
    changed.wait_for()
    added = changed.locator(".added").all_inner_texts()
    assert [line.strip() for line in added] == ["+rate = 2", "+rate = 3"]
    page.get_by_role("region", name="only_one.py").get_by_text("as committed").wait_for()
    assert page.get_by_role("region", name="alike.py").count() == 0
    page.get_by_text("1 file changed alike in both").wait_for()
    page.get_by_label("Run", exact=True).select_option(label="three")
    changed.get_by_text("+rate = 4").wait_for()
    page.reload()
    changed.get_by_text("+rate = 4").wait_for()


def test_seeds_that_differ_in_their_last_digit_are_groups_of_their_own(visit, world):
    page = visit(compare(world, "one", "two", more="group=hparams.seed"))
    page.locator("section[data-tag='loss'] footer", has_text="2 curves").wait_for()
    groups = page.locator("aside li .group").all_inner_texts()
    assert sorted(groups) == ["20240101", "20240102"]


def test_texts_that_begin_alike_are_places_of_an_axis(visit, world):
    page = visit(compare(world, "one", "two", "three", more="tab=parameters&axes=hparams.model&scatter=hparams.model"))
    page.get_by_text("3 runs; drag along an axis").wait_for()
    until(lambda: page.locator("svg .line").count() == 3)
    page.get_by_text("1 runs have no number here").wait_for()  # NaN
    until(lambda: page.locator("circle").count() == 2)


def test_attempts_of_a_run_are_listed(visit, world):
    page = visit(f"/w/lab/runs/{world.number('one')}")
    attempts = page.locator("section", has=page.get_by_role("heading", name="Attempts")).locator(".attempt")
    attempts.nth(1).wait_for()
    expect(attempts).to_have_count(2)
    expect(attempts.nth(0)).to_contain_text("machine")
    expect(attempts.nth(1)).to_contain_text("second-host")
