# SPDX-License-Identifier: Apache-2.0
"""Pages of boards: those that this process hosts, and the proxy to those that are processes."""
