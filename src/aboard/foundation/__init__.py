# SPDX-License-Identifier: Apache-2.0
"""Mechanisms that every package may use. They need the standard library and `aboard.errors` only."""
