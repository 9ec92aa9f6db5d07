# SPDX-License-Identifier: Apache-2.0
"""What runs inside a training process: it appends to local files and never waits for a network."""
