# SPDX-License-Identifier: Apache-2.0
"""`aboard view` of runs: a board of the configured server, or of the private one, instead of a process of its own."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aboard.cli.boards.launch import StartOptions, start_board
from aboard.cli.output import say
from aboard.cli.selections import ViewWords, resolve_folders
from aboard.client.client import Client
from aboard.config.credentials import client_settings
from aboard.config.home import machine_folder
from aboard.errors import InvalidValue, UnknownName
from aboard.model.board_settings import SAMPLES_FLAG as SAMPLES
from aboard.model.selections import ExactName, NumberKind, NumberRange, is_wild, parse_word

# Words that cannot be mistyped folders.
_NUMBERED = re.compile(
    r"(run|exp|job)?[1-9][0-9]*(\s*-\s*(run|exp|job)?[1-9][0-9]*)?|name:.*", re.IGNORECASE | re.ASCII
)


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

    @property
    def is_about_runs(self) -> bool:
        """Whether anything but folders is named."""
        return bool(self.words.runs or self.job or self.experiment or self.workspace) or self.where is not None


def view_runs(options: RunViewOptions) -> None:
    """Open the board that shows them."""
    _check_flags(options)
    _check_anything_is_known(options.words)
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
        raise _neither(error, options.words) from None


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


def _check_anything_is_known(words: ViewWords) -> None:
    """A mistyped folder is told at once, where nobody has ever kept a run: no server is started for it."""
    settings = client_settings()
    may_be_known = settings.server or "://" in settings.store or Path(settings.store).expanduser().exists()
    if may_be_known or (machine_folder(settings.home) / "server").exists():
        return
    for word in words.runs:
        if not _NUMBERED.fullmatch(word.rpartition("/")[2]):
            raise InvalidValue(f"there is no folder {word!r} (in {Path.cwd()})", hint="and no run is known here yet")


def _neither(error: UnknownName, words: ViewWords) -> UnknownName:
    """A word that no run is called may be the name of a folder that was mistyped."""
    named = [word for word in words.runs if not _NUMBERED.fullmatch(word) and not is_wild(word)]
    missed = next((word for word in named if repr(word) in error.message), None)
    if missed is None:
        return error
    return UnknownName(f"there is no folder {missed!r} (in {Path.cwd()}), and {error.message}", hint=error.hint)
