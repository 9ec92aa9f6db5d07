# SPDX-License-Identifier: Apache-2.0
"""Command lines as users of `tensorboard` and of Determined type them, translated to aboard's own options.

Every start of the command loads this module with the parser.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand

from aboard.errors import InvalidValue

# What needs no setting here, with the reason.
_NOT_NEEDED = {
    "load_fast": "reading is always native",
    "extra_data_server_flags": "there is no data server",
    "grpc_creds_type": "there is no data server",
    "purge_orphaned_data": "points that a restart superseded are kept aside and not shown",
    "max_reload_threads": "all cores read",
    "reload_task": "reading never blocks the page",
    "reload_multifile": "every event file of a folder is followed",
    "reload_multifile_inactive_secs": "every event file of a folder is followed, however old",
    "generic_data": "every dashboard reads through one provider",
    "detect_file_replacement": "replaced files are always noticed",
}
# What is done in another way, with the way.
_INSTEAD = {
    "inspect": "aboard doctor PATH tells what is in event files and what is wrong with them",
    "tag": "aboard doctor PATH tells what is in event files; the page filters tags",
    "event_file": "give the file itself: aboard view FILE",
    "db": "give the folders with event files: aboard view PATH",
    "db_import": "give the folders with event files: aboard view PATH",
    "grpc_data_provider": "give the folders with event files: aboard view PATH",
}


class TranslatedArguments(NamedTuple):
    """Arguments that aboard knows, and what is to be said about the others."""

    arguments: list[str]
    notes: list[str]


class ViewCommand(TyperCommand):
    """A command that understands the habits."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse what remains when the habits are translated."""
        if "--version_tb" in args:
            from importlib import metadata

            typer.echo(metadata.version("tensorboard"))
            raise typer.Exit
        arguments, notes = translate_arguments(args)
        for note in notes:
            typer.echo(f"note: {note}", err=True)
        return super().parse_args(ctx, arguments)


def translate_arguments(arguments: Sequence[str]) -> TranslatedArguments:
    """Take TensorBoard's own flags out of a command line, or say what to use instead."""
    result = TranslatedArguments([], [])
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument == "--":
            result.arguments.extend([argument, *rest])
            break
        flag = argument.partition("=")[0]
        name = flag.removeprefix("--").replace("-", "_") if flag.startswith("--") else ""
        if name in _INSTEAD:
            raise InvalidValue(f"{flag} is not a flag of aboard view", hint=_INSTEAD[name])
        if name in _NOT_NEEDED:
            _take_value(argument, rest)
            result.notes.append(f"{flag} has no effect: {_NOT_NEEDED[name]}")
        elif name == "helpfull":
            result.arguments.append("--help")
        elif name == "reuse_port":
            if _is_true(flag, _take_value(argument, rest)):
                result.arguments.append(flag)
        elif name == "port" and argument.endswith("=default"):
            continue
        elif name == "port" and rest[:1] == ["default"]:
            rest.pop(0)
        else:
            result.arguments.append(argument)
    return result


def _take_value(argument: str, rest: list[str]) -> str:
    """The value of a flag that has one, which may be the next argument."""
    _, equals, value = argument.partition("=")
    if not equals and rest and not rest[0].startswith("-"):
        return rest.pop(0)
    return value


def _is_true(flag: str, value: str) -> bool:
    if value.lower() not in ("true", "false"):
        raise InvalidValue(f"{flag} is {value!r}", hint="allowed are true and false")
    return value.lower() == "true"


def strip_subcommand(paths: Sequence[str]) -> list[str]:
    """The paths of `aboard view tensorboard PATH…`, and of `tensorboard serve …` retyped; folders may be called so."""
    rest = list(paths)
    for word in ("tensorboard", "serve"):
        if rest[:1] == [word] and (len(rest) > 1 or not os.path.lexists(word)):
            rest.pop(0)
    return rest


def list_given_flags(**values: object) -> list[str]:
    """The flags among these options that a person has given."""
    return [f"--{name}" for name, value in values.items() if value is not None and value is not False and value != ""]


_SEVERAL = frozenset({"--trial-ids", "-t"})
_NUMBERS = re.compile(r"[0-9]+(\s*-\s*[0-9]+)?", re.ASCII)


class StartCommand(TyperCommand):
    """A command that takes `--trial-ids 12 13 14`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse with the flag before each of its values."""
        return super().parse_args(ctx, repeat_flag(args))


def repeat_flag(arguments: Sequence[str]) -> list[str]:
    """`--trial-ids 12 13` as `--trial-ids 12 --trial-ids 13`; the next flag, or two dashes, end the values."""
    found: list[str] = []
    flag = ""
    is_first = False
    for place, argument in enumerate(arguments):
        if argument == "--":
            return [*found, *arguments[place:]]
        if argument.startswith("-"):
            flag, is_first = (argument, True) if argument in _SEVERAL else ("", False)
            found.append(argument)
        elif flag and not is_first:
            found += [flag, argument]
        else:
            found.append(argument)
            is_first = False
    return found


def parse_trial_ids(trial_ids: Sequence[str]) -> list[str]:
    """Words of a selection for what stands behind `--trial-ids`: numbers are those of runs."""
    from aboard.model.selections import split_words  # every command loads this module with the parser

    return [f"run{word}" if _NUMBERS.fullmatch(word) else word for word in split_words(trial_ids)]


def refuse_files(context: Sequence[str], include: Sequence[str]) -> None:
    """Explain why files cannot be given along."""
    if context or include:
        flag, value = ("--context", context[0]) if context else ("--include", include[0])
        raise InvalidValue(
            f"{flag} {value!r} is for boards that are containers of their own",
            hint="a board in the server reads the runs where they are and needs no files; leave it away",
        )


def parse_sample_options(samples: int | None, per_plugin: str | None) -> dict[str, int]:
    """The wanted number by plugin; 0 stands for all."""
    from aboard.model.board_settings import parse_samples

    return parse_samples(per_plugin or "", {} if samples is None else {"scalars": samples})
