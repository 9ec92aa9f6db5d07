# SPDX-License-Identifier: Apache-2.0
"""What server and client say to each other: plain dataclasses, and how they stand in JSON."""

VERSION = 1
"""Stands in every address, as in `/api/v1/runs`."""
PREFIX = f"/api/v{VERSION}"
