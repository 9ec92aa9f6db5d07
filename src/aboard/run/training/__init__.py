# SPDX-License-Identifier: Apache-2.0
"""Runs inside a training process: appends to local files and never waits for a network."""
