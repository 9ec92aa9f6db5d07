# SPDX-License-Identifier: Apache-2.0
"""Prometheus metrics of the server: requests, stores, boards, and the process itself."""

from __future__ import annotations

import contextlib
from collections import Counter as Counted
from collections.abc import Generator, Iterable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from aboard import __version__
from aboard.errors import AboardError
from aboard.services.services import Services

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class ServerMetrics:
    """The counters of one server; each has its own, so that several in one process do not mix."""

    def __init__(self, control: Services) -> None:
        self._registry = CollectorRegistry()
        labels = ["method", "route", "status"]
        self._requests = Counter("aboard_requests", "Requests that were answered.", labels, registry=self._registry)
        self._seconds = Histogram(
            "aboard_request_seconds", "How long answers took.", ["route"], buckets=_BUCKETS, registry=self._registry
        )
        self._open = Gauge("aboard_requests_open", "Requests that are being answered.", registry=self._registry)
        self._registry.register(_StateCollector(control))
        ProcessCollector(registry=self._registry)

    @contextlib.contextmanager
    def track_open(self) -> Generator[None]:
        """Count a request as open inside the context."""
        self._open.inc()
        try:
            yield
        finally:
            self._open.dec()

    def record(self, method: str, route: str, status: int, seconds: float) -> None:
        """Record a finished request."""
        self._requests.labels(method if method in _METHODS else "other", route, str(status or "none")).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """All of it, as it is now."""
        return generate_latest(self._registry)


class _StateCollector(Collector):
    """What is asked when somebody looks, rather than counted."""

    def __init__(self, control: Services) -> None:
        self._control = control

    def collect(self) -> Iterable[Metric]:
        control = self._control
        yield _gauge("aboard_info", "Which aboard this is.", ["version"], [([__version__], 1)])
        yield _gauge("aboard_open_runs", "Runs that are open for reading.", [], [([], control.open_runs.open_count)])
        yield _gauge("aboard_open_runs_bytes", "About what they hold.", [], [([], control.open_runs.memory)])
        yield _gauge("aboard_watchers", "Clients of live updates.", [], [([], control.changes.watcher_count)])
        yield _gauge("aboard_open_boards", "Boards that are held ready.", [], [([], control.hosting.open_count)])
        stores = [*control.stores(), *control.sources()]
        yield _of_stores("aboard_store_up", "Whether it answers.", {one.uri: one.state != "failing" for one in stores})
        yield _of_stores("aboard_store_live_runs", "Runs that are followed.", {one.uri: one.live for one in stores})
        yield _of_stores("aboard_store_waiting_runs", "Runs yet to be read.", {one.uri: one.waiting for one in stores})
        yield from self._traffic()
        with contextlib.suppress(AboardError):
            count = control.catalog.runs.count()
            states = Counted(str(board.state) for board in control.catalog.boards.list())
            yield _gauge("aboard_runs", "Runs in the catalog.", [], [([], count)])
            rows = [([state], number) for state, number in sorted(states.items())]
            yield _gauge("aboard_boards", "Boards in the catalog.", ["state"], rows)

    def _traffic(self) -> Iterable[Metric]:
        requests = CounterMetricFamily("aboard_store_requests", "Requests to stores.", labels=["store", "kind"])
        read = CounterMetricFamily("aboard_store_read_bytes", "Bytes from stores.", labels=["store"])
        written = CounterMetricFamily("aboard_store_written_bytes", "Bytes to stores.", labels=["store"])
        for uri, traffic in self._control.traffic().items():
            for kind, count in traffic.requests.items():
                requests.add_metric([uri, kind], count)
            read.add_metric([uri], traffic.bytes_in)
            written.add_metric([uri], traffic.bytes_out)
        yield from (requests, read, written)


def _gauge(name: str, said: str, labels: list[str], rows: Iterable[tuple[list[str], float]]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, said, labels=labels)
    for values, number in rows:
        family.add_metric(values, float(number))
    return family


def _of_stores(name: str, said: str, numbers: Mapping[str, float]) -> GaugeMetricFamily:
    return _gauge(name, said, ["store"], [([uri], number) for uri, number in numbers.items()])
