# SPDX-License-Identifier: Apache-2.0
"""`aboard view` of runs: a board of the configured server, or of the private one, instead of a process of its own."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aboard.cli.boards.launch import StartOptions, start_board
from aboard.cli.output import say
from aboard.cli.selections import ViewWords, check_any_is_known, explain_unknown, resolve_folders
from aboard.client.client import Client
from aboard.errors import InvalidValue, UnknownName
from aboard.model.board_settings import SAMPLES_FLAG as SAMPLES
from aboard.model.selections import ExactName, NumberKind, NumberRange, parse_word


@dataclass(frozen=True, slots=True, kw_only=True)
class RunViewOptions:
    """The options of `aboard view` over runs."""

    words: ViewWords
    where: str | None = None
    job: str | None = None
    experiment: str | None = None
    workspace: str = ""
    template: str = ""
    samples: Mapping[str, int]
    window_title: str = ""
    foreground: Sequence[str] = ()
    """Flags that were given and are about a process of one's own."""
    interval: bool = False
    open_browser: bool = True
    as_json: bool = False


def view_runs(options: RunViewOptions) -> None:
    """Open the board that shows them."""
    _check_flags(options)
    check_any_is_known(options.words)
    words, where = _narrowed(options)
    try:
        start_board(
            StartOptions(
                words=[*words, *resolve_folders(options.words.folders)],
                where=where,
                workspace=options.workspace,
                numbers=NumberKind.RUN,
                template=options.template,
                settings=_settings(options),
                open_browser=options.open_browser,
                as_json=options.as_json,
            )
        )
    except UnknownName as error:
        raise explain_unknown(error, options.words) from None


def _check_flags(options: RunViewOptions) -> None:
    if options.foreground:
        raise InvalidValue(
            f"{options.foreground[0]} is for folders, which are served by a process of their own",
            hint="a board over runs is served by the server that knows them; leave it away",
        )
    if options.interval:
        say("note: --interval has no effect: the server follows its runs all the time", sys.stderr)


def _narrowed(options: RunViewOptions) -> tuple[list[str], str | None]:
    """The words and the filter. A job or experiment is what is shown, or if runs are named narrows these."""
    words = list(options.words.runs)
    groups = [_group(name, kind) for name, kind in ((options.job, "job"), (options.experiment, "exp")) if name]
    if groups and not words:
        words.append(groups.pop(0))
    conditions = [f"experiment == {_value(group)}" for group in groups]
    if options.where is not None:
        conditions.append(f"({options.where})" if conditions else options.where)
    return words, " and ".join(conditions) if conditions else None


def _group(name: str, kind: str) -> str:
    return f"{kind}{name}" if name.isdecimal() else name


def _value(group: str) -> str:
    """What a filter compares `experiment` with: a number, or a name."""
    entry = parse_word(group, numbers=NumberKind.EXPERIMENT)
    if isinstance(entry, NumberRange):
        return str(Client().experiments.get(group).number)
    return json.dumps(entry.name if isinstance(entry, ExactName) else group.rpartition("/")[2], ensure_ascii=False)


def _settings(options: RunViewOptions) -> dict[str, object]:
    arguments = [f"{SAMPLES}={plugin}={count}" for plugin, count in options.samples.items()]
    arguments += [f"--window_title={options.window_title}"] if options.window_title else []
    return {"tensorboard_args": arguments} if arguments else {}
