# SPDX-License-Identifier: Apache-2.0
"""Settings of a board, and names for boards."""

import random

import pytest

from aboard.errors import Forbidden, InvalidValue
from aboard.model.board_settings import parse_settings
from aboard.model.boards import pet_name


def test_arguments_of_tensorboard_that_mean_something():
    arguments = [
        "--samples-per-plugin=images=100,scalars=0",
        "--window_title",
        "Mine",
        "--samples_per_plugin",
        "text=5",
    ]
    settings = parse_settings({"tensorboard_args": arguments, "plugins": "profile"}, allowed_plugins=["profile"])
    assert settings.samples == {"images": 100, "scalars": 0, "text": 5}
    assert (settings.window_title, settings.plugins) == ("Mine", ("profile",))
    assert parse_settings(settings.as_mapping(), allowed_plugins=None) == settings
    assert parse_settings({}).as_mapping() == {}


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"tensorbord_args": []}, "(?s)no setting 'tensorbord_args'.*did you mean 'tensorboard_args'"),
        ({"bind_mounts": []}, "'bind_mounts' is for boards that are processes"),
        ({"tensorboard_args": 7}, "tensorboard_args is 7"),
        ({"tensorboard_args": [7]}, "tensorboard_args is"),
        ({"tensorboard_args": ["--logdir=/etc"]}, "has no meaning"),
        ({"tensorboard_args": ["--samples_per_plugin"]}, "has no value"),
        ({"tensorboard_args": ["--samples_per_plugin=images"]}, "plugin=number pairs"),
        ({"tensorboard_args": ["--samples_per_plugin=images=1,images=2"]}, "given twice"),
    ],
)
def test_what_is_wrong_is_told(given, problem):
    with pytest.raises(InvalidValue, match=problem):
        parse_settings(given)


def test_plugins_come_from_the_list_only():
    with pytest.raises(Forbidden, match=r"(?s)'evil' may not be loaded.*allowed are: profile"):
        parse_settings({"plugins": ["profile", "evil"]}, allowed_plugins=["profile"])


def test_pet_names_are_of_three_words_and_not_given_twice():
    chance = random.Random(7)
    taken: set[str] = set()
    for _ in range(200):
        name = pet_name(taken, chance=chance)
        assert name not in taken
        assert len(name.split("-")) == 3
        assert name == name.lower()
        taken.add(name)


def test_when_every_name_is_taken_a_number_follows():
    class All:
        def __contains__(self, name: object) -> bool:
            return str(name).count("-") == 2 or str(name).endswith("-2")

    assert pet_name(All()).endswith("-3")
