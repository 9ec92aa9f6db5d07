# SPDX-License-Identifier: Apache-2.0
"""Many requests of each operation in the document of the API, other ones each time."""

from __future__ import annotations

from pathlib import Path


def test_no_request_makes_the_server_fail(tmp_path: Path):
    from support.api_fuzzing import fuzz_every_operation, fuzzed_server

    with fuzzed_server(tmp_path) as client:
        assert fuzz_every_operation(client, examples=100, shrink=True, derandomize=False) > 10_000
