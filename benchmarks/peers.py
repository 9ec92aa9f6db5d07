# SPDX-License-Identifier: Apache-2.0
"""The libraries that are compared: how each is imported, and what a script that uses it has loaded anyway."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Library:
    name: str
    module: str
    host: str  # what is imported in a script of this kind even without logging

    def writer_class(self) -> Any:
        return importlib.import_module(self.module).SummaryWriter


ABOARD = "aboard"
TORCH = "torch"
LIBRARIES = {
    library.name: library
    for library in (
        Library(ABOARD, "aboard", host="numpy"),
        Library("tensorboardX", "tensorboardX", host="numpy"),
        Library(TORCH, "torch.utils.tensorboard", host="numpy, torch"),
    )
}
PEERS = tuple(name for name in LIBRARIES if name != ABOARD)

# torch's writer uses TensorFlow where that is installed, which makes its import three times as long and its calls no
# faster. People who train with torch rarely have it, so no measured process sees it.
HIDE_TENSORFLOW = 'import sys; sys.modules["tensorflow"] = None'


def hide_tensorflow() -> None:
    sys.modules["tensorflow"] = None  # type: ignore[assignment]
