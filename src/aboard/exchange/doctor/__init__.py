# SPDX-License-Identifier: Apache-2.0
"""Inspects event files, reports what is wrong with them, and makes repaired copies."""
