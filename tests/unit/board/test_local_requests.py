# SPDX-License-Identifier: Apache-2.0
"""Which requests are taken to come from a browser on this machine."""

from __future__ import annotations

import pytest

from aboard.board.responses import is_local_request


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"])
def test_loopback_is_near(address):
    assert is_local_request({"REMOTE_ADDR": address}, {"HOME": "/home/someone"})


@pytest.mark.parametrize("address", ["192.168.1.5", "10.0.0.1", "fe80::1", "::ffff:10.0.0.1", "", "somewhere"])
def test_other_addresses_are_far(address):
    assert not is_local_request({"REMOTE_ADDR": address}, {})
    assert not is_local_request({}, {})


@pytest.mark.parametrize("header", ["X_FORWARDED_FOR", "X_FORWARDED_PROTO", "FORWARDED", "X_REAL_IP", "VIA"])
def test_what_a_proxy_passes_on_is_far(header):
    assert not is_local_request({"REMOTE_ADDR": "127.0.0.1", f"HTTP_{header}": ""}, {})


@pytest.mark.parametrize("variable", ["SSH_CONNECTION", "VSCODE_IPC_HOOK_CLI", "KUBERNETES_SERVICE_HOST"])
def test_who_started_us_from_afar_sits_at_the_other_end_of_a_tunnel(variable):
    assert not is_local_request({"REMOTE_ADDR": "127.0.0.1"}, {variable: "10.0.0.7 50000 10.0.0.8 22"})
