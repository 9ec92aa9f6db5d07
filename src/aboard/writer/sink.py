# SPDX-License-Identifier: Apache-2.0
"""Where a writer's entries go: the contract, and the sink that keeps nothing.

A sink is safe to use from any thread, keeps the order of each thread, never blocks on a failing target and never raises
for one: adding methods return True when a report waits for `take_report`. `flush` returns when all earlier entries
are written or cannot be; `close` may be called again, and an entry added after it opens a new file.
"""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import NDArray

NOT_TAKEN = 2  # answer of `try_scalar`: the arguments need converting first


class Sink(Protocol):
    """One growing event file, or something that stands for it."""

    def try_scalar(self, tag: object, value: object, step: object, wall_time: object, /) -> int: ...
    def add_scalar(self, tag: str, value: float, step: int, wall_time: float, /) -> bool: ...
    def add_summary(self, summary: bytes, step: int, wall_time: float, /) -> bool: ...
    def add_event(self, event: bytes, /) -> bool: ...
    def add_histogram(self, tag: str, values: NDArray[Any], step: int, wall_time: float, /) -> bool: ...
    def add_report(self, failure: bool, text: str, /) -> None: ...
    def take_report(self) -> tuple[bool, str] | None: ...
    def flush(self) -> bool: ...
    def close(self) -> bool: ...
    @property
    def paths(self) -> list[bytes]: ...


class NullSink:
    """Takes everything and keeps nothing: `SummaryWriter(write_to_disk=False)`."""

    def try_scalar(self, tag: object, value: object, step: object, wall_time: object, /) -> int:
        return NOT_TAKEN  # so that arguments are checked as they are when writing

    def add_scalar(self, tag: str, value: float, step: int, wall_time: float, /) -> bool:
        return False

    def add_summary(self, summary: bytes, step: int, wall_time: float, /) -> bool:
        return False

    def add_event(self, event: bytes, /) -> bool:
        return False

    def add_histogram(self, tag: str, values: NDArray[Any], step: int, wall_time: float, /) -> bool:
        return False

    def add_report(self, failure: bool, text: str, /) -> None:
        pass

    def take_report(self) -> tuple[bool, str] | None:
        return None

    def flush(self) -> bool:
        return False

    def close(self) -> bool:
        return False

    @property
    def paths(self) -> list[bytes]:
        return []
