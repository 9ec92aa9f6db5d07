# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: INP001, T201 - a script; the names of its functions are the names of the inputs
"""Writes the seed corpus anew from event files of tensorboardX: `python native/fuzz/make_corpus.py`.

Needs tensorboardX, numpy and onnx. An input of the record target is one byte, which chooses the size of pieces, and an
event file; an input of the event target is one event, of the inspection target an event file; for the logdir target
see `logdirs`.
"""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnx
from tensorboardX import SummaryWriter

CORPUS = Path(__file__).parent / "corpus"
TIME = 1_700_000_000.5


def scalars(writer: SummaryWriter) -> None:
    for step in range(3):
        writer.add_scalar("loss/train", 1 / (step + 1), step, walltime=TIME + step)
    writer.add_scalar("negative", float("nan"), -1, walltime=TIME)


def histogram(writer: SummaryWriter) -> None:
    writer.add_histogram("weights", np.array([1.0, 1.5, 1.5, 2.0]), 7, walltime=TIME)


def image(writer: SummaryWriter) -> None:
    writer.add_image("image", np.arange(48, dtype=np.uint8).reshape(3, 4, 4), 1, walltime=TIME)


def text(writer: SummaryWriter) -> None:
    writer.add_text("note", "some *text* with ünïcode", 2, walltime=TIME)


def hparams(writer: SummaryWriter) -> None:
    # Without add_hparams, which writes into a folder of its own.
    from tensorboardX.summary import hparams as summaries

    for summary in summaries({"lr": 0.1, "name": "adam", "nesterov": True}, {"accuracy": 0.5}):
        writer.file_writer.add_summary(summary, walltime=TIME)


def graph(writer: SummaryWriter) -> None:
    vector = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2]) for name in ("x", "y")]
    node = onnx.helper.make_node("Relu", ["x"], ["y"], name="relu")
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "tiny", [vector[0]], [vector[1]]))
    with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
        onnx.save(model, file.name)
        writer.add_onnx_graph(file.name)


KINDS: list[Callable[[SummaryWriter], None]] = [scalars, histogram, image, text, hparams, graph]


def payloads(file: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(file):
        (length,) = struct.unpack_from("<Q", file, at)
        yield file[at + 12 : at + 12 + length]
        at += length + 16


def logdirs() -> None:
    """Scripts of what happens to three files, a zero, and what the files get."""
    folder = CORPUS / "logdir"
    scripts = {"grow": bytes([12, 12, 12]), "two": bytes([252, 253, 252, 253]), "pieces": bytes([9, 10, 21, 22] * 8)}
    scripts |= {
        "cut": bytes([252, 3, 12, 12]),
        "delete": bytes([252, 253, 6, 4, 252]),
        "rename": bytes([252, 9, 6, 12]),
    }
    for path in sorted((CORPUS / "record").iterdir()):
        file = path.read_bytes()[1:]
        for name, script in scripts.items():
            (folder / f"{path.name}-{name}").write_bytes(script + b"\0" + file * 2)


def inspections() -> None:
    """The files of the record target, and one with much to tell: a clock that jumps, steps that go back."""
    folder = CORPUS / "inspection"
    for path in sorted((CORPUS / "record").iterdir()):
        (folder / path.name).write_bytes(path.read_bytes()[1:])
    with tempfile.TemporaryDirectory() as logdir:
        with SummaryWriter(logdir) as writer:
            for step, time in ((5, TIME), (4, TIME - 60), (6, TIME + 1e6), (7, float("nan"))):
                writer.add_scalar("loss", float("inf"), step, walltime=time)
        (path,) = Path(logdir).glob("events.*")
        (folder / "jumps").write_bytes(path.read_bytes())


def main() -> None:
    for name in ("record", "event", "logdir", "inspection"):
        folder = CORPUS / name
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
    for number, kind in enumerate(KINDS):
        with tempfile.TemporaryDirectory() as logdir:
            with SummaryWriter(logdir) as writer:
                kind(writer)
            (path,) = Path(logdir).glob("events.*")
            file = path.read_bytes()
        name = kind.__name__
        (CORPUS / "record" / name).write_bytes(bytes([number * 11]) + file)
        for index, payload in enumerate(payloads(file)):
            if index > 0 or number == 0:  # the first is the file version, everywhere the same
                (CORPUS / "event" / f"{name}-{index}").write_bytes(payload)
    # Damage: a header, a payload and the end.
    file = bytearray((CORPUS / "record" / "scalars").read_bytes())
    file[1 + 40] ^= 1
    file[-30] ^= 1
    (CORPUS / "record" / "damaged").write_bytes(file[:-3])
    logdirs()
    inspections()
    files = [path for path in CORPUS.rglob("*") if path.is_file()]
    print(f"{len(files)} files, {sum(path.stat().st_size for path in files)} bytes")


if __name__ == "__main__":
    main()
