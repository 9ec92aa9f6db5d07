# SPDX-License-Identifier: Apache-2.0
"""Uploads the files of a run to a store while they grow, each byte once, and restores them."""
