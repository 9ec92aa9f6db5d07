# SPDX-License-Identifier: Apache-2.0
"""`aboard run [OPTIONS] -- CMD…`: reads the options and hands over to the supervisor."""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
import re
import shutil
import signal
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aboard.cli.arguments import parse_tag, read_config_file
from aboard.config.credentials import client_settings
from aboard.errors import InvalidValue
from aboard.foundation.files import make_private_folder
from aboard.jobs.command import HPARAMS
from aboard.jobs.sources import enter_source
from aboard.model.hparams import HparamValue, flat_hparams, hparams_from_json
from aboard.model.names import check_name, check_workspace_name
from aboard.run.supervisor.console import Console, ConsoleHandler
from aboard.run.supervisor.start import RunRequest
from aboard.run.supervisor.supervise import supervise
from aboard.run.supervisor.uploads import check_destinations, check_folders

_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_NUMBER = re.compile(r"[-+]?(\d[\d_]*\.?\d*|\.\d+)([eE][-+]?\d+)?")


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options as they were typed."""

    command: Sequence[str]
    name: str | None
    workspace: str | None
    experiment: str | None
    hparams: Sequence[str]
    configs: Sequence[str]
    tags: Sequence[str]
    notes: Sequence[str]
    store: str | None
    watched: Sequence[str]
    mirrors: Sequence[str]
    restarts: int
    output: str | None
    grace: float
    flush_timeout: float
    resources_every: float
    log_limit: int
    capture_code: bool
    must_ship: bool
    quiet: bool


def run(options: RunOptions) -> int:
    """Run the command as a run; the exit code."""
    talk = Console(quiet=options.quiet)
    logger = logging.getLogger("aboard")
    logger.addHandler(ConsoleHandler(talk))
    logger.setLevel(logging.INFO)
    logger.propagate = False
    request, source_is_done = make_request(options)
    code = supervise(request, talk)
    if code == 0:
        with _unheard_signals():
            source_is_done()
    return code


@contextlib.contextmanager
def _unheard_signals() -> Generator[None]:
    """The command has completed, and nothing is to make a failure of that: for a moment nobody ends this process."""
    if threading.current_thread() is not threading.main_thread():  # where signals are none of its business
        yield
        return
    earlier = {which: signal.signal(which, signal.SIG_IGN) for which in _ENDING}
    try:
        yield
    finally:
        for which, handler in earlier.items():
            signal.signal(which, handler)


def make_request(options: RunOptions) -> tuple[RunRequest, Callable[[], None]]:
    """The options as a request, and what to call after a good end; raises InvalidValue for what is not allowed."""
    settings = client_settings({"store": options.store, "workspace": options.workspace})
    source_is_done = enter_source(os.environ, settings.store, settings.home)
    if not options.command:
        raise InvalidValue(
            "There is no command to run.", hint="Write it behind two dashes: aboard run -- python train.py"
        )
    if shutil.which(options.command[0]) is None:
        raise InvalidValue(
            f"There is no command {options.command[0]!r} that can be executed.",
            hint="Look for a typing error, give its path, or make it executable.",
        )
    philly = os.environ.get("PHILLY_JOB_DIRECTORY")
    store, mirrors = check_destinations(settings.store, options.mirrors or ([philly] if philly else []))
    output = None if options.output is None else _folder(options.output, "--output")
    watched = [_folder(path, "--watch") for path in options.watched]
    check_folders(settings.home, output, watched, [store, *mirrors])
    hparams = read_job_hparams(os.environ)
    for path in options.configs:
        hparams |= flat_hparams(read_config_file(Path(path), "--config"))
    request = RunRequest(
        command=tuple(options.command),
        home=settings.home,
        store=store,
        mirrors=mirrors,
        workspace=check_workspace_name(settings.workspace),
        experiment="" if options.experiment is None else check_name(options.experiment, "an experiment"),
        name=None if options.name is None else check_name(options.name, "a run"),
        hparams={**hparams, **dict(parse_hparam(text) for text in options.hparams)},
        tags=dict(map(parse_tag, options.tags)),
        notes=tuple(options.notes),
        watched=tuple(watched),
        output=output,
        restarts=options.restarts,
        grace=_seconds(options.grace, "--grace"),
        flush_timeout=_seconds(options.flush_timeout, "--flush-timeout"),
        resources_every=_seconds(options.resources_every, "--resources-every"),
        log_limit=options.log_limit,
        capture_code=options.capture_code,
        must_ship=options.must_ship,
    )
    with contextlib.suppress(OSError):  # the local store may be made first, and would make its parents for everybody
        make_private_folder(settings.home)
    return request, source_is_done


def read_job_hparams(environ: Mapping[str, str]) -> dict[str, HparamValue]:
    """The hyperparameters that a job has been given; options of the command go before."""
    text = environ.get(HPARAMS)
    if not text:
        return {}
    try:
        return hparams_from_json(json.loads(text))
    except (ValueError, AttributeError):
        raise InvalidValue(f"${HPARAMS} is not a JSON object.", hint="Unset it, or give --hparam NAME=VALUE.") from None


def parse_hparam(text: str) -> tuple[str, HparamValue]:
    """The hyperparameter that NAME=VALUE stands for."""
    name, separator, value = text.partition("=")
    if not separator or not name.strip():
        raise InvalidValue(f"--hparam {text!r} is not NAME=VALUE.", hint="Write --hparam lr=0.01.")
    return name.strip(), parse_hparam_value(value)


def parse_hparam_value(text: str) -> HparamValue:
    """A number, true or false, none, or the text itself."""
    words: dict[str, HparamValue] = {"true": True, "false": False, "null": None, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    if _NUMBER.fullmatch(text):
        return float(text) if any(mark in text for mark in ".eE") else int(text)
    return text


def _folder(text: str, option: str) -> Path:
    path = Path(text).expanduser().absolute()
    if not text or (path.exists() and not path.is_dir()):
        raise InvalidValue(f"{option} {text!r} is not a folder.")
    return path


def _seconds(value: float, option: str) -> float:
    if not math.isfinite(value) or value < 0:
        raise InvalidValue(f"{option} is {value}, which is not a number of seconds.")
    return value
