# SPDX-License-Identifier: Apache-2.0
"""Tests leave the home of the person who runs them alone, share servers, and record what they took and stood on."""

import os
from collections.abc import Generator, Iterator
from typing import Any

import pytest

from support import what_was_real
from support.object_servers import AzureServer, S3Server, azurite, seaweedfs, why_no_azurite, why_no_seaweedfs
from support.test_times import Times

_times = Times()


@pytest.fixture(scope="session", autouse=True)
def _a_home_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("ABOARD_")]:
            patch.delenv(name)
        patch.setenv("ABOARD_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A real S3 server with an empty bucket `contract`, started when the first test asks for it."""
    _needs(why_no_seaweedfs())
    with seaweedfs(tmp_path_factory.mktemp("seaweedfs")) as server:
        server.make_bucket("contract")
        yield server


@pytest.fixture(scope="session")
def azure_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AzureServer]:
    """A real Azure Blob Storage emulator with an empty container `contract`, likewise."""
    _needs(why_no_azurite())
    with azurite(tmp_path_factory.mktemp("azurite")) as server:
        server.make_container("contract")
        yield server


def _needs(reason_against: str) -> None:
    from support.processes import needs  # imports TensorBoard, which most test runs can do without

    needs(reason_against)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    with _times.of_test(item.nodeid):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Generator[None, object, object]:
    with _times.of_fixture(f"{fixturedef.baseid or 'tests'}::{fixturedef.argname}"):
        return (yield)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker sends what it recorded to the process that reports, which saves it."""
    to_reporter: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if to_reporter is not None:
        to_reporter["executors"] = what_was_real.noted()
        to_reporter["times"] = _times.as_dict()
    else:
        _times.save()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add what a worker recorded."""
    sent = getattr(node, "workeroutput", {})
    what_was_real.merge(sent.get("executors", {}))
    _times.add(sent.get("times", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What executors were tried on, and what of that was real."""
    seen = what_was_real.noted()
    if seen:
        terminalreporter.section("executors: what was real")
    for executor, sentences in seen.items():
        for sentence in sentences:
            terminalreporter.write_line(f"{executor}: {sentence}")
