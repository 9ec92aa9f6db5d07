# SPDX-License-Identifier: Apache-2.0
"""The command of a job: the words of the user with values of hyperparameters filled in, and names made from them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from aboard.errors import InvalidValue
from aboard.model.hparams import HparamValue

HPARAMS = "ABOARD_HPARAMS"
"""The variable in which a job finds its hyperparameters as JSON; `aboard run` takes them from there."""
_PLACEHOLDER = re.compile(r"\{hparams\.([^{}\s]+)\}")
_SHELL = re.compile(r"[|&;<>()$`*?\[\]#~!\n]|^\s*\w+=")


def split_command(command: str | Sequence[str]) -> tuple[str, ...]:
    """A command as words; a text that says more than words do goes to a shell."""
    if not isinstance(command, str):
        words = tuple(command)
    elif _SHELL.search(command):
        words = ("/bin/sh", "-c", command)
    else:
        try:
            words = tuple(shlex.split(command))
        except ValueError as error:
            hint = "give it as a list of words, or look for a quote without its pair"
            raise InvalidValue(f"the command {command!r} cannot be taken apart: {error}", hint=hint) from None
    if not words or not words[0]:
        raise InvalidValue("there is no command to run", hint='give one, as command="python train.py"')
    return words


def fill_in_hparams(words: Sequence[str], hparams: Mapping[str, HparamValue]) -> tuple[str, ...]:
    """The words with values in place of `{hparams.NAME}`; within a line of shell they are quoted."""
    is_shell = tuple(words[:2]) == ("/bin/sh", "-c")

    def value(match: re.Match[str]) -> str:
        if match[1] not in hparams:
            known = ", ".join(sorted(hparams)) or "none"
            raise InvalidValue(f"the command names {match[0]}, which has no value", hint=f"hyperparameters: {known}")
        text = _text(hparams[match[1]])
        return shlex.quote(text) if is_shell else text

    return tuple(_PLACEHOLDER.sub(value, word) for word in words)


def default_run_name(words: Sequence[str], unit: str) -> str:
    """What a run is called when nobody says it: after its script, and unlike any other."""
    scripts = [word for word in " ".join(words).split() if word.endswith((".py", ".sh"))]
    plain = re.sub(r"[^A-Za-z0-9_.-]", "-", PurePath(scripts[0] if scripts else words[0]).stem).strip("-.") or "job"
    return f"{plain[:60]}-{unit[-8:].lower()}"


def unit_name_from(run: str) -> str:
    """A name for the unit, as near to that of the run as units may be called."""
    return re.sub(r"[^a-z0-9]+", "-", run.lower()).strip("-")[:40].strip("-") or "job"


def _text(value: HparamValue) -> str:
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)
