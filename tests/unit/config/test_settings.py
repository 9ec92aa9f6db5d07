# SPDX-License-Identifier: Apache-2.0
"""Flags win over the environment, the environment over the file; what nobody understands is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from aboard.config.declarations import parse_size
from aboard.config.settings import DEFAULT_TEMPLATE, load_settings
from aboard.errors import InvalidValue, StorageUnavailable
from support.privileges import folder_of_an_ordinary_user


def _write(home: Path, text: str) -> dict[str, str]:
    home.joinpath("config.toml").write_text(text)
    return {"ABOARD_HOME": str(home)}


def test_without_anything_runs_are_kept_in_the_home_folder(tmp_path: Path) -> None:
    settings = load_settings(environ={"HOME": str(tmp_path), "ABOARD_HOME": str(tmp_path / "mine")})
    assert settings.home == tmp_path / "mine"
    assert settings.store == str(tmp_path / "mine" / "store")
    assert (settings.server, settings.token, settings.workspace) == (None, None, "default")
    assert settings.template == DEFAULT_TEMPLATE == "{workspace}_{run}_{logdir}"


def test_home_is_below_the_persons_own_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert load_settings(environ={}).home == tmp_path / ".aboard"


def test_flags_win_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    environ = _write(tmp_path, 'store = "s3://file"\nserver = "http://file"\nworkspace = "file"\n')
    environ["ABOARD_STORE"] = "s3://environment"
    environ["ABOARD_SERVER"] = "http://environment"
    settings = load_settings({"store": "s3://flag", "server": None}, environ)
    assert settings.store == "s3://flag"
    assert settings.server == "http://environment"
    assert settings.workspace == "file"


def test_an_empty_variable_counts_as_none(tmp_path: Path) -> None:
    assert load_settings(environ={"ABOARD_HOME": str(tmp_path), "ABOARD_SERVER": ""}).server is None


def test_tables_of_the_file(tmp_path: Path) -> None:
    environ = _write(tmp_path, '[tensorboard]\ntemplate = "{run}"\n[cache]\nlimit = "500MB"\n')
    settings = load_settings(environ=environ)
    assert settings.template == "{run}"
    assert settings.cache_limit == 500_000_000


def test_another_file_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text('workspace = "team"')
    environ = {"ABOARD_HOME": str(tmp_path), "ABOARD_CONFIG": str(tmp_path / "other.toml")}
    assert load_settings(environ=environ).workspace == "team"
    environ["ABOARD_CONFIG"] = str(tmp_path / "none.toml")
    with pytest.raises(InvalidValue, match=r"none\.toml, which does not exist"):
        load_settings(environ=environ)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('sotre = "x"', "did you mean 'store'"),
        ('[tensorboard]\ncolour = "red"', "unknown setting 'tensorboard.colour'"),
        ("store = ", "config.toml"),
        ("store = true", "a text is expected"),
        ('[cache]\nlimit = "much"', "'much' is no size"),
    ],
)
def test_mistakes_in_the_file_are_said_with_their_place(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        load_settings(environ=_write(tmp_path, text))
    assert said in str(caught.value)
    assert "config.toml" in str(caught.value)


def test_a_home_that_cannot_be_one_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for home in (tmp_path / "file", tmp_path / "file" / "x"):
        with pytest.raises(StorageUnavailable, match=r"(?s)home folder of aboard: Not a directory.*Set ABOARD_HOME"):
            load_settings(environ={"ABOARD_HOME": str(home)})
    with pytest.raises(StorageUnavailable, match=r"(?s)cannot be read: Not a directory.*ABOARD_CONFIG"):
        load_settings(environ={"ABOARD_HOME": str(tmp_path), "ABOARD_CONFIG": str(tmp_path / "file" / "x")})
    with folder_of_an_ordinary_user() as folder:
        (folder / "closed").mkdir(mode=0o000)
        with pytest.raises(StorageUnavailable, match=r"(?s)Permission denied.*Set ABOARD_HOME"):
            load_settings(environ={"ABOARD_HOME": str(folder / "closed")})


def test_the_token_is_not_printed(tmp_path: Path) -> None:
    environ = {"ABOARD_HOME": str(tmp_path), "ABOARD_TOKEN": "very-secret"}
    assert load_settings(environ=environ).token == "very-secret"
    assert "very-secret" not in repr(load_settings(environ=environ))


@pytest.mark.parametrize(
    ("text", "bytes_"), [("17", 17), ("4 GiB", 4 << 30), ("1.5kb", 1500), ("2T", 2 * 10**12), ("1MiB", 1 << 20)]
)
def test_sizes(text: str, bytes_: int) -> None:
    assert parse_size(text) == bytes_
