# SPDX-License-Identifier: Apache-2.0
"""The calls of `SummaryWriter` that log media: images, figures, videos, sound and texts."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from aboard import events
from aboard.errors import InvalidType, InvalidValue, MissingPackage
from aboard.writer.arguments import Array, as_integer, as_number, as_real_array, checked_tag
from aboard.writer.log_folder import LogFolder


def figure_pixels(figure: Any, *, close: bool) -> tuple[Array, str]:
    """The picture of one figure, or of a list of them, and its dataformats (HWC or NHWC)."""
    if not isinstance(figure, (list, tuple)):
        return _rendered(figure, close=close), "HWC"
    figures = cast("Sequence[Any]", figure)
    pictures = [_rendered(one, close=close) for one in figures]
    if len({picture.shape for picture in pictures}) != 1:
        shapes = [picture.shape[:2] for picture in pictures]
        raise InvalidValue(f"figure must be a figure or a list of figures of one size, got sizes {shapes}")
    return np.stack(pictures), "NHWC"


def _rendered(figure: Any, *, close: bool) -> Array:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingPackage("add_figure needs matplotlib", hint="pip install matplotlib") from error
    if not isinstance(figure, Figure):
        raise InvalidType(f"figure must be a matplotlib Figure or a list of them, got {figure!r:.100}")
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    pixels = np.array(canvas.buffer_rgba(), dtype=np.uint8)[:, :, :3]
    if close:
        from matplotlib import pyplot as plt

        plt.close(figure)
    return pixels


_log = logging.getLogger("aboard.writer")


class MediaCalls(LogFolder):
    """Images, figures, videos, sound and text over steps."""

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: Any = None,
        dataformats: str = "CHW",
    ) -> None:
        """Add a picture of 1, 3 or 4 channels: uint8, or floats in [0, 1]. A batch (`N`) becomes a grid."""
        given = as_real_array(img_tensor, "img_tensor")
        picture = events.image.to_hwc(given, _layout(dataformats))
        if np.may_share_memory(picture, given):
            picture = picture.copy()  # it is encoded later, and the caller may reuse the buffer
        self._add_pixels(self._tag(tag), picture, global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: Any = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Add a batch of pictures, or a list of them, as one grid of eight columns."""
        if isinstance(img_tensor, (list, tuple)) and len(_layout(dataformats)) == 3:
            dataformats = f"N{dataformats}"
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: Any,
        box_tensor: Any,
        global_step: Any = None,
        walltime: Any = None,
        rescale: float | str = 1,
        dataformats: str | Sequence[str] | None = "CHW",
        labels: str | Sequence[str] | None = None,
    ) -> None:
        """Add a picture with boxes (N×4: x0, y0, x1, y1) drawn on it; tensorboardX's order of arguments works too."""
        if isinstance(rescale, str):
            rescale, dataformats, labels = 1, rescale, labels if dataformats == "CHW" else dataformats
        picture = events.image.to_hwc(as_real_array(img_tensor, "img_tensor"), _layout(dataformats))
        boxes = as_real_array(box_tensor, "box_tensor")
        names = None if labels is None else _label_texts(labels)
        if names is not None and boxes.ndim == 2 and len(names) != len(boxes):
            _log.warning("%d labels for %d boxes of %r: labels are left out", len(names), len(boxes), tag)
            names = None
        picture = events.image.resized(events.image.with_boxes(picture, boxes, names), as_number(rescale, "rescale"))
        self._add_pixels(checked_tag(tag), picture, global_step, walltime)

    def add_figure(
        self, tag: str, figure: Any, global_step: Any = None, close: bool = True, walltime: Any = None
    ) -> None:
        """Add a matplotlib figure, or a list of them as one grid; closes them unless told not to."""
        picture, dataformats = figure_pixels(figure, close=close)
        self.add_image(tag, picture, global_step, walltime, dataformats)

    def add_video(
        self,
        tag: str,
        vid_tensor: Any,
        global_step: Any = None,
        fps: float = 4,
        walltime: Any = None,
        dataformats: str = "NTCHW",
    ) -> None:
        """Add moving pictures as a GIF; a batch plays side by side."""
        name = self._tag(tag)
        frames = events.video.to_frames(as_real_array(vid_tensor, "vid_tensor"), _layout(dataformats))
        rate = as_number(fps, "fps")
        if not 0 < rate < math.inf:
            raise InvalidValue(f"fps must be a positive number of frames per second, got {fps!r}")
        _, height, width, channels = frames.shape

        video, image = events.video, events.image  # loaded here: an import in the background could meet a fork

        def encode() -> bytes:
            gif = video.encode_gif(frames, rate)
            return image.image_summary(name, gif, height=height, width=width, channels=channels)

        self._get_file_writer().add_later(encode, frames.nbytes, *self._when(global_step, walltime))

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: Any = None,
        sample_rate: int = 44100,
        walltime: Any = None,
    ) -> None:
        """Add sound in [-1, 1]: one dimension, (length, channels) or (channels, length), mono or stereo."""
        name = checked_tag(tag)
        samples, was_clipped = events.audio.clipped(as_real_array(snd_tensor, "snd_tensor"))
        if was_clipped:
            _log.warning("the sound %r leaves [-1, 1] and is clipped", name)
        self._add(
            events.audio.audio(name, samples, sample_rate=as_integer(sample_rate, "sample_rate")),
            global_step,
            walltime,
        )

    def add_text(self, tag: str, text_string: str, global_step: Any = None, walltime: Any = None) -> None:
        """Add a text, shown as Markdown."""
        if not isinstance(text_string, str):
            raise InvalidType(f"text_string must be a string, got {text_string!r:.100} ({type(text_string).__name__})")
        self._add(events.tensor.text(checked_tag(tag), text_string), global_step, walltime)

    def _add_pixels(self, name: str, picture: Array, global_step: Any, walltime: Any) -> None:
        height, width, channels = picture.shape

        image = events.image  # loaded here: an import in the background could meet a fork

        def encode() -> bytes:
            return image.image_summary(name, image.encode_png(picture), height=height, width=width, channels=channels)

        self._get_file_writer().add_later(encode, picture.nbytes, *self._when(global_step, walltime))


def _layout(dataformats: object) -> str:
    if not isinstance(dataformats, str):
        raise InvalidType(f"dataformats must be a string such as 'CHW', got {dataformats!r}")
    return dataformats


def _label_texts(labels: object) -> list[str]:
    if isinstance(labels, str):
        return [labels]
    if not isinstance(labels, (list, tuple)) and not (isinstance(labels, np.ndarray) and labels.ndim):
        raise InvalidType(f"labels must be a list with one text per box, got {labels!r:.100}")
    return [str(label) for label in cast("Sequence[object]", labels)]
