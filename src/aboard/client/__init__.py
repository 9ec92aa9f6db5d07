# SPDX-License-Identifier: Apache-2.0
"""Asks a server about runs, experiments and workspaces; `client.Client` is the door. Standard library only."""
