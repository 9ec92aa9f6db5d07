# SPDX-License-Identifier: Apache-2.0
"""In place of `determined.keras`."""

from __future__ import annotations

from typing import Any

from aboard.compat.determined import BATCH_GROUP
from aboard.integrations.keras_tensorboard import RunTensorBoard


class TFKerasTensorBoard(RunTensorBoard):
    """Keras' TensorBoard callback in the folder of the run, with batch metrics in the group `Determined`."""

    def __init__(self, *args: Any, **named: Any) -> None:
        """Take the arguments of `keras.callbacks.TensorBoard`; a `log_dir` is not used, and said so."""
        options: dict[str, Any] = {"batch_group": BATCH_GROUP, **named}
        super().__init__(*args, **options)


__all__ = ["TFKerasTensorBoard"]
