# SPDX-License-Identifier: Apache-2.0
"""Runs beside a training process: starts it, captures its output, uploads its files and records how it ended."""
