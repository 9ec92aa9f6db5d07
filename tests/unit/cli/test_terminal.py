# SPDX-License-Identifier: Apache-2.0
"""`aboard ls` and `aboard plot` over folders."""

import json
import math
from pathlib import Path

import pytest

from aboard import SummaryWriter
from aboard.cli.ls import LsOptions, list_in_terminal, sparkline
from aboard.cli.plot import PlotOptions, plot, smooth
from aboard.errors import AboardError, UnknownName


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("ABOARD_HOME", str(tmp_path / "home"))
    for name, lr, last in (("slow", 0.1, 0.5), ("fast", 0.3, 0.25)):
        with SummaryWriter(str(tmp_path / "logs" / name)) as writer:
            writer.add_hparams({"lr": lr, "layers": 3}, {}, in_place=True)
            for step, value in enumerate((1.0, 0.75, last)):
                writer.add_scalar("train/loss", value, step, walltime=1000.0 + step)
    return str(tmp_path / "logs")


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_ls_shows_parameters_that_differ_and_metrics_with_sparklines(logs, capsys):
    list_in_terminal(LsOptions(words=[logs], sort="metrics.train/loss"))
    head, _, first, second = printed(capsys)
    assert [cell.strip() for cell in head.split("|")] == ["name", "status", "started", "duration", "lr", "train/loss"]
    assert first.startswith("fast")
    assert first.endswith("█▆▁ 0.25")
    assert second.endswith("0.5")


def test_ls_filters_and_prints_json_and_csv(logs, capsys):
    list_in_terminal(LsOptions(words=[logs], where="hparams.lr > 0.2", as_json=True))
    (document,) = printed(capsys)
    (run,) = json.loads(document)["items"]
    assert (run["name"], run["hparams"]["lr"], run["metrics"]["train/loss"]["last"]["value"]) == ("fast", 0.3, 0.25)
    list_in_terminal(LsOptions(words=[logs], columns="name,metrics.train/loss.min=low", as_csv=True, sort="name"))
    assert printed(capsys) == ["name,low", "fast,0.25", "slow,0.5"]


def test_ls_refuses_what_no_run_has(logs, tmp_path):
    with pytest.raises(AboardError, match=r"hparams\.rate"):
        list_in_terminal(LsOptions(words=[logs], where="hparams.rate > 1"))
    with pytest.raises(UnknownName, match="No run has the metric 'los'"):
        list_in_terminal(LsOptions(words=[logs], metrics=["los"]))
    (tmp_path / "empty").mkdir()
    with pytest.raises(UnknownName, match="No event files"):
        list_in_terminal(LsOptions(words=[str(tmp_path / "empty")]))


@pytest.mark.parametrize(
    ("values", "expected"),
    [([], ""), ([1.0], "▁"), ([0.0, 1.0], "▁█"), ([0.0, math.nan, 1.0], "▁ █"), ([2.0, 2.0], "▁▁"), ([math.nan], " ")],
)
def test_sparklines_span_the_range_of_their_values(values, expected):
    assert sparkline(values) == expected


def test_plot_draws_each_run_between_the_smallest_and_largest_value(logs, capsys):
    plot(PlotOptions(words=[logs], metrics=["loss"], width=60, height=5, sort="name"))
    lines = printed(capsys)
    assert lines[0] == "train/loss"
    assert lines[1].split()[0] == "1"
    assert lines[5].split()[0] == "0.25"
    assert lines[7].split() == ["0", "2"]
    assert [line.split() for line in lines[8:]] == [["*", "fast"], ["+", "slow"]]
    assert "*" in lines[5]  # the curve that ends lowest
    assert "+" not in lines[5]


def test_plot_needs_a_metric_and_names_those_there_are(logs):
    with pytest.raises(AboardError) as caught:
        plot(PlotOptions(words=[logs]))
    assert "train/loss" in caught.value.hint


def test_smoothing_is_that_of_tensorboard():
    assert smooth([1.0, 3.0], 0.0) == [1.0, 3.0]
    assert smooth([1.0, math.nan, 3.0], 0.5)[2] == pytest.approx((0.5 * 0.5 * 1 + 0.5 * 3) / 0.75)


def test_ls_leaves_out_columns_that_do_not_fit_the_terminal(logs, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "30")
    list_in_terminal(LsOptions(words=[logs]))
    told = capsys.readouterr()
    assert [cell.strip() for cell in told.out.splitlines()[0].split("|")] == ["name", "lr", "train/loss"]
    assert max(map(len, told.out.splitlines())) <= 30
    assert "Hidden at 30 columns: started, status, duration." in told.err
    list_in_terminal(LsOptions(words=[logs], columns="name,started,status"))
    assert max(map(len, printed(capsys))) > 30, "what is named is shown"


def test_ls_says_which_filter_matched_nothing(logs, capsys):
    list_in_terminal(LsOptions(words=[logs], where="hparams.lr > 5"))
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "No runs match hparams.lr > 5\n")
    with pytest.raises(UnknownName, match=r"No run matches hparams\.lr > 5\."):
        plot(PlotOptions(words=[logs], metrics=["loss"], where="hparams.lr > 5"))


def test_a_mistyped_folder_is_called_one(tmp_path, monkeypatch):
    monkeypatch.setenv("ABOARD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ABOARD_STORE", str(tmp_path / "store"))
    with pytest.raises(AboardError, match="there is no folder 'rnus'"):
        list_in_terminal(LsOptions(words=["rnus"]))
