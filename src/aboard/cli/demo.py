# SPDX-License-Identifier: Apache-2.0
"""`aboard demo`: train a few small classifiers in numpy and log them with every kind of summary."""

from __future__ import annotations

import json
import shlex
import time
from pathlib import Path
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray

from aboard import SummaryWriter, events
from aboard.errors import InvalidValue

Floats = NDArray[np.float64]


def spirals(seed: int, count: int = 400) -> tuple[Floats, NDArray[np.int64]]:
    """Points in the plane and which of two spirals each is on."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 2, count)
    turn = np.sqrt(random.uniform(0.02, 1, count))
    angle = 2.5 * np.pi * turn + np.pi * labels
    points = turn[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return points + random.normal(0, 0.03, points.shape), labels


class Classifier:
    """A hidden layer of tanh units and a sigmoid, trained by gradient descent with momentum."""

    def __init__(self, hidden: int, seed: int) -> None:
        random = np.random.default_rng(seed)
        self._weights = {
            "hidden": random.normal(0, 4, (2, hidden)),
            "hidden_bias": random.normal(0, 2, hidden),
            "output": random.normal(0, 0.1, hidden),
            "output_bias": np.zeros(1),
        }
        self._velocity = {name: np.zeros_like(values) for name, values in self._weights.items()}

    def parameters(self) -> dict[str, Floats]:
        """The weights by name."""
        return self._weights

    def features(self, points: Floats) -> Floats:
        """What the hidden layer makes of each point."""
        return np.tanh(points @ self._weights["hidden"] + self._weights["hidden_bias"])

    def probability(self, points: Floats) -> Floats:
        """That each point is on spiral 1."""
        score = self.features(points) @ self._weights["output"] + self._weights["output_bias"]
        return 1 / (1 + np.exp(-np.clip(score, -30, 30)))

    def loss(self, points: Floats, labels: NDArray[np.int64]) -> float:
        """Cross entropy."""
        probability = np.clip(self.probability(points), 1e-9, 1 - 1e-9)
        right = labels * probability + (1 - labels) * (1 - probability)
        return -float(np.log(right).mean())

    def accuracy(self, points: Floats, labels: NDArray[np.int64]) -> float:
        """Share of points told right."""
        guesses = (self.probability(points) > 0.5).astype(np.int64)
        return np.count_nonzero(guesses == labels) / len(labels)

    def learn(self, points: Floats, labels: NDArray[np.int64], rate: float) -> float:
        """One step down the gradient; the loss before it."""
        loss = self.loss(points, labels)
        features = self.features(points)
        error = (self.probability(points) - labels) / len(points)
        inner = np.outer(error, self._weights["output"]) * (1 - features**2)
        gradients = {
            "hidden": points.T @ inner,
            "hidden_bias": inner.sum(axis=0),
            "output": features.T @ error,
            "output_bias": error.sum(keepdims=True),
        }
        for name, gradient in gradients.items():
            self._velocity[name] = 0.9 * self._velocity[name] - rate * gradient
            self._weights[name] += self._velocity[name]
        return loss


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
