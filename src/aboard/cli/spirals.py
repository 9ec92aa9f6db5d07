# SPDX-License-Identifier: Apache-2.0
"""The sample problem: two interleaved spirals, told apart by a network of one hidden layer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
