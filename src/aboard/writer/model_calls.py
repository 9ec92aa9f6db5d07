# SPDX-License-Identifier: Apache-2.0
"""The calls of `SummaryWriter` that log models: their graphs and their embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aboard.errors import InvalidValue
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
        from aboard.writer.embedding import make_embedding

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
