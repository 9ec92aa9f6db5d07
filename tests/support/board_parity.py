# SPDX-License-Identifier: Apache-2.0
"""Answers of a board compared with those of a real TensorBoard over the same logs."""

from __future__ import annotations

import hashlib
import re
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol
from urllib.parse import parse_qs, urlencode

from support.board_client import Asked, every_request
from support.tensorboard_process import Answer, StockTensorBoard

# Where TensorBoard's fast loader contradicts its other one, which aboard follows: old-style tags have no display name,
# old-style histograms keep empty outer buckets with edges out of order, old-style sound has no type, and the tags of
# texts and the parts of a mesh come in random order.
FAST_LOADER_DIFFERS = re.compile(
    r"/data/plugin/((scalars|images|text)/tags|audio/|histograms/|distributions/|mesh/meshes"
    r"|timeseries/timeSeries.*histograms)"
)
# The fast loader sorts runs by their first event, not by name.
LISTS_OF_RUNS = re.compile(r"/data/runs$|/data/plugin/projector/runs$")
SECONDS = 40.0  # TensorBoard lists a run before it has read all of it


class Fetching(Protocol):
    """A board, in this process or on a server."""

    def fetch(self, path: str, body: bytes | None = None, kind: str = "application/json", **headers: str) -> Answer: ...


def check_every_answer(ours: Fetching, stock: StockTensorBoard, *, load_fast: bool) -> list[Asked]:
    """Make every request that the dashboards would make on both sides; the requests."""

    def answer_of(side: Fetching | StockTensorBoard, one: Asked) -> Any:
        status, kind, content = meaning(side.fetch(*one), side.fetch)
        in_any_order = load_fast and LISTS_OF_RUNS.match(one.path)
        return status, kind, sorted(content) if in_any_order else content

    asked = list(every_request(lambda one: stock.fetch(*one).json))
    different: list[str] = []
    end = time.monotonic() + SECONDS
    with ThreadPoolExecutor(8) as threads:  # TensorBoard waits, and not for the processor, in most of its answers
        their_answers = list(threads.map(lambda one: answer_of(stock, one), asked))
    for one, first_answer in zip(asked, their_answers, strict=True):
        may_differ = load_fast and FAST_LOADER_DIFFERS.match(str(one))
        our_answer, their_answer = answer_of(ours, one), first_answer
        while our_answer != their_answer and not may_differ and time.monotonic() < end:
            time.sleep(0.2)
            their_answer = answer_of(stock, one)
        if our_answer != their_answer and not may_differ:
            different.append(f"{one}\n  ours  {str(our_answer)[:1500]}\n  stock {str(their_answer)[:1500]}")
    assert not different, "\n".join([f"{len(different)} of {len(asked)} answers differ", *different])
    return asked


def meaning(answer: Answer, fetch: Any) -> Any:
    """An answer without what may differ: order of keys, and the text of blob keys."""
    if not answer.content_type.startswith("application/json"):
        return answer.status, answer.content_type, answer.body
    return answer.status, answer.content_type, _without_keys(answer.json, fetch)


def _without_keys(value: Any, fetch: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _without_keys(item, fetch, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_without_keys(item, fetch, key) for item in value]
    if key == "imageId":
        return _digest(fetch(f"/data/plugin/timeseries/imageData?{urlencode({'imageId': value})}"))
    if key == "query":
        kind = "individualAudio" if "content_type" in parse_qs(value) else "individualImage"
        return _digest(fetch(f"/data/plugin/{'audio' if kind.endswith('Audio') else 'images'}/{kind}?{value}"))
    return value


def _digest(answer: Answer) -> tuple[int, str, str]:
    assert answer.body
    return answer.status, answer.content_type, hashlib.sha256(answer.body).hexdigest()
