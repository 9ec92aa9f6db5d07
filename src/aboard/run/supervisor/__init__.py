# SPDX-License-Identifier: Apache-2.0
"""What runs beside a training process: starts it, captures what it says, ships its files, says how it ended."""
