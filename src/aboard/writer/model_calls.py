# SPDX-License-Identifier: Apache-2.0
"""The calls of `SummaryWriter` that log models: their graphs, and embeddings with their files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aboard import events
from aboard.errors import InvalidType, InvalidValue
from aboard.writer.arguments import Array, as_real_array
from aboard.writer.log_folder import LogFolder, PathLike


class ModelCalls(LogFolder):
    """Graphs and embeddings."""

    def add_graph(
        self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True
    ) -> None:
        """Add the graph of a torch module, traced with `input_to_model`."""
        from aboard.writer.torch_graph import torch_graph

        self._get_file_writer().add_graph(
            torch_graph(model, input_to_model, verbose=verbose, use_strict_trace=use_strict_trace)
        )

    def add_onnx_graph(self, onnx_model_file: Any = None, *, prototxt: Any = None) -> None:
        """Add the graph of an ONNX model: its path, or the loaded model. torch calls the argument `prototxt`."""
        from aboard.writer.onnx_graph import onnx_graph

        self._get_file_writer().add_onnx_graph(onnx_graph(prototxt if onnx_model_file is None else onnx_model_file))

    def add_openvino_graph(self, xmlname: PathLike) -> None:
        """Add the graph of an OpenVINO model: the path of its XML file."""
        from aboard.writer.openvino_graph import openvino_graph

        self._get_file_writer().add_openvino_graph(openvino_graph(xmlname))

    def add_embedding(
        self,
        mat: Any,
        metadata: Any = None,
        label_img: Any = None,
        global_step: Any = None,
        tag: str = "default",
        metadata_header: Sequence[str] | None = None,
    ) -> Any:
        """Add points for the projector: a row of `mat` each, with a label (`metadata`) and a square picture, if wanted.

        The files are on disk when it returns.
        `add_embedding(model, embeddings)`, as an old tutorial has it, is understood: the model is returned.
        """
        if hasattr(mat, "state_dict") and metadata is not None:
            self.add_embedding(metadata, None, label_img, global_step, tag, metadata_header)
            return mat
        step, _ = self._when(global_step, None)
        embedding = make_embedding(mat, metadata, label_img, step, tag, metadata_header)
        writer = self._get_file_writer()
        if writer.local_folder is None:
            raise InvalidValue(f"add_embedding writes files and needs a local logdir, got {self.logdir!r}")
        if self._write_to_disk:
            try:
                embedding.write(writer.local_folder)
            except OSError as error:  # a full disk must not end a training
                writer.sink.add_report(True, f"The embedding {embedding.tag!r} was not written: {error}.")
                writer.deliver(report_waits=True)
        return None


_UNSAFE_IN_A_FOLDER_NAME = re.compile(r"[%/\\\x00-\x1f]")
_DOTS_ALONE = re.compile(r"\.")


@dataclass(frozen=True)
class Embedding:
    """A checked embedding, ready to be written."""

    tag: str
    step: int
    matrix: Array
    metadata: str | None
    sprite: Array | None
    picture_size: tuple[int, int]

    @property
    def folder(self) -> str:
        """Where its files are, below the log folder."""
        return f"{self.step:05d}/{_encoded(self.tag)}"

    def write(self, logdir: Path) -> None:
        """Write the files, then the entry in `projector_config.pbtxt`, so that it never names what is missing."""
        folder = logdir / self.folder
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "tensors.tsv").write_text(events.projector.tensors_tsv(self.matrix), encoding="utf-8")
        if self.metadata is not None:
            (folder / "metadata.tsv").write_text(self.metadata, encoding="utf-8")
        if self.sprite is not None:
            (folder / "sprite.png").write_bytes(events.image.encode_png(self.sprite))
        self._enter(logdir / "projector_config.pbtxt")

    def _enter(self, config: Path) -> None:
        entry = events.projector.embedding_entry(
            tensor_name=f"{self.tag}:{self.step:05d}",
            tensor_path=f"{self.folder}/tensors.tsv",
            metadata_path=None if self.metadata is None else f"{self.folder}/metadata.tsv",
            sprite_path=None if self.sprite is None else f"{self.folder}/sprite.png",
            picture_width=self.picture_size[0],
            picture_height=self.picture_size[1],
        )
        if config.exists() and entry in config.read_text(encoding="utf-8"):
            return
        with config.open("a", encoding="utf-8") as file:
            file.write(entry)


def make_embedding(
    mat: Any,
    metadata: Sequence[Any] | None,
    label_img: Any,
    step: int,
    tag: str,
    metadata_header: Sequence[str] | None,
) -> Embedding:
    """Check the arguments of `add_embedding` and take copies of what it shows."""
    if not isinstance(tag, str):
        raise InvalidType(f"tag must be a string, got {tag!r:.100} of type {type(tag).__name__}")
    if re.search("[\0\ud800-\udfff]", tag):
        raise InvalidValue(f"tag must be valid in a path, got {tag!r:.100}")
    matrix = np.array(as_real_array(mat, "mat"))
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise InvalidValue(f"mat must be a matrix with one row per point, got shape {matrix.shape}")
    if metadata is not None and (not hasattr(metadata, "__len__") or getattr(metadata, "shape", None) == ()):
        raise InvalidType(f"metadata must be a list with one entry per row of mat, got {metadata!r:.100}")
    if metadata is not None and len(metadata) != len(matrix):
        raise InvalidValue(f"metadata must have one entry per row of mat ({len(matrix)}), got {len(metadata)}")
    if metadata_header is not None and not isinstance(metadata_header, (list, tuple)):
        raise InvalidType(f"metadata_header must be a list of column names, got {metadata_header!r:.100}")
    images = None if label_img is None else as_real_array(label_img, "label_img")
    if images is not None and images.shape[:1] != matrix.shape[:1]:
        raise InvalidValue(
            f"label_img must have one image per row of mat ({len(matrix)}), got the shape {images.shape}"
        )
    return Embedding(
        tag=tag,
        step=step,
        matrix=matrix,
        metadata=None if metadata is None else events.projector.metadata_tsv(metadata, metadata_header),
        sprite=None if images is None else events.projector.sprite_pixels(images),
        picture_size=(0, 0) if images is None else (images.shape[3], images.shape[2]),
    )


def _encoded(tag: str) -> str:
    """`tag` as one folder name, as both peers encode it; a name of dots alone would leave the folder."""
    unsafe = _DOTS_ALONE if set(tag) <= {"."} else _UNSAFE_IN_A_FOLDER_NAME
    return unsafe.sub(lambda match: f"%{ord(match.group()):02x}", tag)
