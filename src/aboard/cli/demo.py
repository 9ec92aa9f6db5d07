# SPDX-License-Identifier: Apache-2.0
"""`aboard demo`: trains a few small classifiers in numpy and logs them with every kind of summary."""

from __future__ import annotations

import json
import shlex
import time
from pathlib import Path
from typing import Any

import numpy as np
import typer

from aboard import SummaryWriter, events
from aboard.cli.spirals import Classifier, spirals
from aboard.errors import InvalidValue

LEARNING_RATES = (0.03, 0.1, 0.3)
HIDDEN_UNITS = (16, 64)
_PICTURE_SIDE = 96


def write_sample_runs(folder: str, *, steps: int, as_json: bool) -> None:
    """Write one run per setting below `folder` and say how to open them."""
    if Path(folder).exists() and any(Path(folder).iterdir()):
        raise InvalidValue(
            f"{folder!r} is not empty; sample runs need a folder of their own",
            hint=f"give another one, or look at what is there: aboard view {shlex.quote(folder)}",
        )
    names: list[str] = []
    for hidden in HIDDEN_UNITS:
        for rate in LEARNING_RATES:
            name = f"spirals-{hidden}-units-lr{rate}"
            _train(Path(folder) / name, hidden=hidden, rate=rate, steps=steps)
            names.append(name)
    if as_json:
        typer.echo(json.dumps({"folder": str(Path(folder).resolve()), "runs": names}))
        return
    typer.echo(f"Wrote {len(names)} runs of {steps} steps to {Path(folder).resolve()}")
    typer.echo(f"Open them with:  aboard view {shlex.quote(folder)}")


def _train(folder: Path, *, hidden: int, rate: float, steps: int) -> None:
    points, labels = spirals(seed=0)
    held_out, held_out_labels = spirals(seed=1)
    model = Classifier(hidden, seed=hidden)
    started = time.perf_counter()
    with SummaryWriter(folder / "train") as train, SummaryWriter(folder / "test") as test:
        _describe(train, model, hidden, rate)
        for step in range(steps):
            loss = model.learn(points, labels, rate)
            train.add_scalar("loss", loss, step)
            if step % 10 == 0 or step == steps - 1:
                train.add_scalar("accuracy", model.accuracy(points, labels), step)
                test.add_scalar("loss", model.loss(held_out, held_out_labels), step)
                test.add_scalar("accuracy", model.accuracy(held_out, held_out_labels), step)
                train.add_scalar("speed/steps_per_second", (step + 1) / (time.perf_counter() - started), step)
            if step % max(steps // 6, 1) == 0 or step == steps - 1:
                _show(train, test, model, held_out, held_out_labels, step)
        train.add_embedding(
            model.features(held_out)[:200], [f"spiral {label}" for label in held_out_labels[:200]], global_step=steps
        )
        result = {"result/accuracy": model.accuracy(held_out, held_out_labels)}
        test.add_hparams({"lr": rate, "hidden_units": hidden}, result, in_place=True, global_step=steps)


def _describe(writer: SummaryWriter, model: Classifier, hidden: int, rate: float) -> None:
    writer.add_text(
        "setting", f"Two spirals, one hidden layer of **{hidden}** tanh units, SGD with rate **{rate}**.", 0
    )
    layout: dict[str, dict[str, list[Any]]] = {"learning": {"loss and accuracy": ["Multiline", ["loss", "accuracy"]]}}
    writer.add_custom_scalars(layout)
    graph = events.graph
    node = graph.GraphNode
    definition = graph.graph_def(
        [
            node(name="input/points", op="Placeholder", output_shapes=((-1, 2),)),
            node(name="hidden/matmul", op="MatMul", inputs=("input/points",), output_shapes=((-1, hidden),)),
            node(name="hidden/tanh", op="Tanh", inputs=("hidden/matmul",), output_shapes=((-1, hidden),)),
            node(name="output/matmul", op="MatMul", inputs=("hidden/tanh",), output_shapes=((-1, 1),)),
            node(name="output/sigmoid", op="Sigmoid", inputs=("output/matmul",), output_shapes=((-1, 1),)),
        ]
    )
    file_writer = writer._get_file_writer()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    file_writer.add_graph((definition, graph.run_metadata()))
    time_axis = np.linspace(0, 1, 8000)
    writer.add_audio("tone", 0.4 * np.sin(2 * np.pi * 220 * (1 + 10 * rate) * time_axis), 0, sample_rate=8000)


def _show(train: SummaryWriter, test: SummaryWriter, model: Classifier, points: Any, labels: Any, step: int) -> None:
    for name, values in model.parameters().items():
        train.add_histogram(f"weights/{name}", values, step)
    axis = np.linspace(-1.2, 1.2, _PICTURE_SIDE)
    grid = np.stack(np.meshgrid(axis, -axis), axis=-1).reshape(-1, 2)
    surface = model.probability(grid).reshape(_PICTURE_SIDE, _PICTURE_SIDE)
    picture = np.stack([surface, 0.3 + 0.4 * (1 - abs(2 * surface - 1)), 1 - surface])
    train.add_image("decision", picture, step)
    test.add_pr_curve("precision_recall", labels, model.probability(points), step)
    heights = np.column_stack([grid, 2 * surface.reshape(-1) - 1])[::4]
    colors = (255 * picture.reshape(3, -1).T[::4]).astype(np.uint8)
    train.add_mesh("surface", heights[None], colors[None], global_step=step)
