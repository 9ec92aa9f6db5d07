# SPDX-License-Identifier: Apache-2.0
"""The index of all runs, boards and people, in SQLite or PostgreSQL; `catalog.Catalog.open` opens it."""
