# SPDX-License-Identifier: Apache-2.0
"""Matplotlib figures as pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from aboard.errors import InvalidType, InvalidValue, MissingPackage
from aboard.writer.values import Array


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
