# SPDX-License-Identifier: Apache-2.0
"""What `aboard.open` hands out: runs, series and stored values for people who read from Python."""
