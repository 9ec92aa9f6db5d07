# SPDX-License-Identifier: Apache-2.0
"""Requests and responses of the HTTP API: plain dataclasses, one file per resource, and their JSON form."""

VERSION = 1
"""Stands in every address, as in `/api/v1/runs`."""
PREFIX = f"/api/v{VERSION}"
