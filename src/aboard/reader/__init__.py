# SPDX-License-Identifier: Apache-2.0
"""Finds event files below folders, decodes them into series, and follows them as they grow."""
