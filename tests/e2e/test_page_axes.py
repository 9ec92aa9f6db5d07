# SPDX-License-Identifier: Apache-2.0
"""What is drawn where: along which axis, smoothed before the raw curve, with bands or without."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from aboard import SummaryWriter
from support.chart_files import card, picture_of, rows_of
from support.chart_zoom import drag, zoom_of
from support.logged_runs import logged_run, tb_folder
from support.page_world import World, page_world
from support.processes import until

POINTS = 40
MANY = 20_000
CROWD = 120


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with page_world(tmp_path_factory.mktemp("page")) as made:
        made.uids["zigzag"] = logged_run(
            made.store,
            name="zigzag",
            workspace="lab",
            curves={
                "loss": [float(step % 2) for step in range(POINTS)],
                "epoch": [10.0 * step for step in range(POINTS)],
                "long": [float(step % 2) for step in range(9000)],
                "peaks": [float(step % 100 == 50) for step in range(9000)],
            },
        )
        _long_run(made, "early", lambda step: 1000.0 + step, lambda step: 10.0 * step)
        _long_run(made, "late", lambda step: 500_000.0 + 2 * step, lambda step: 10.0 * (MANY - step))
        for number in range(CROWD):
            _run_of_crowd(made, number)
        until(lambda: made.client.runs.count() == 3 + CROWD)
        yield made


def _long_run(made: World, name: str, time: Callable[[int], float], along: Callable[[int], float]) -> None:
    """A run whose values are its steps, with a metric that leads somewhere and one that goes to and fro."""
    made.uids[name] = logged_run(made.store, name=name, workspace="lab", curves={})
    with SummaryWriter(str(tb_folder(made.store, made.uids[name]))) as writer:
        for step in range(MANY):
            for tag, value in (("many", step), ("along", along(step)), ("restless", step % 2)):
                writer.add_scalar(tag, value, step, walltime=time(step))


def _run_of_crowd(made: World, number: int) -> None:
    uid = logged_run(made.store, name=f"crowd-{number}", workspace="crowd", curves={})
    with SummaryWriter(str(tb_folder(made.store, uid))) as writer:
        for step in range(600):
            writer.add_scalar("many", step, step, walltime=10_000.0 * number + step)


def charts(tag: str, more: str = "") -> str:
    return f"/w/lab/compare?tags=^{tag}${more}"


def heights(path: str) -> set[float]:
    return {float(point.split()[1]) for point in path.lstrip("M").split("L")}


def test_the_raw_curve_stays_behind_the_smoothed_one(visit):
    page = visit(charts("loss"))
    before = picture_of(page, "loss")
    assert before.paths("0.3") == []
    (raw,) = before.paths()
    page.get_by_role("button", name="Smoothing").click()
    page.get_by_role("radio", name="Moving mean").check()
    page.keyboard.press("Escape")
    after = picture_of(page, "loss")
    (behind,), (smoothed,) = after.paths("0.3"), after.paths()
    assert behind.count("L") == raw.count("L") == POINTS - 1
    assert len(heights(behind)) == 2
    # Its middle is calm, between both.
    assert min(heights(behind)) < min(heights(smoothed))
    assert max(heights(smoothed)) < max(heights(behind))


@pytest.mark.parametrize("kind", ["exponential", "time", "mean", "gaussian"])
def test_a_reduced_curve_is_smoothed_to_the_level_that_all_its_points_have(visit, kind):
    page = visit(charts("peaks", f"&smoothing={kind}&amount=0.99"))
    card(page, "peaks").locator("footer", has_text="reduced for the screen").wait_for()
    rows = rows_of(page, "peaks")
    assert max(float(row["high"]) for row in rows) == 1
    levels = [float(row["peaks"]) for row in rows]
    assert sum(levels) / len(levels) == pytest.approx(0.01, rel=0.2)


def test_a_smoothed_reduced_curve_has_a_band_until_bands_are_off(visit):
    page = visit(charts("long", "&smoothing=mean&amount=0.9"))
    (band,) = picture_of(page, "long").paths("0.18")
    assert band.endswith("Z")
    page.get_by_role("button", name="Axes and bands").click()
    page.get_by_role("checkbox", name="Bands from least to most").uncheck()
    page.keyboard.press("Escape")
    without = picture_of(page, "long")
    assert without.paths("0.18") == []
    assert len(without.paths()) == 1


@pytest.mark.parametrize(
    ("axis", "texts"),
    [
        ("", ["0", "10", "20", "30"]),
        ("&x=relative", ["0", "10 s", "20 s", "30 s"]),
        ("&x=wall", ["00:16:40", "00:16:50", "00:17:00", "00:17:10"]),
        ("&x=metric&xmetric=epoch", ["0", "100", "200", "300"]),
        ("&logx=1", ["1", "2", "5", "10", "20"]),
    ],
)
def test_the_axis_is_the_one_that_was_chosen(visit, axis, texts):
    page = visit(charts("loss", axis), locale="en-US", timezone_id="UTC")
    assert picture_of(page, "loss").along("middle") == texts


def test_points_stand_at_the_values_of_another_metric(visit):
    page = visit(charts("loss", "&x=metric"))
    page.get_by_label("Metric of the x axis").select_option("epoch")
    card(page, "loss").locator("footer", has_text=f"{POINTS} points").wait_for()
    until(lambda: len(rows_of(page, "loss")) == POINTS)
    assert [(row["x"], row["loss"]) for row in rows_of(page, "loss")][:3] == [("0", "0"), ("10", "1"), ("20", "0")]


def drawn_steps(page: Any) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for row in rows_of(page, "many"):
        found.setdefault(row["curve"], set()).add(int(row["many"]))
    return found


@pytest.mark.parametrize("log", ["", "&logx=1"])
@pytest.mark.parametrize(
    ("axis", "places"),
    [
        ("", {"early": lambda step: step, "late": lambda step: step}),
        ("&x=relative", {"early": lambda step: step, "late": lambda step: 2 * step}),
        ("&x=metric&xmetric=along", {"early": lambda step: 10 * step, "late": lambda step: 10 * (MANY - step)}),
    ],
    ids=["step", "relative", "metric"],
)
def test_a_zoom_along_any_axis_asks_for_every_point(visit, axis, places, log):
    page = visit(charts("many", f"{axis}{log}&columns=1"))
    footer = card(page, "many").locator("footer")
    footer.filter(has_text=f"2 curves · {2 * MANY:,} points, reduced for the screen: zoom for more").wait_for()
    drag(page, "many", *((0.6, 0.62) if log else (0.25, 0.26)))
    footer.filter(has_text=re.compile(r"points$")).wait_for()
    first, last = zoom_of(page)
    seen = {name: {step for step in range(MANY) if first <= place(step) <= last} for name, place in places.items()}
    assert all(50 < len(steps) < 500 for steps in seen.values())
    # A link shows the same.
    for _ in range(2):
        steps = drawn_steps(page)
        assert all(seen[name] <= steps[name] for name in seen)
        assert picture_of(page, "many").along("middle")
        page.reload()
        footer.filter(has_text=re.compile(r"points$")).wait_for()


def test_along_a_metric_that_goes_to_and_fro_steps_lead_further(visit):
    page = visit(charts("many", "&x=metric&xmetric=restless&zoom=0.2~1.7"))
    with page.expect_response(lambda answer: "/api/v1/series" in answer.url and "from_step" in answer.url):
        page.reload()
    card(page, "many").locator("footer", has_text="reduced for the screen: zoom for more, along steps").wait_for()


@pytest.mark.parametrize("key", ["ArrowRight", "+", "-"])
def test_keys_move_along_a_logarithmic_axis(visit, key):
    page = visit(charts("many", "&logx=1&zoom=100~1000"))
    card(page, "many").get_by_role("img").press(key)
    until(lambda: zoom_of(page) != (100, 1000))
    moved = {"ArrowRight": (133.35, 1333.5), "+": (133.35, 749.89), "-": (68.129, 1467.8)}
    assert zoom_of(page) == pytest.approx(moved[key], rel=1e-3)


def test_a_zoom_since_the_start_of_many_runs_asks_few_questions(visit):
    page = visit(f"/w/crowd/compare?first={CROWD}&x=relative&tags=^many$&columns=1")
    footer = card(page, "many").locator("footer")
    footer.filter(has_text=f"{CROWD} curves · {CROWD * 600:,} points, reduced").wait_for()
    questions: list[str] = []
    # Of the zoom: without windows it asks again for what it hears that has changed.
    page.on("request", lambda request: questions.append(request.url) if "&since=" in request.url else None)
    drag(page, "many", 0.5, 0.55)
    footer.filter(has_text=re.compile(r"points$")).wait_for()
    first, last = zoom_of(page)
    steps = drawn_steps(page)
    assert len(steps) == CROWD
    assert all({step for step in range(600) if first <= step <= last} <= found for found in steps.values())
    assert 1 <= len(questions) <= 2
    assert max(map(len, questions)) < 8000
