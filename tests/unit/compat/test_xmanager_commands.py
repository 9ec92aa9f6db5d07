# SPDX-License-Identifier: Apache-2.0
"""The command lines of XManager's executables."""

from __future__ import annotations

import shlex

from aboard.compat.xmanager import xm

AWKWARD = ["--name=two words", "--lr=$HOME; rm -r x", "it's"]


def packaged(entrypoint: xm.ModuleName | xm.CommandList) -> xm.Executable:
    (executable,) = xm.package([xm.Packageable(xm.PythonContainer(entrypoint))])
    return executable


def test_arguments_of_a_shell_line_are_quoted() -> None:
    line = packaged(xm.CommandList(["cd /work", "python train.py"])).command(AWKWARD)
    assert isinstance(line, str)
    assert line.startswith("cd /work; python train.py ")
    assert shlex.split(line)[-3:] == AWKWARD


def test_arguments_of_a_module_are_passed_as_they_are() -> None:
    assert packaged(xm.ModuleName("train")).command(AWKWARD) == ("python", "-m", "train", *AWKWARD)


def test_a_shell_line_without_arguments_has_no_trailing_space() -> None:
    assert packaged(xm.CommandList(["make train"])).command([]) == "make train"


def test_mappings_become_flags() -> None:
    assert xm.words_of({"lr": 0.1, "amp": True, "debug": False}) == ["--lr=0.1", "--amp", "--nodebug"]
    assert xm.words_of(["a", 2]) == ["a", "2"]
    assert xm.words_of(None) == []
