# SPDX-License-Identifier: Apache-2.0
"""Tests, and the processes that they start, leave the home folder of the person who runs them alone."""

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def _a_home_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("ABOARD_")]:
            patch.delenv(name)
        patch.setenv("ABOARD_HOME", str(tmp_path_factory.mktemp("home")))
        yield
