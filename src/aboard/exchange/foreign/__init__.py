# SPDX-License-Identifier: Apache-2.0
"""Runs of other tools, read with their own libraries: one file for each, imported when it is asked for."""
