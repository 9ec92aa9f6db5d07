# SPDX-License-Identifier: Apache-2.0
"""Runs of folders and buckets without a catalog: the same queries and use cases, from memory."""
