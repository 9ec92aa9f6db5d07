# SPDX-License-Identifier: Apache-2.0
"""Aim: the runs of a repository, a folder that holds `.aim`."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aboard.errors import InvalidValue
from aboard.exchange.foreign.runs import ForeignPoint, ForeignRun, import_library
from aboard.model.hparams import flat_hparams
from aboard.model.states import RunState

_FOLDER = ".aim"
_ABOUT_THE_MACHINE = "__system__"
_NO_NUMBERS = ("images", "audios", "texts", "distributions", "figures")


def runs_of_aim(place: str) -> Iterator[ForeignRun]:
    """The runs of a repository, named by its folder or by the `.aim` in it, oldest first."""
    path = Path(place).expanduser().absolute()
    root = path.parent if path.name == _FOLDER else path
    if not (root / _FOLDER).is_dir():
        raise InvalidValue(f"There is no {_FOLDER} in {root}.", hint="Name the folder in which `aim init` was called.")
    aim: Any = import_library("aim", "aim")
    with tempfile.TemporaryDirectory(prefix="aboard-aim-") as scratch:
        for run in _opened(aim, root / _FOLDER, Path(scratch)):
            yield _run(run, root)


def _opened(aim: Any, folder: Path, scratch: Path) -> list[Any]:
    """The runs of a copy, oldest first: Aim reads a run once it is indexed, and indexing writes into the repository."""
    indexing: Any = import_library("aim.sdk.index_manager", "aim").RepoIndexManager
    try:
        shutil.copytree(folder, scratch / _FOLDER, ignore=shutil.ignore_patterns("locks"))
        (scratch / _FOLDER / "locks").mkdir()
        repository: Any = aim.Repo(str(scratch))
        names: list[str] = repository.list_all_runs()
        index = indexing.get_index_manager(repository)
        for name in names:
            index.index(name)
        runs = [aim.Run(name, repo=repository, read_only=True) for name in names]
    except Exception as error:
        raise InvalidValue(f"Aim cannot open {folder}: {error}", hint="Try `aim runs ls` there.") from error
    return sorted(runs, key=lambda run: run.creation_time)


def _run(run: Any, root: Path) -> ForeignRun:
    ended: float | None = run.end_time
    experiment = str(run.experiment or "")
    return ForeignRun(
        key=f"aim:{run.hash}",
        name=_name(run),
        experiment=None if experiment in {"", "default"} else experiment,
        created=datetime.fromtimestamp(run.creation_time, UTC),
        ended=datetime.fromtimestamp(ended, UTC) if ended else None,
        status=RunState.COMPLETED if ended else RunState.LOST,
        hparams=flat_hparams(_parameters(run)),
        tags=dict.fromkeys(run.tags, ""),
        notes=(run.description,) if run.description else (),
        points=lambda: _points(run),
        source=f"{root / _FOLDER} {run.hash}",
        left_out={kind: len(found) for kind, found in _others(run).items() if found},
    )


def _name(run: Any) -> str:
    """Aim calls a run that nobody has named `Run: <hash>`."""
    name = str(run.name or "")
    return run.hash if not name or name == f"Run: {run.hash}" else name


def _parameters(run: Any) -> dict[str, Any]:
    """What the script has set; `hparams`, under which most of it is put, adds nothing to a name."""
    try:
        known: dict[str, Any] = run[...]
    except KeyError:  # nothing was set
        return {}
    told = {name: value for name, value in known.items() if not name.startswith("__")}
    nested = told.pop("hparams", None)
    if nested is None:
        return told
    return {**told, **nested} if isinstance(nested, Mapping) else {**told, "hparams": nested}


def _points(run: Any) -> Iterator[ForeignPoint]:
    for name, context, _ in run.iter_metrics_info():
        metric: Any = run.get_metric(name, context)
        if metric is None:
            continue
        tag = _tag(name, context.to_dict())
        steps, (values, _, times) = metric.data.items_list()
        for step, value, moment in zip(steps, values, times, strict=True):
            yield ForeignPoint(tag, int(step), float(moment), float(value))


def _others(run: Any) -> dict[str, list[Any]]:
    return run.collect_sequence_info(_NO_NUMBERS, skip_last_value=True)


def _tag(name: str, context: Mapping[str, Any]) -> str:
    """`loss` in the context {"subset": "train"} is `train/loss`; others are told with their names."""
    shown = f"system/{name.removeprefix(_ABOUT_THE_MACHINE)}" if name.startswith(_ABOUT_THE_MACHINE) else name
    rest = {key: value for key, value in sorted(context.items()) if key != "subset"}
    parts = [str(context["subset"])] if "subset" in context else []
    parts += [f"{key}={value}" for key, value in rest.items()]
    return "/".join([*parts, shown])
