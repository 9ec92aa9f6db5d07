# SPDX-License-Identifier: Apache-2.0
"""What command lines about boards mean, before any server is asked."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from aboard.cli.arguments import apply_pairs
from aboard.cli.habits import list_given_flags, parse_trial_ids, repeat_flag
from aboard.cli.output import format_yaml
from aboard.cli.selections import classify_words, expand_files, resolve_folders
from aboard.errors import InvalidValue


class TestValuesBehindOneFlag:
    @pytest.mark.parametrize(
        ("typed", "meant"),
        [
            ("7 --trial-ids 12 13 14", "7 --trial-ids 12 --trial-ids 13 --trial-ids 14"),
            ("-t 12 13 --no-browser 7", "-t 12 -t 13 --no-browser 7"),
            ("--trial-ids 12 -- 7 8", "--trial-ids 12 -- 7 8"),
            ("--trial-ids=12 7", "--trial-ids=12 7"),
            ("7 8", "7 8"),
            ("--trial-ids", "--trial-ids"),
        ],
    )
    def test_each_gets_the_flag(self, typed: str, meant: str):
        assert repeat_flag(typed.split()) == meant.split()

    def test_numbers_of_trials_are_those_of_runs(self):
        assert parse_trial_ids(["12,", "13", "14-16", "run17", "base"]) == [
            "run12",
            "run13",
            "run14-16",
            "run17",
            "base",
        ]


class TestConfigPairs:
    def test_dots_lists_and_json(self):
        pairs = ["a.b.c=1", "a.b.d=true", "list=x, 2,", 'json={"k": [1]}', "text=30m", "empty=", "later=1", "later=2"]
        assert apply_pairs({"a": {"kept": 1}}, pairs) == {
            "a": {"kept": 1, "b": {"c": 1, "d": True}},
            "list": ["x", 2],
            "json": {"k": [1]},
            "text": "30m",
            "empty": "",
            "later": 2,
        }

    def test_what_was_given_stays_as_it_was(self):
        given_ = {"a": {"b": 1}}
        apply_pairs(given_, ["a.b=2"])
        assert given_ == {"a": {"b": 1}}

    @pytest.mark.parametrize("pair", ["novalue", "=1", "a..b=1", ".a=1"])
    def test_no_pair(self, pair: str):
        with pytest.raises(InvalidValue, match="is not KEY=VALUE"):
            apply_pairs({}, [pair])

    def test_a_value_is_no_place_for_others(self):
        with pytest.raises(InvalidValue, match="goes into 'a', which holds 1"):
            apply_pairs({"a": 1}, ["a.b=2"])


class TestWordsOfView:
    @pytest.fixture(autouse=True)
    def here(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        for name in ("logs", "run7", "a,b", "lab"):
            Path(name).mkdir()

    @pytest.mark.parametrize(
        ("typed", "runs", "folders"),
        [
            (["logs"], [], ["logs"]),
            (["logs/"], [], ["logs/"]),
            (["./nowhere", "s3://bucket/x", "~/x"], [], ["./nowhere", "s3://bucket/x", "~/x"]),
            (["run310,", "run341,", "run400"], ["run310", "run341", "run400"], []),
            (["run310,logs"], ["run310"], ["logs"]),
            (["a,b"], [], ["a,b"]),
            (["ws1/run23", "nowhere"], ["ws1/run23", "nowhere"], []),
            (["l*", "z*"], ["z*"], ["l*"]),
            (["mine=logs", "mine=nowhere", "lr=0.1"], ["mine=nowhere", "lr=0.1"], ["mine=logs"]),
            (["exp7", "job7", "7", "run1-run3"], ["exp7", "job7", "7", "run1-run3"], []),
            ([""], [], [""]),
            (["~nobody-of-this-name/x"], [], ["~nobody-of-this-name/x"]),
        ],
    )
    def test_folders_and_runs_are_told_apart(self, typed: list[str], runs: list[str], folders: list[str]):
        found = classify_words(typed)
        assert (found.runs, found.folders) == (runs, folders)

    def test_a_folder_that_could_be_a_run_is_mentioned(self):
        assert classify_words(["run7", "lab"]).notes == [
            "run7 is a folder here; `aboard board start run7` shows the run"
        ]

    def test_folders_for_a_board_with_runs(self, tmp_path: Path):
        assert resolve_folders(["l*", "s3://bucket/x"]) == [
            str(tmp_path / "lab"),
            str(tmp_path / "logs"),
            "s3://bucket/x",
        ]
        with pytest.raises(InvalidValue, match="holds a comma"):
            resolve_folders(["a,b"])
        Path("logs/events.out.tfevents.1.host").touch()
        with pytest.raises(InvalidValue, match="is a single file"):
            resolve_folders(["logs/events.out.tfevents.1.host"])


class TestWordFiles:
    def test_words_of_a_file_take_its_place(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        names = tmp_path / "names"
        names.write_bytes(b"\xef\xbb\xbfrun1, run2\r\n  # not this\n\n my run \n")
        assert expand_files(["run0", f"@{names},", "run9"]) == ["run0", "run1, run2", "my run", "run9"]
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"run5\n")))
        assert expand_files(["@-"]) == ["run5"]

    @pytest.mark.parametrize(
        ("content", "said"), [(b"", "names nothing"), (b"# only\n", "names nothing"), (b"\xff\xfe", "no text in UTF-8")]
    )
    def test_files_that_name_nothing(self, tmp_path: Path, content: bytes, said: str):
        names = tmp_path / "names"
        names.write_bytes(content)
        with pytest.raises(InvalidValue, match=said):
            expand_files([f"@{names}"])


def test_a_port_of_0_was_given():
    assert list_given_flags(host=None, port=0, bind_all=False, path_prefix="") == ["--port"]


@given(
    st.dictionaries(
        st.text(max_size=8),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
            max_leaves=8,
        ),
        max_size=5,
    )
)
def test_yaml_means_the_same_to_any_reader(document: dict[str, object]):
    assert yaml.safe_load(format_yaml(document)) == document


def test_yaml_is_easy_on_the_eye():
    document = {"sources": ["exp7", "ws1/base*"], "template": "{run}", "idle_timeout": 1800.0, "on": {"off": "no"}}
    assert format_yaml(document) == (
        'sources:\n  - exp7\n  - "ws1/base*"\ntemplate: "{run}"\nidle_timeout: 1800.0\n"on":\n  "off": "no"\n'
    )
