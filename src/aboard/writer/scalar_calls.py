# SPDX-License-Identifier: Apache-2.0
"""The calls of `SummaryWriter` that log numbers and hyperparameters, and the export of scalars to JSON."""

from __future__ import annotations

import json
import logging
import math
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from aboard import events
from aboard._native import scalars_in_records
from aboard.errors import InvalidType, InvalidValue
from aboard.writer.arguments import as_number, checked_tag
from aboard.writer.file_writer import FileWriter
from aboard.writer.log_folder import LogFolder, PathLike
from aboard.writer.sink import NOT_TAKEN

Points = dict[str, list[tuple[float, int, float | str]]]


class ScalarExport:
    """Hands out each written point once."""

    def __init__(self) -> None:
        self._read_up_to: dict[bytes, int] = {}

    def new_points(self, writers: Iterable[tuple[FileWriter, bool]]) -> Points:
        """(wall time, step, value) by series. A folder of `add_scalars` (flag True) holds and names one series."""
        points: Points = {}
        for writer, is_series in writers:
            writer.flush()
            for path in writer.sink.paths:
                for tag, wall_time, step, value in self._new_scalars(path):
                    name = writer.get_logdir() if is_series else f"{writer.get_logdir()}/{tag}"
                    points.setdefault(name, []).append((wall_time, step, _json_number(value)))
        return points

    def _new_scalars(self, path: bytes) -> list[tuple[str, float, int, float]]:
        offset = self._read_up_to.get(path, 0)
        with open(path, "rb") as file:
            file.seek(offset)
            scalars, consumed = scalars_in_records(file.read())
        self._read_up_to[path] = offset + consumed
        return scalars


def _json_number(value: float) -> float | str:
    # JSON has no word for these; a string keeps the document valid.
    return value if math.isfinite(value) else {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]


_log = logging.getLogger("aboard.writer")
_LARGEST_FLOAT32 = float(np.finfo(np.float32).max)
Runs = Literal["nested", "flat", "none"]


