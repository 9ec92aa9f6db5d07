# SPDX-License-Identifier: Apache-2.0
"""What stands beside a unit on its machine: starts it, watches it, ends it with all its children, and writes down how.

This package uses nothing but the standard library, and imports only itself, by relative names: it is packed into one
file (`executors/keeper_client.py`) that runs with any Python from 3.8 on, also on machines that have no aboard.
"""
