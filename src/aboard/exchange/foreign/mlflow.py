# SPDX-License-Identifier: Apache-2.0
"""MLflow: the runs of a tracking store (a folder `mlruns`, a database, or a server that one names)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aboard.errors import InvalidValue
from aboard.exchange.foreign.runs import ForeignPoint, ForeignRun, import_library
from aboard.model.hparams import HparamValue
from aboard.model.states import RunState

_STATES = {"FINISHED": RunState.COMPLETED, "FAILED": RunState.FAILED, "KILLED": RunState.CANCELLED}
_PAGE = 500


def runs_of_mlflow(place: str) -> Iterator[ForeignRun]:
    """The runs of a folder, of a file of SQLite, or of a tracking URI."""
    uri = _uri(place)
    mlflow: Any = import_library("mlflow", "mlflow-skinny")
    try:
        client: Any = mlflow.MlflowClient(tracking_uri=uri)
        experiments: dict[str, str] = {one.experiment_id: one.name for one in client.search_experiments()}
    except Exception as error:
        raise InvalidValue(
            f"MLflow cannot open {uri}: {str(error).splitlines()[0] if str(error) else type(error).__name__}",
            hint="Name the folder `mlruns`, a file such as mlflow.db, or a tracking URI.",
        ) from error
    for number, experiment in experiments.items():
        token: str | None = None
        while True:
            page: Any = client.search_runs([number], max_results=_PAGE, order_by=["start_time"], page_token=token)
            for run in page:
                yield _run(client, run, experiment, uri)
            token = page.token
            if not token:
                break


def _uri(place: str) -> str:
    if "://" in place:
        return place
    path = Path(place).expanduser().absolute()
    if not path.exists():
        raise InvalidValue(f"There is no {path}.", hint="Name the folder `mlruns`, a database, or a tracking URI.")
    return path.as_uri() if path.is_dir() else f"sqlite:///{path}"


def _run(client: Any, run: Any, experiment: str, uri: str) -> ForeignRun:
    info, data = run.info, run.data
    created = datetime.fromtimestamp((info.start_time or 0) / 1000, UTC)

    def points() -> Iterator[ForeignPoint]:
        for name in data.metrics:
            for one in client.get_metric_history(info.run_id, name):
                yield ForeignPoint(name, int(one.step), one.timestamp / 1000, float(one.value))

    note = data.tags.get("mlflow.note.content", "")
    return ForeignRun(
        key=f"mlflow:{info.run_id}",
        name=getattr(info, "run_name", None) or data.tags.get("mlflow.runName") or info.run_id,
        experiment=None if experiment == "Default" else experiment,
        created=created,
        ended=datetime.fromtimestamp(info.end_time / 1000, UTC) if info.end_time else None,
        status=_STATES.get(info.status, RunState.LOST),
        user=data.tags.get("mlflow.user", ""),
        hparams={name: _plain(text) for name, text in data.params.items()},
        tags={name: text for name, text in data.tags.items() if not name.startswith("mlflow.")},
        notes=(note,) if note else (),
        points=points,
        source=f"{uri} {info.run_id}",
    )


def _plain(text: str) -> HparamValue:
    """MLflow keeps parameters as text; what was a number, or true or false, is one again."""
    if text in {"True", "False"}:
        return text == "True"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
