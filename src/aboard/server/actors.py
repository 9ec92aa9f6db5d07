# SPDX-License-Identifier: Apache-2.0
"""Who asks: what the guard before the application has found out, as handlers get it."""

from __future__ import annotations
