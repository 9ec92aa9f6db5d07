# SPDX-License-Identifier: Apache-2.0
"""JAX and Flax: a `clu.metric_writers.MetricWriter` that logs to a run."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# The base classes are of frameworks that are not installed where types are checked.

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from aboard.integrations.framework import ScalarLogger, choose_run, require
from aboard.run.training.run import Run

_interface: Any = require("clu.metric_writers.interface", "clu", "0.0.10", newest_tested="0.0.12")


class AboardMetricWriter(_interface.MetricWriter):
    """Writes every kind that clu knows; alone, or in a `MultiWriter` beside others. Tags are those of clu."""

    def __init__(self, run: Run | None = None, *, stage: str | None = None, **options: Any) -> None:
        """Choose the run.

        Args:
            run: the run to log to; without one that of the script, of `aboard run`, or a new one.
            stage: the logdir, such as `train`.
            options: arguments of `aboard.Run`, for a new run.
        """
        super().__init__()
        self.run = choose_run(run, **options)
        self._writer = self.run.writer(stage)
        self._scalars = ScalarLogger("clu")

    def write_scalars(self, step: int, scalars: Mapping[str, Any]) -> None:
        self._scalars.log(self._writer, scalars, int(step))

    def write_images(self, step: int, images: Mapping[str, Any]) -> None:
        """Batches of images, NHWC; numbers from 0 to 1, or bytes."""
        for name, value in images.items():
            self._writer.add_images(name, value, int(step), dataformats="NHWC")

    def write_videos(self, step: int, videos: Mapping[str, Any]) -> None:
        """Videos, (batch, time, height, width, channels)."""
        for name, value in videos.items():
            self._writer.add_video(name, np.asarray(value), int(step), dataformats="NTHWC")

    def write_audios(self, step: int, audios: Mapping[str, Any], *, sample_rate: int) -> None:
        """Sounds, (batch, time, channels); one tag each where there are several."""
        for name, value in audios.items():
            sounds = np.asarray(value)
            for place, sound in enumerate(sounds):
                tag = name if len(sounds) == 1 else f"{name}/{place}"
                self._writer.add_audio(tag, sound, int(step), sample_rate=sample_rate)

    def write_texts(self, step: int, texts: Mapping[str, str]) -> None:
        for name, value in texts.items():
            self._writer.add_text(name, value, int(step))

    def write_histograms(
        self, step: int, arrays: Mapping[str, Any], num_buckets: Mapping[str, int] | None = None
    ) -> None:
        for name, value in arrays.items():
            bins = (num_buckets or {}).get(name)
            more: dict[str, Any] = {} if bins is None else {"bins": "auto", "max_bins": bins}
            self._writer.add_histogram(name, np.asarray(value), int(step), **more)

    def write_pointcloud(
        self,
        step: int,
        point_clouds: Mapping[str, Any],
        *,
        point_colors: Mapping[str, Any] | None = None,
        configs: Mapping[str, Any] | None = None,
    ) -> None:
        """Clouds of points, (batch, points, 3)."""
        for name, value in point_clouds.items():
            colors, config = (point_colors or {}).get(name), (configs or {}).get(name)
            self._writer.add_mesh(name, value, colors=colors, config_dict=config, global_step=int(step))

    def write_summaries(self, step: int, values: Mapping[str, Any], metadata: Mapping[str, Any] | None = None) -> None:
        """Arrays for TensorBoard plugins of others; `metadata` is that of their summaries."""
        messages = require("tensorboard.compat.proto.summary_pb2", "tensorboard", "2.0")
        tensors = require("tensorboard.util.tensor_util", "tensorboard", "2.0")
        rows = [
            messages.Summary.Value(
                tag=name, tensor=tensors.make_tensor_proto(np.asarray(value)), metadata=(metadata or {}).get(name)
            )
            for name, value in values.items()
        ]
        self._writer._get_file_writer().add_summary(  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
            messages.Summary(value=rows), int(step)
        )

    def write_hparams(self, hparams: Mapping[str, Any]) -> None:
        self.run.log_hparams(hparams)

    def flush(self) -> None:
        self.run.flush()

    def close(self) -> None:
        """The same; the run ends with its process, or with `run.finish()`."""
        self.run.flush()
