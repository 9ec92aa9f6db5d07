# SPDX-License-Identifier: Apache-2.0
"""What the embedding projector reads: points and labels as TSV, a sprite, and the entry that names them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from aboard.errors import InvalidValue
from aboard.events.image import grid

_LARGEST_SIDE = 8192  # of a texture in the projector's page
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})
_ONE_CELL = str.maketrans("\t\n\r", "   ")


def tensors_tsv(matrix: NDArray[Any]) -> str:
    """One line for each point, its numbers separated by tabs."""
    if matrix.ndim != 2 or matrix.size == 0 or matrix.dtype.kind not in "biuf":
        raise InvalidValue(
            f"the matrix has shape {matrix.shape} and dtype {matrix.dtype}; "
            "allowed are real numbers in N points x D numbers, both at least 1"
        )
    numbers = matrix.astype(np.uint8) if matrix.dtype == np.bool_ else matrix
    return "".join("\t".join(map(str, row)) + "\n" for row in numbers.tolist())


def metadata_tsv(metadata: Sequence[object], header: Sequence[str] | None) -> str:
    """One line for each point: one text, or with a header one cell for each of its columns."""
    if not header:
        return "".join(_cell(entry) + "\n" for entry in metadata)
    lines = ["\t".join(map(_cell, header))]
    for index, row in enumerate(metadata):
        cells = _cells(row)
        if len(cells) != len(header):
            raise InvalidValue(
                f"metadata[{index}] has {len(cells)} cells ({row!r}) but the header has {len(header)} "
                f"({list(header)!r}); both must be equal"
            )
        lines.append("\t".join(map(_cell, cells)))
    return "\n".join(lines) + "\n"


def sprite_pixels(images: NDArray[Any]) -> NDArray[np.uint8]:
    """All pictures of an N x C x S x S array in one square, row by row."""
    if images.ndim != 4 or images.size == 0 or images.shape[1] not in (1, 3) or images.shape[2] != images.shape[3]:
        raise InvalidValue(
            f"the label images have shape {images.shape}; allowed is N x C x S x S with 1 or 3 channels: "
            "square pictures, at least one"
        )
    count, side = images.shape[0], images.shape[3]
    columns = math.isqrt(count - 1) + 1
    if columns * side > _LARGEST_SIDE:
        raise InvalidValue(
            f"{count} label images of {side} x {side} pixels make a square of {columns * side} pixels; "
            f"the projector allows {_LARGEST_SIDE} on each side"
        )
    rows = grid(images, columns)
    sprite = np.zeros((columns * side, columns * side, 3), np.uint8)
    sprite[: rows.shape[0]] = rows
    return sprite


def embedding_entry(
    *,
    tensor_name: str,
    tensor_path: str,
    metadata_path: str | None = None,
    sprite_path: str | None = None,
    picture_width: int = 0,
    picture_height: int = 0,
) -> str:
    """The block of `projector_config.pbtxt` for one embedding; paths are relative to that file."""
    lines = [f"tensor_name: {_quoted(tensor_name)}", f"tensor_path: {_quoted(tensor_path)}"]
    if metadata_path is not None:
        lines.append(f"metadata_path: {_quoted(metadata_path)}")
    if sprite_path is not None:
        dimensions = f"single_image_dim: {picture_width} single_image_dim: {picture_height}"
        lines.append(f"sprite {{ image_path: {_quoted(sprite_path)} {dimensions} }}")
    return "embeddings {\n" + "".join(f"  {line}\n" for line in lines) + "}\n"


def _cells(row: object) -> list[object]:
    if isinstance(row, str | bytes) or not isinstance(row, Sequence | np.ndarray):
        return [row]
    return list(cast("Sequence[object]", row))


def _cell(value: object) -> str:
    return str(value).translate(_ONE_CELL)


def _quoted(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'
