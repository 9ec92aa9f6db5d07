# SPDX-License-Identifier: Apache-2.0
"""Tests leave the home of the person who runs them alone, share servers, and record what they took and stood on."""

import os
import signal
from collections.abc import Generator, Iterator
from functools import partial
from typing import Any

import pytest

from support import what_was_real
from support.object_servers import AzureServer, S3Server, azurite, seaweedfs, why_no_azurite, why_no_seaweedfs
from support.postgres import PostgresServer, postgres_server, why_no_postgres
from support.processes import needs
from support.shared_service import SharedServices
from support.test_times import Times

_times = Times()


def pytest_configure() -> None:
    # A shell starts background jobs with SIGINT ignored, and so would be all commands that tests start and interrupt.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _a_home_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("ABOARD_")]:
            patch.delenv(name)
        patch.setenv("ABOARD_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="session")
def shared_services(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> SharedServices:
    """Services that all workers of this session share."""
    from_controller: dict[str, Any] | None = getattr(request.config, "workerinput", None)
    folder = tmp_path_factory.getbasetemp()
    if from_controller is None:
        return SharedServices(folder / "services", os.getpid())
    return SharedServices(folder.parent / "services", from_controller["session_process"])


@pytest.fixture(scope="session")
def s3_server(shared_services: SharedServices) -> S3Server:
    """A real S3 server with a bucket `contract`. Tests write below unique names and leave other names alone."""
    needs(why_no_seaweedfs())
    return shared_services.start("seaweedfs", partial(seaweedfs, shared_services.folder, bucket="contract"))


@pytest.fixture(scope="session")
def azure_server(shared_services: SharedServices) -> AzureServer:
    """A real Azure Blob Storage emulator with a container `contract`, likewise."""
    needs(why_no_azurite())
    return shared_services.start("azurite", partial(azurite, shared_services.folder, container="contract"))


@pytest.fixture(scope="session")
def postgres(shared_services: SharedServices) -> PostgresServer:
    """A real PostgreSQL. A test that stops it, or counts its connections, starts one of its own: `postgres_server`."""
    needs(why_no_postgres())
    return shared_services.start("postgresql", postgres_server)


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
def pytest_configure_node(node: Any) -> None:
    """Tell a worker which process is the session: shared services run until that one ends."""
    node.workerinput["session_process"] = os.getpid()


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
