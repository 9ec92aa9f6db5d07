# SPDX-License-Identifier: Apache-2.0
"""In and out: points of runs as tables for other tools, and event files checked and repaired."""
