# SPDX-License-Identifier: Apache-2.0
"""Every flag of `tensorboard --help` is understood, or what to use instead is said."""

import argparse
from typing import Any

import pytest
from tensorboard.plugins.core.core_plugin import CorePluginLoader
from typer.main import get_command

from aboard.cli import app
from aboard.cli.habits import _INSTEAD, parse_sample_options, strip_subcommand, translate_arguments
from aboard.errors import InvalidValue


def tensorboards_flags():
    parser = argparse.ArgumentParser(add_help=False)
    CorePluginLoader().define_flags(parser)
    return sorted(flag for action in parser._actions for flag in action.option_strings)


def flags_of_view():
    group: Any = get_command(app)
    view = group.commands["view"]
    return {flag for parameter in view.params for flag in parameter.opts}


def test_every_flag_of_tensorboard_is_known():
    flags = set(tensorboards_flags())
    replaced = {flag for flag in flags if flag.removeprefix("--") in _INSTEAD}
    assert replaced
    for flag in replaced:
        with pytest.raises(InvalidValue, match=r"hint: (aboard doctor|give the)"):
            translate_arguments(["runs", flag, "value", "more"])
    ignored = flags - replaced - flags_of_view() - {"--helpfull", "--version_tb"}
    assert ignored
    for flag in ignored:
        arguments, notes = translate_arguments(["runs", flag, "value", "more"])
        assert arguments == ["runs", "more"]
        assert notes[0].startswith(f"{flag} has no effect: ")


@pytest.mark.parametrize(
    ("typed", "left"),
    [
        (["--load_fast=false", "runs"], ["runs"]),
        (["--load_fast", "false", "runs"], ["runs"]),
        (["--load-fast", "auto"], []),
        (["--load_fast", "--port", "1"], ["--port", "1"]),
        (["--port", "default", "runs"], ["runs"]),
        (["--port=default", "runs"], ["runs"]),
        (["--port"], ["--port"]),
        (["--helpfull"], ["--help"]),
        (["--", "--load_fast=false"], ["--", "--load_fast=false"]),
        (["--template", "{run}"], ["--template", "{run}"]),
    ],
)
def test_what_is_left_for_aboard(typed, left):
    assert translate_arguments(typed).arguments == left


@pytest.mark.parametrize(
    "flag", ["--inspect", "--db=sqlite:x", "--db_import", "--event_file", "--grpc_data_provider=x"]
)
def test_what_to_use_instead(flag):
    with pytest.raises(InvalidValue, match="is not a flag of aboard view"):
        translate_arguments([flag, "x"])


def test_the_words_tensorboard_and_serve(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert strip_subcommand(["tensorboard"]) == []
    assert strip_subcommand(["tensorboard", "runs"]) == ["runs"]
    assert strip_subcommand(["tensorboard", "serve", "runs"]) == ["runs"]
    assert strip_subcommand(["serve"]) == []
    assert strip_subcommand(["runs", "tensorboard"]) == ["runs", "tensorboard"]
    (tmp_path / "tensorboard").mkdir()
    assert strip_subcommand(["tensorboard"]) == ["tensorboard"]
    assert strip_subcommand(["tensorboard", "runs"]) == ["runs"]


@pytest.mark.parametrize(
    ("samples", "per_plugin", "wanted"),
    [
        (None, None, {}),
        (100, None, {"scalars": 100}),
        (0, "", {"scalars": 0}),
        (None, "scalars=500,images=0", {"scalars": 500, "images": 0}),
        (7, " text = 3 ,", {"scalars": 7, "text": 3}),
        (7, "scalars=7", {"scalars": 7}),
        (None, "somebodys-plugin=5", {"somebodys-plugin": 5}),
    ],
)
def test_samples_are_given_in_both_ways(samples, per_plugin, wanted):
    assert parse_sample_options(samples, per_plugin) == wanted


@pytest.mark.parametrize(
    ("samples", "per_plugin", "said"),
    [
        (None, "scalars", "plugin=number pairs, got 'scalars'"),
        (None, "scalars=many", "got 'scalars=many'"),
        (None, "scalars=-1", "got 'scalars=-1'"),
        (None, "=5", "got '=5'"),
        (5, "scalars=6", "given twice, as 5 and as 6"),
        (None, "distributions=6", "use histograms=6"),
    ],
)
def test_samples_that_make_no_sense_are_refused(samples, per_plugin, said):
    with pytest.raises(InvalidValue) as error:
        parse_sample_options(samples, per_plugin)
    assert said in str(error.value)