class ScalarCalls(LogFolder):
    """Numbers over steps."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._series_folders: set[str] = set()
        self._export = ScalarExport()
        self._charts: dict[str, dict[str, list[Any]]] = {}
        self._warned_tags: set[str] = set()

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: Any = None,
        new_style: bool | str = False,
        double_precision: bool | str = False,
        display_name: str = "",
        summary_description: str = "",
    ) -> None:
        """Add one number.

        `new_style` writes it as a tensor, `double_precision` as one of 64 bits, which stock TensorBoard shows only with
        `--load_fast=false`. `display_name` and
        `summary_description` title the chart; as in tensorboardX they may also be the fifth and sixth argument.
        """
        if new_style or double_precision or display_name or summary_description:
            self._add_described_scalar(
                tag,
                scalar_value,
                global_step,
                walltime,
                new_style,
                double_precision,
                display_name,
                summary_description,
            )
        elif outcome := self._try_scalar(tag, scalar_value, global_step, walltime):
            if outcome == NOT_TAKEN:
                self._add_converted_scalar(tag, scalar_value, global_step, walltime)
            else:
                self._get_file_writer().deliver(report_waits=True)

    def _add_converted_scalar(self, tag: Any, value: Any, global_step: Any, walltime: Any) -> None:
        name, number = self._tag(tag), as_number(value, "scalar_value")
        self._mention_unusual(name, number)
        step, seconds = self._when(global_step, walltime)
        writer = self._get_file_writer()
        writer.deliver(writer.sink.add_scalar(name, number, step, seconds))

    def _add_described_scalar(
        self,
        tag: Any,
        value: Any,
        global_step: Any,
        walltime: Any,
        new_style: bool | str,
        double_precision: bool | str,
        display_name: str,
        description: str,
    ) -> None:
        if isinstance(new_style, str):  # tensorboardX's fifth argument
            display_name, new_style = new_style, False
        if isinstance(double_precision, str):  # and its sixth
            description, double_precision = double_precision, False
        name, number = self._tag(tag), as_number(value, "scalar_value")
        if new_style or double_precision:
            summary = events.tensor.scalar_tensor(
                name,
                number,
                double=bool(double_precision),
                display_name=display_name,
                description=description,
            )
        else:
            self._mention_unusual(name, number)
            summary = events.tensor.scalar(name, number, display_name=display_name, description=description)
        self._add(summary, global_step, walltime)

    def _mention_unusual(self, tag: str, number: float) -> None:
        if abs(number) <= _LARGEST_FLOAT32 or tag in self._warned_tags:
            return
        self._warned_tags.add(tag)
        if math.isfinite(number):
            _log.warning(
                "%r got %r, which float32 cannot hold; double_precision=True keeps it (said once)",
                tag,
                number,
            )
        else:
            _log.warning("%r got %r; it is written as it is (said once per tag)", tag, number)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: Mapping[str, Any],
        global_step: Any = None,
        walltime: Any = None,
        *,
        runs: Runs = "nested",
    ) -> None:
        """Add several numbers to one chart.

        A chart overlays runs, so each key becomes a run: `<logdir>/<main_tag>/<key>` (`runs="nested"`, as tensorboardX)
        or `<logdir>/<main_tag>_<key>` (`"flat"`, as torch), each with the tag `main_tag`. `runs="none"` makes no
        extra run: the series are `<main_tag>/<key>` of this one.
        """
        if not isinstance(tag_scalar_dict, Mapping):
            raise InvalidType(f"tag_scalar_dict must map names to numbers, got {tag_scalar_dict!r:.100}")
        main = self._tag(main_tag)
        values = {
            checked_tag(key): as_number(value, f"tag_scalar_dict[{key!r}]") for key, value in tag_scalar_dict.items()
        }
        step, seconds = self._when(global_step, walltime)
        for key, value in values.items():
            if runs == "none":
                self.add_scalar(f"{main}/{key}", value, step, seconds)
                continue
            writer = self._writer_for(self._series_folder(main_tag, key, runs))
            writer.deliver(writer.sink.add_scalar(main, value, step, seconds))

    def _series_folder(self, main_tag: str, key: str, runs: Runs) -> str:
        if runs not in ("nested", "flat"):
            raise InvalidValue(f"runs must be 'nested', 'flat' or 'none', got {runs!r}")
        name = f"{main_tag}/{key}" if runs == "nested" else f"{main_tag}_{key}".replace("/", "_")
        parts = [part for part in name.split("/") if part]
        if ".." in parts:
            raise InvalidValue(f"main_tag and keys must not leave the log folder, got {name!r}")
        folder = os.path.join(self.logdir, *parts)
        self._series_folders.add(folder)
        return folder

    def export_scalars_to_json(self, path: PathLike) -> None:
        """Write every scalar not exported before as `{series: [[wall time, step, value], …]}`.

        Series of `add_scalars` go by their folder, those of `add_scalar` by `<logdir>/<tag>`.
        """
        if not self._write_to_disk or self._get_file_writer().local_folder is None:
            raise InvalidValue(
                f"export_scalars_to_json reads back what was written, and {self.logdir!r} has no local files",
                hint="use a local logdir with write_to_disk=True",
            )
        with Path(path).open("w", encoding="utf-8") as file:  # first: what was read counts as exported
            points = self._export.new_points(
                (writer, folder in self._series_folders) for folder, writer in self.all_writers.items()
            )
            file.write(json.dumps(points, allow_nan=False))

    def add_hparams(
        self,
        hparam_dict: Mapping[str, Any],
        metric_dict: Mapping[str, Any],
        hparam_domain_discrete: Mapping[str, Sequence[Any]] | str | None = None,
        run_name: Any = None,
        global_step: Any = None,
        *,
        name: str | None = None,
        in_place: bool = False,
    ) -> None:
        """Add hyperparameters and the metrics they led to.

        They form a run of their own, `<logdir>/<run_name>` (the time, when not given), as in both peers;
        `in_place=True` puts them into this run instead. tensorboardX's arguments (`name`, `global_step`) work too.
        """
        if isinstance(hparam_domain_discrete, str):  # tensorboardX: name third
            name, hparam_domain_discrete = hparam_domain_discrete, None
        if run_name is not None and not isinstance(run_name, str):  # and global_step fourth
            global_step, run_name = run_name, None
        if not isinstance(hparam_dict, Mapping) or not isinstance(metric_dict, Mapping):
            raise InvalidType(
                f"hparam_dict and metric_dict must be dictionaries, got {hparam_dict!r:.80}, {metric_dict!r:.80}"
            )
        if name is not None and not isinstance(name, str):
            raise InvalidType(f"name must be a string, got {name!r:.100}")
        metrics = {self._tag(key): as_number(value, f"metric_dict[{key!r}]") for key, value in metric_dict.items()}
        summaries = events.hparams.hparams(hparam_dict, metrics, domain_discrete=hparam_domain_discrete)
        step, seconds = self._when(global_step, None)
        folder = self.logdir if in_place else os.path.join(self.logdir, run_name or name or str(time.time()))
        writer = self._writer_for(folder)
        for summary in summaries:
            writer.add_summary(summary, step, seconds)
        for key, value in metrics.items():
            writer.deliver(writer.sink.add_scalar(key, value, step, seconds))
        if folder != self.logdir:
            writer.close_file()
            del self.all_writers[folder]  # one per call: they would pile up

    def add_custom_scalars(self, layout: Mapping[str, Mapping[str, Sequence[Any]]]) -> None:
        """Arrange charts: `{category: {title: ["Multiline", [tag regex, …]] or ["Margin", [value, lower, upper]]}}`."""
        self._add(events.custom_scalars.custom_scalars(layout), None, None)

    def add_custom_scalars_multilinechart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Arrange one chart of several series; charts added before are kept."""
        self._add_chart(category, title, "Multiline", tags)

    def add_custom_scalars_marginchart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Arrange one chart of a value between two bounds: exactly three tags; charts added before are kept."""
        if isinstance(tags, Sequence) and len(tags) != 3:
            raise InvalidValue(f"tags must be three: the value, its lower and its upper bound; got {tags!r}")
        self._add_chart(category, title, "Margin", tags)

    def _add_chart(self, category: str, title: str, kind: str, tags: Sequence[str]) -> None:
        if not isinstance(tags, Sequence):
            raise InvalidType(f"tags must be a list of tags, got {tags!r:.100}")
        # TensorBoard shows the last layout only, so each call writes all charts anew.
        chart = [kind, tags if isinstance(tags, str) else list(tags)]
        charts = {**self._charts, category: {**self._charts.get(category, {}), title: chart}}
        self.add_custom_scalars(charts)
        self._charts = charts
