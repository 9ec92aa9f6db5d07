# SPDX-License-Identifier: Apache-2.0
"""Runs in the catalog: writing, filters, lists, selections and reindexing."""
