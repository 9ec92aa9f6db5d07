# SPDX-License-Identifier: Apache-2.0
"""What filters mean, on one run; tests/contract/test_query_sql.py holds the catalog's SQL to the same."""

import math
from datetime import UTC, datetime, timedelta

from aboard.model.query.evaluate import compile_query
from aboard.model.query.parser import parse_query
from aboard.model.query.tree import LikePattern
from aboard.model.runs import Attempt, MetricPoint, MetricSummary, Note, RunRecord
from aboard.model.states import RunState
from support.cases import all_cases

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
RUN = RunRecord(
    uid="01ARZ3NDEKTSV4RRFFQ69G5FAV",
    number=343,
    name="Baseline 7",
    workspace="ws1",
    experiment="exp a",
    experiment_number=7,
    user="ann",
    status=RunState.RUNNING,
    created=NOW - timedelta(days=3),
    started=NOW - timedelta(hours=2),
    heartbeat=NOW,
    hparams={"lr": 0.01, "opt": "adam", "amp": True, "none": None, "nan": math.nan, "big": 10**400, "a b.c": 1},
    metrics={
        "loss": MetricSummary(MetricPoint(math.nan, 9, 1), MetricPoint(0.1, 3, 1), MetricPoint(5, 1, 1), 9),
        "only-nan": MetricSummary(MetricPoint(math.nan, 1, 1), None, None, 1),
    },
    tags={"best": "", "team": "vision"},
    notes=(Note(text="first"), Note(text="second look")),
    attempts=(Attempt(number=1, status=RunState.RUNNING),),
)


@all_cases(
    "text",
    [
        'hparams.lr < 0.02 and status == "running"',
        "hparams.lr != 3",
        "hparams.opt != 3",  # another kind of value is another value
        "hparams.nan != 3",
        "hparams.nan is nan",
        "hparams.none is none",
        "hparams.absent is none",
        "not hparams.absent == 1",
        "hparams.big > 1e300",
        "hparams.big == inf",
        "hparams.amp",
        "hparams.amp == true",
        'hparams."a b".c == 1',
        'hparams.opt in [1, "adam"]',
        "metrics.loss.min == 0.1 and metrics.loss.max == 5 and metrics.loss.count == 9",
        "metrics.loss.step == 9 and metrics.loss.min_step == 3 and metrics.loss.max_step == 1",
        "metrics.loss.last is nan",
        "metrics.only-nan.min is none",
        "metrics.only-nan.last is not none",
        '"best" in tags and tags.team == "vision" and "worst" not in tags',
        'tags.best == ""',
        'note contains "look" and note startswith "fir"',
        'note != "third"',
        "created > now - 4d and created < now - 2d",
        'created == "2026-11-12"',
        "duration == 2h",
        "ended is none",
        "attempts == 1",
        "experiment == 7 and run == 343",
        'name like "Base%_" and name ilike "base% 7"',
    ],
)
def test_holds(text):
    assert compile_query(parse_query(text), NOW)(RUN)


@all_cases(
    "text",
    [
        "hparams.absent == 1",
        "hparams.absent != 1",
        "hparams.absent not in [1]",
        "hparams.none != 1",
        "hparams.nan < 1 or hparams.nan > 1 or hparams.nan == 1",
        "hparams.amp == 1",
        "hparams.lr == true",
        'hparams.lr == "0.01"',
        'hparams.lr < "1"',
        'hparams.lr contains "0"',
        "metrics.loss.last < 1",
        "metrics.only-nan.min < 1",
        "metrics.absent.last is nan",
        'note == "look"',
        'note not contains "look"',
        'user == "Ann"',
        'name like "base%"',
        'name like "Baseline"',
        "ended > now - 1000d",
    ],
)
def test_does_not_hold(text):
    assert not compile_query(parse_query(text), NOW)(RUN)


@all_cases(
    ("pattern", "text", "fits"),
    [
        ("a%b%c", "aXbbYc", True),
        ("a%b%c", "acb", False),
        ("_", "ä", True),
        ("_", "", False),
        ("%", "", True),
        ("", "", True),
        ("", "x", False),
        (r"50\%", "50%", True),
        (r"50\%", "505", False),
        ("a*[b?", "a*[b?", True),
        ("%" * 8, "x", True),
        ("%a%b", "ab ab b", True),
    ],
)
def test_like_patterns(pattern, text, fits):
    assert LikePattern(pattern).matches(text) is fits


def test_the_hardest_pattern_takes_no_time():
    assert not LikePattern("%a%a%a%a%a%a%ab").matches("a" * 20_000)
